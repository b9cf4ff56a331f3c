"""Is a force distribution stable on flexible arms? Eigenvalues of the elastic motion that it leaves (Sun, chapter 6).

With tips led by torques, elastic coordinates y = (q_e, q_e') move as y' = A_B y + B w, and A_B alone is unstable: the
inverse dynamics of a flexible arm is non-minimum-phase. A distribution answers to y, so the plant is

    A = A_B + B dw/dy                                                              (Sun 6.38)

about rest, with no limit active. dw/dy comes from the quadratic programme itself, with all terms: the printed
(6.47) to (6.48) leave out the part of the strain energy that depends on y directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, null_space

from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.force_distribution import ForceDistribution
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.distribution.quadratic_program import EQUALITY

#: real parts below this, relative to the largest eigenvalue, are taken for zero: round-off of double eigenvalues
_TOLERANCE = 1e-6


class Stability(NamedTuple):
    """Eigenvalues of a plant [1/s], largest real part first."""

    eigenvalues: NDArray[np.complex128]

    @classmethod
    def of(cls, A: Array) -> Stability:
        """The eigenvalues of a plant."""
        eigenvalues = np.linalg.eigvals(A).astype(complex)
        return cls(eigenvalues[np.argsort(-eigenvalues.real)])

    @property
    def largest(self) -> float:
        """Largest real part [1/s]: how fast the motion grows."""
        return float(self.eigenvalues[0].real)

    @property
    def verdict(self) -> str:
        """`unstable`, `marginal` (poles on the imaginary axis) or `stable`."""
        tolerance = _TOLERANCE * float(np.abs(self.eigenvalues).max(initial=1.0))
        return "unstable" if self.largest > tolerance else "marginal" if self.largest > -tolerance else "stable"


def joints_held(arms: Sequence[FlexibleArm]) -> Array:
    """Plant A (Sun 6.33): joints led, no wrench."""
    return _plant([arm.M_ee for arm in arms], arms)


def tips_led_by_torque(arms: Sequence[FlexibleArm]) -> Array:
    """Plant B (Sun 6.34): tips led by the joints' torques, no wrench."""
    return _plant([arm.hat_ee for arm in arms], arms)


def tips_led_from_outside(arms: Sequence[FlexibleArm]) -> Array:
    """Plant C (Sun 6.35): tips led by wrenches, with loose joints."""
    return _plant([arm.tilde_ee for arm in arms], arms)


def grasp_of(arms: Sequence[FlexibleArm], matrix: Array, y: Array, positions: Array, axes: Array) -> Grasp:
    """The grasp at rest with an object that is not to move, and elastic state y = (q_e, q_e')."""
    K, D = (block_diag(*(getattr(arm, name) for arm in arms)) for name in ("K", "D"))
    n, tip = len(K), np.zeros(len(arms[0].J_r))
    force, at, torques, elastics = -K @ y[:n] - D @ y[n:], 0, [], []
    for arm in arms:
        part = slice(at, at + len(arm.K))
        torque, elastic = arm.without_wrench(tip, np.zeros(len(arm.M_rr)), force[part])
        torques.append(torque)
        elastics.append(elastic)
        at = part.stop
    torque, elastic = np.concatenate(torques), np.concatenate(elastics)
    maps = [block_diag(*(getattr(arm, name) for arm in arms)) for name in ("torque_map", "elastic_map")]
    nothing = np.zeros_like(torque)
    guided = block_diag(*(np.linalg.inv(arm.tilde_ee) - np.linalg.inv(arm.hat_ee) for arm in arms)) @ force
    return Grasp(
        matrix, np.zeros(len(matrix)), torque, maps[0], elastic, maps[1], y[:n], y[n:], nothing, positions, axes, guided
    )


def response(
    distribution: ForceDistribution,
    arms: Sequence[FlexibleArm],
    matrix: Array,
    positions: Array | None = None,
    axes: Array | None = None,
) -> Array:
    """dw/dy of a distribution about rest, with no limit active; positions and axes where its terms read them."""
    shape = distribution.shape
    n_s, n_g, n_y = shape.n_space, len(shape.grips), 2 * shape.n_elastic
    where = np.zeros((n_g, n_s)) if positions is None else positions
    turned = np.tile(np.eye(n_s), (n_g, 1, 1)) if axes is None else axes
    # The cost is quadratic in w and y together, so its gradient is linear in y: unit steps are exact.
    problems = [distribution.build_problem(grasp_of(arms, matrix, y, where, turned)) for y in np.eye(n_y)]
    rest = distribution.build_problem(grasp_of(arms, matrix, np.zeros(n_y), where, turned))
    gradient = np.column_stack([problem.f - rest.f for problem in problems])
    N = null_space(rest.A[rest.sense == EQUALITY])
    step: Array = -N @ np.linalg.solve(N.T @ rest.H @ N, N.T @ gradient)
    return step[: shape.n_wrench]


def distributed(
    distribution: ForceDistribution,
    arms: Sequence[FlexibleArm],
    matrix: Array,
    positions: Array | None = None,
    axes: Array | None = None,
) -> Array:
    """The plant under a distribution (Sun 6.38).

    Examples
    --------
    >>> Stability.of(distributed(distribution, arms, grasp_matrix)).verdict
    'unstable'
    """
    J3T = block_diag(*(arm.elastic_map for arm in arms))
    A = tips_led_by_torque(arms)
    A[len(J3T) :] += J3T @ response(distribution, arms, matrix, positions, axes)
    return A


def _plant(masses: list[Array], arms: Sequence[FlexibleArm]) -> Array:
    M, K, D = (block_diag(*parts) for parts in (masses, [arm.K for arm in arms], [arm.D for arm in arms]))
    n = len(K)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
