"""Torques that lead the tip of a flexible arm along a path that is known in advance, by inversion in frequency (Bayo).

    (M^_ee + D/(i w) - K/w^2) q_e'' = -M_re^T J_r^-1 a        tau = M_rr J_r^-1 a + M^_re q_e''        (Sun 3.43, 3.52)

The inverse is unstable in time, but bounded in frequency: its torques begin before the tip moves and end after it
rests, so that no loop can have them. An offline reference for laws that lead a tip, about one configuration; the source
of the method is Bayo, J. Robotic Systems 4 (1987).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm


class NonCausalMotion(NamedTuple):
    """One row for each sample."""

    torque: Array  #: (n, joints) [N m]
    elastic: Array  #: (n, elastic coordinates)


def non_causal(arm: FlexibleArm, tip: Array, period_s: float) -> NonCausalMotion:
    """Torques and elastic motion for an acceleration of the tip.

    Parameters
    ----------
    arm
        The arm in one configuration; its modes need damping, else what rings never ends.
    tip
        (n, tip freedoms) acceleration of the tip, whose sum is zero, with rest before and after for the torques
        that come early and late.
    period_s
        Time between samples [s].
    """
    n = len(tip)
    frequency = 2 * np.pi * np.fft.rfftfreq(n, period_s)
    direct = np.linalg.solve(arm.J_r, np.fft.rfft(tip, axis=0).T).T
    driven = -direct @ arm.M_re
    torque, elastic = direct @ arm.M_rr.T, np.zeros_like(driven)
    elastic[0] = np.linalg.solve(arm.K, driven[0])
    for i, w in enumerate(frequency[1:], start=1):
        acceleration = np.linalg.solve(arm.hat_ee + arm.D / (1j * w) - arm.K / w**2, driven[i])
        torque[i] += arm.hat_re @ acceleration
        elastic[i] = -acceleration / w**2
    return NonCausalMotion(np.fft.irfft(torque, n, axis=0), np.fft.irfft(elastic, n, axis=0))
