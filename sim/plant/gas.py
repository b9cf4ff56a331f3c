"""Gas of the thrusters: what tank, regulator and lines leave of their thrust, and how pulses and nozzles differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.testbed import Testbed

#: numbers of the hash that makes an even scatter of the count of pulses, as shaders use it
_HASH = 12.9898, 43758.5453


def n_pulses(bed: Testbed) -> int:
    """Number of states of pulses: of each thruster whether it was open in the last step, and how often it opened."""
    scatters = any(device.simulated.pulse_scatter > 0 for device in real_thrusters(bed))
    return 2 * len(bed.thrusters) if scatters else 0


def real_thrusters(bed: Testbed) -> list[Thrusters]:
    """The devices whose thrusters are not ideal."""
    return [device for device in bed.devices_of(Thrusters).values() if not device.simulated.ideal]


def full_tank(device: Thrusters) -> float | None:
    """Impulse in the full tank [N s]; None: constant pressure."""
    return None if device.simulated.ideal else device.simulated.tank_n_s


def delivered(
    bed: Testbed, full: ca.MX, left: ca.MX, pulses: ca.MX, drawn: Mapping[str, ca.MX]
) -> tuple[ca.MX, ca.MX, ca.MX]:
    """Mean thrust over a step (n_t) [N], the impulse that each device takes from its tank [N s], and `pulses` after."""
    thrusts, impulses, first = [ca.MX(0, 1)], [ca.MX(0, 1)], 0
    counts = None
    if pulses.numel():
        was_open, counts = ca.vertsplit(pulses, len(bed.thrusters))
        is_open = full > 0
        counts += ca.logic_and(is_open, ca.logic_not(was_open))
        pulses = ca.vertcat(is_open, counts)
    for k, device in enumerate(bed.devices_of(Thrusters).values()):
        rows = slice(first, first + len(device.units))
        own, first = full[rows], rows.stop
        for factor in () if device.simulated.ideal else _factors(device, full[rows], rows, counts, drawn):
            own = own * factor
        impulse, tank = bed.simulation.physics_step_s * ca.sum1(own), full_tank(device)
        if tank is not None:
            # Thrust is that of a full tank times left/tank, so the impulse left decays exponentially over the step.
            regulated = device.simulated.regulated_ratio
            given = -left[k] * ca.expm1(-impulse / (tank * regulated))
            if regulated < 1:
                given = ca.fmin(given, impulse)
            own, impulse = own * (given / ca.fmax(impulse, np.finfo(float).tiny)), given
        thrusts.append(own)
        impulses.append(impulse)
    return ca.vertcat(*thrusts), ca.vertcat(*impulses), pulses


def _factors(
    device: Thrusters, own: ca.MX, rows: slice, counts: ca.MX | None, drawn: Mapping[str, ca.MX]
) -> Iterator[ca.MX]:
    """What multiplies the thrust of each nozzle: its own error, the scatter of its pulse, and the shared supply."""
    errors = device.simulated
    if errors.thrust_error > 0:
        yield 1 + errors.thrust_error * drawn["nozzle_thrust"][rows]
    if errors.pulse_scatter > 0 and counts is not None:
        mixed = _HASH[1] * ca.sin(_HASH[0] * counts[rows] + drawn["nozzle_pulses"][rows])
        yield 1 + errors.pulse_scatter * (2 * (mixed - ca.floor(mixed)) - 1)
    if errors.shared_drop > 0:
        n_open = ca.sum1(own / ca.DM([unit.thrust_n for unit in device.units]))
        yield (1 - errors.shared_drop) ** ca.fmax(0, n_open - 1)
