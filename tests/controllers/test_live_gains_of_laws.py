"""Every law takes the gains that it lists, each of them acts, and a change in a run does not make the command jump."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.records import Array, Reference, State
from granite.config.run_modes import Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.laws.grip_forces import n_gauge_signals
from granite.controllers.stack import build_stack
from tests.support.quick_cases import quick
from tests.support.scripted_operator import scripted

#: a testbed of each law
BEDS = {
    "computed_torque": ("free-flyer", {}),
    "task_computed_torque": ("free-flyer", {"controller.law": {"kind": "task_computed_torque", "point": "tip"}}),
    "task_space": ("leap", {}),
    "object_impedance": ("fixed-dual-arm/carry", {}),
    "joint_pid": ("fixed-dual-arm/joint-pd", {"controller.law.gains.joints.integral_n_m_rad_s": 1.0}),
    "reach_and_carry": ("fixed-dual-arm/pick-and-place", {}),
    "vibration_damping": ("flexible-arm", {}),
}


def demanded(bed: Testbed, changed: int | None, holding: float) -> tuple[Array, ...]:
    """Forces of two ticks at random states, with all gains as in the testbed or one of them doubled."""
    law, gains = build_stack(bed).law, bed.control.law.live_gains(bed)
    values = np.array([gain.value for gain in gains])
    if changed is not None:
        values[changed] *= 2
    law.tune(values)  # type: ignore[attr-defined]
    rng, n_q, n_u = np.random.default_rng(1), len(bed.known.positions), len(bed.known.velocities)
    start = np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions])
    signals = sum(len(device.signals(bed)) for device in bed.sensors.values())
    n_task, demands = len(bed.behaviour.recorded(bed)), []
    for _ in range(2):
        state = State(
            0.0, True, start + 0.01 * rng.normal(size=n_q), 0.01 * rng.normal(size=n_u), np.zeros(n_u),
            np.zeros(len(bed.sensors)), np.zeros(signals), np.zeros(n_u), gauges=np.zeros(n_gauge_signals(bed)),
            holding=np.full(len(bed.grips), holding),
        )  # fmt: skip
        motion = start + 0.01 * rng.normal(size=n_q), 0.01 * rng.normal(size=n_u), rng.normal(size=n_u)
        demand = law.control(state, Reference(0.0, *motion, False, (), np.ones(n_task)))
        demands.append(demand.force)
    return tuple(demands)


#: state machines compile each contact set that they can reach
MACHINES = ("task_space", "reach_and_carry")


@pytest.mark.parametrize("kind", quick(BEDS, *(set(BEDS) - set(MACHINES))))
def test_every_listed_gain_acts(kind: str) -> None:
    name, changes = BEDS[kind]
    bed = load(name, changes)
    assert bed.control.law.kind == kind
    gains = bed.control.law.live_gains(bed)
    assert gains
    inert = {gain.name for gain in gains if gain.value > 0} - _without_actuator(bed)
    for holding in (0.0, 1.0):
        as_given = demanded(bed, None, holding)
        inert -= {gain.name for i, gain in enumerate(gains) if not np.array_equal(as_given, demanded(bed, i, holding))}
    assert not inert


def test_a_gain_acts_in_hold_too_unless_the_hold_has_one_of_its_own() -> None:
    bed = load("free-flyer")
    gains = bed.control.law.live_gains(bed)
    at_rest = np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions])
    n, signals = len(at_rest), sum(len(device.signals(bed)) for device in bed.sensors.values())
    parts = np.zeros(n), np.zeros(n), np.zeros(len(bed.sensors)), np.zeros(signals), np.zeros(n)
    state = State(0.0, True, at_rest - 1e-3, *parts)
    reference = Reference(0.0, at_rest, np.zeros(n), np.zeros(n), False, ())
    ticks_to_hold = round(bed.control.law.hold.change_s / bed.loop.period_s) + 1

    def acceleration(changed: str | None) -> Array:
        law = build_stack(bed).law
        law.tune(np.array([(2 if gain.name == changed else 1) * gain.value for gain in gains]))  # type: ignore[attr-defined]
        return [law.control(state, reference) for _ in range(ticks_to_hold)][-1].acceleration

    assert acceleration("elbow_stiffness")[-1] == pytest.approx(2 * acceleration(None)[-1])
    np.testing.assert_allclose(acceleration("base_x_stiffness"), acceleration(None), rtol=1e-12)


def _without_actuator(bed: Testbed) -> set[str]:
    """Gains of coordinates that no actuator moves."""
    driven = {motor.joint for motor in bed.motors} | {c.name for c in bed.known.velocities if bed.thrusters}
    names = {c.name for c in bed.known.velocities} - driven
    return {f"{name}_{kind}" for name in names for kind in ("stiffness", "damping")}


@pytest.mark.parametrize(
    ("bed", "gain", "torque"),
    [
        ("fixed-dual-arm/carry", "translation_stiffness", "motors_left_elbow_torque_n_m"),
        ("fixed-dual-arm/joint-pd", "left_elbow_stiffness", "motors_left_elbow_torque_n_m"),
        pytest.param("leap", "points_stiffness", "motors_elbow1_torque_n_m", marks=pytest.mark.slow),
    ],
)
def test_a_gain_changes_in_a_run_without_a_jump_of_the_command(bed: str, gain: str, torque: str) -> None:
    gains = load(bed).control.law.live_gains(load(bed))
    index = [known.name for known in gains].index(gain)
    done = scripted(
        {3.0: Request(RequestKind.SET_GAIN, 1, index, 2 * gains[index].value)}, "loop.duration_s=5", bed=bed
    )
    values = done.column("/operation", f"{gain}_gain")
    assert (values[599], values[-1]) == (gains[index].value, 2 * gains[index].value)
    steps = np.abs(np.diff(done.column("/verdict", torque)))
    assert steps[595:710].max() < 3 * steps[450:595].max()
