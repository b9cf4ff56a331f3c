"""Stanford report, section 2.4: the three-wire pendulum, calibrated by two known inertias, in its exact motion."""

import numpy as np
import pytest

from granite.calibration.pendulum import SwungBody, fit_pendulum
from tests.validation.claims import Claims

R, L, PLATE_KG, PLATE_KG_M2, G = 0.20, 1.5, 1.2, 0.024, 9.81


def period(inertia: float, mass: float, amplitude: float) -> float:
    """Of the exact motion: the plate rises by z = L - sqrt(L^2 - 4 R^2 sin^2(theta/2)), and its energy is conserved."""
    node, weight = np.polynomial.legendre.leggauss(60)
    phi = np.pi / 4 * (node + 1)
    angle = amplitude * np.sin(phi)
    wire, wire_at_rest = (np.sqrt(L**2 - 4 * R**2 * np.sin(a / 2) ** 2) for a in (angle, amplitude))
    drop = 4 * R**2 * np.sin((amplitude + angle) / 2) * np.sin((amplitude - angle) / 2) / (wire + wire_at_rest)
    slope = R**2 * np.sin(angle) / wire
    total, whole = PLATE_KG_M2 + inertia, PLATE_KG + mass
    speed = np.sqrt(2 * whole * G * drop / (total + whole * slope**2))
    return float(4 * np.pi / 4 * weight @ (amplitude * np.cos(phi) / speed))


@pytest.mark.parametrize(("degrees", "bound"), [(5, 1e-4), (10, 5e-4)])
def test_stanford20_two_known_inertias_calibrate_the_pendulum(degrees, bound, claims: Claims):
    amplitude = np.radians(degrees)

    def swung(inertia: float, mass: float, is_known: bool) -> SwungBody:
        return SwungBody(mass, inertia if is_known else None, period(inertia, mass, amplitude), 1e-6)

    known = [swung(0.008, 0.9, True), swung(0.06, 2.5, True)]
    parts = ((0.0075, 1.0), (0.02, 1.0), (0.03, 1.5), (0.1, 4.0))
    fitted, _ = fit_pendulum([*known, *(swung(*part, False) for part in parts)], PLATE_KG)
    off = [abs(value - inertia) / inertia for value, (inertia, _) in zip(fitted, parts, strict=True)]
    what = f"three-wire pendulum at {degrees} deg, two known inertias"
    claims.below("Stanford 20", f"{what}: largest error of four unknown ones, relative", bound, max(off))
