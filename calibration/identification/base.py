"""Mass, mass centre and inertia of a floating base, with drag and slope of the table, from a planar free flight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.identification.motion_fit import Fit, fit_flight, unexplained
from granite.config.records import Array

#: what is known before: one standard deviation of mass and inertia relative to the file's, and of the mass centre [m]
_RELATIVE, _CENTRE = 0.5, 0.1


class IdentifiedBase(NamedTuple):
    """The numbers that explain a flight best."""

    base: BaseInertia
    covariance: Array  #: (4, 4) of mass, mass centre and inertia
    drag_ratio: float
    slope_m_s2: Array  #: (2) acceleration by the slope of the table
    table_deviation: Array  #: (3) of drag ratio and slope
    fit: Fit

    @property
    def deviation(self) -> Array:
        """One standard deviation of mass, mass centre (x, y) and inertia (4)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def payload(self, expected: BaseInertia) -> tuple[float, Array] | None:
        """Mass [kg] and position [m] of a payload that the file does not know; None where the mass is as expected."""
        more = self.base.mass_kg - expected.mass_kg
        if more < max(4 * self.deviation[0], 0.02 * expected.mass_kg):
            return None
        moment = self.base.mass_kg * np.array(self.base.com_m) - expected.mass_kg * np.array(expected.com_m)
        return more, moment / more


def identify_base(flight: FreeFlight, expected: BaseInertia) -> IdentifiedBase:
    """Fit the numbers of a base to a flight.

    Parameters
    ----------
    flight
        Firings, motion of the carried bodies and poses.
    expected
        The numbers in the file, where the search starts.

    Raises
    ------
    InputError
        Where the flight has too few poses or firings, or no numbers explain it.
    """
    first = expected.about_origin
    m, inertia = first[0], first[3]
    spread = np.array([_RELATIVE * m, _CENTRE * m, _CENTRE * m, _RELATIVE * inertia])
    wrench = (flight.openings * flight.thrust) @ flight.matrix.T
    return _identified(
        fit_flight(flight, expected.mass_kg, wrench, first, spread, lambda own, firing: (own, firing), "base")
    )


def _identified(fit: Fit) -> IdentifiedBase:
    theta, covariance = fit.numbers, fit.covariance
    m, sx, sy, about_origin = theta[:4]
    c = np.array([sx, sy]) / m
    # Derivatives of mass, c = s/m and I = I_O - s^2/m by mass, s and I_O.
    J = np.array([[1, 0, 0, 0], [-c[0] / m, 1 / m, 0, 0], [-c[1] / m, 0, 1 / m, 0], [c @ c, -2 * c[0], -2 * c[1], 1]])
    if m <= 0 or about_origin - m * c @ c <= 0:
        raise unexplained()
    base = BaseInertia(float(m), (float(c[0]), float(c[1])), float(about_origin - m * c @ c))
    table = np.sqrt(np.diag(covariance)[4:7])
    base_covariance = J @ covariance[:4, :4] @ J.T
    return IdentifiedBase(base, base_covariance, float(theta[4]), theta[5:7], table, fit)
