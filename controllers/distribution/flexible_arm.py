"""One serial arm with flexible links whose tip is led: torques and elastic accelerations affine in its grasp wrench.

    M_rr q_r'' + M_re q_e'' = tau + f_r - J_r^T w                        (Sun 2.38)
    M_re^T q_r'' + M_ee q_e'' + D q_e' + K q_e = f_e - J_e^T w           (Sun 2.39)
    v' = J_r q_r'' + J_e q_e'' + (velocity terms)                        (Sun 3.49)

The arm has as many joints as its tip has freedoms, so J_r is square; w acts on the object.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite.config.records import Array


@dataclass(frozen=True)
class FlexibleArm:
    """Matrices of an arm in one configuration; without flexible links, those of size zero are left out."""

    M_rr: Array
    M_re: Array
    M_ee: Array
    K: Array  #: stiffness of the elastic coordinates
    D: Array  #: their damping
    J_r: Array
    J_e: Array

    @classmethod
    def of(cls, M: Array, J: Array, K: Array, D: Array | None = None) -> FlexibleArm:
        """From the inertia and the Jacobian of joints and elastic coordinates, in this order; K and D are square."""
        n, damping = len(M) - len(K), np.zeros_like(K) if D is None else D
        return cls(M[:n, :n], M[:n, n:], M[n:, n:], K, damping, J[:, :n], J[:, n:])

    @cached_property
    def _share(self) -> Array:
        return _solve(self.J_r, self.J_e)

    @cached_property
    def hat_re(self) -> Array:
        """M^_re (Sun 3.55): joints follow so that the tip is led."""
        return self.M_re - self.M_rr @ self._share

    @cached_property
    def hat_ee(self) -> Array:
        """M^_ee (Sun 3.55): inertia of the elastic coordinates with the tip led by torques; not symmetric."""
        return self.M_ee - self.M_re.T @ self._share

    @cached_property
    def tilde_ee(self) -> Array:
        """M~_ee (Sun 6.9): the same with the tip led from outside and loose joints; symmetric."""
        return self.hat_ee - self._share.T @ self.hat_re

    @cached_property
    def elastic_map(self) -> Array:
        """J3^T (Sun 4.6): elastic acceleration per wrench."""
        return -_solve(self.hat_ee, self.J_e.T)

    @cached_property
    def torque_map(self) -> Array:
        """J1^T (Sun 4.6): torque per wrench."""
        return self.J_r.T + self.hat_re @ self.elastic_map

    def without_wrench(self, tip: Array, f_r: Array, f_e: Array) -> tuple[Array, Array]:
        """Torques and elastic accelerations for w = 0 (Sun 3.52, 3.54).

        Parameters
        ----------
        tip
            Acceleration of the tip less its velocity terms.
        f_r, f_e
            Forces on joints and elastic coordinates beside torques: velocity terms, strain, damping.
        """
        direct = _solve(self.J_r, tip)
        elastic = _solve(self.hat_ee, f_e - self.M_re.T @ direct)
        return self.hat_re @ elastic + self.M_rr @ direct - f_r, elastic

    def joint_acceleration(self, tip: Array, elastic: Array) -> Array:
        """q_r'' that goes with an elastic acceleration."""
        return _solve(self.J_r, tip - self.J_e @ elastic)


def _solve(A: Array, b: Array) -> Array:
    solution: Array = np.linalg.solve(A, b).astype(np.float64, copy=False)
    return solution
