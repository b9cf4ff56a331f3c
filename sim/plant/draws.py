"""Constants of the plant that the seed draws: fixed in a run, and unknown to the controllers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from zlib import crc32

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.plant.gas import real_thrusters
from granite.sim.plant.joint_resistance import rubbing_joints
from granite.sim.plant.motor_torque import drives

Symbols = TypeVar("Symbols", ca.SX, ca.MX)


class Draw(NamedTuple):
    """Constants of one effect. Each effect has its own stream: one that is switched off changes no other."""

    name: str
    size: int
    draw: Callable[[np.random.Generator], Array]


def drawn(bed: Testbed, seed: int) -> Array:
    """All constants that are drawn with this seed."""
    streams = [(draw, np.random.SeedSequence(seed, spawn_key=(0, crc32(draw.name.encode())))) for draw in draws(bed)]
    return np.concatenate([np.zeros(0), *(draw.draw(np.random.default_rng(stream)) for draw, stream in streams)])


def by_name(bed: Testbed, constants: Symbols) -> dict[str, Symbols]:
    """The constants of each effect that is switched on."""
    ends = np.cumsum([0, *(draw.size for draw in draws(bed))]).tolist()
    parts = ca.vertsplit(constants, ends) if draws(bed) else []
    return {draw.name: part for draw, part in zip(draws(bed), parts, strict=True)}


def draws(bed: Testbed) -> list[Draw]:
    """Of all effects that are switched on."""
    friction, n = bed.simulation.joint_friction, len(rubbing_joints(bed))
    floor, hoses = bed.simulation.table, bed.simulation.hoses
    waves = () if floor.ideal else floor.waves
    spreads = np.repeat([hose.anchor_spread_m for hose in hoses], 2)
    gas, n_t = [device.simulated for device in real_thrusters(bed)], len(bed.thrusters)
    motors = [drive.errors for drive in drives(bed)]
    return [
        draw
        for draw, is_on in (
            (_uniform("joint_friction", n, friction.spread), friction.spread > 0),
            (_uniform("joint_asymmetry", n, friction.asymmetry), friction.asymmetry > 0),
            (_phase("motor_ripple", len(motors)), any(motor.ripple_ratio > 0 for motor in motors)),
            (_phase("motor_cogging", len(motors)), any(motor.cogging_n_m > 0 for motor in motors)),
            (_phase("wave_phases", len(waves)), True),
            (_phase("wave_directions", len(waves)), any(wave.direction_rad is None for wave in waves)),
            (Draw("hose_anchors", len(spreads), lambda rng: rng.uniform(-spreads, spreads)), spreads.any()),
            (_phase("hose_phases", len(hoses)), any(hose.sway_m > 0 for hose in hoses)),
            (_normal("nozzle_angles", 2 * n_t), any(errors.misalignment_rad > 0 for errors in gas)),
            (_uniform("nozzle_thrust", n_t, 1.0), any(errors.thrust_error > 0 for errors in gas)),
            (_phase("nozzle_pulses", n_t), any(errors.pulse_scatter > 0 for errors in gas)),
        )
        if is_on and draw.size
    ]


def _uniform(name: str, size: int, largest: float) -> Draw:
    return Draw(name, size, lambda rng: rng.uniform(-largest, largest, size))


def _phase(name: str, size: int) -> Draw:
    return Draw(name, size, lambda rng: rng.uniform(0.0, math.tau, size))


def _normal(name: str, size: int) -> Draw:
    return Draw(name, size, lambda rng: rng.standard_normal(size))
