"""Growth of the closed loop about its start: closed forms, runs that grow as stated, and what is refused."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.catalogue import catalogue
from granite.config.coordinates import amplitudes
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.parts import build
from granite.config.records import Reference, State
from granite.config.testbed import Testbed
from granite.controllers.laws.closed_loop_growth import Growth, growth_under
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.controllers.symbolic import record_sizes
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.quick_cases import quick

RIGID = {"modules.arm.bodies.strip.flexible": None, "devices.strain_gauges": None}
DISTRIBUTION = "controller.law.distribution.objective"


def growth(bed: Testbed) -> Growth:
    model = ControlModel(bed)
    return growth_under(build("law", bed.control.law, model), model)


def bent_or_held() -> list[str]:
    """The controlled presets and variants with flexible links or contacts whose law is checked."""
    names = [f"{e.name}/{v}".rstrip("/") for group in catalogue().values() for e in group for v in ("", *e.variants)]
    beds = [(name, load(name)) for name in names]
    return [
        name
        for name, bed in beds
        if bed.controller is not None
        and not bed.control.law.follows_tasks
        and (bed.contacts or any(amplitudes(module) for module in bed.controlled))
    ]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("stiffness", "damping"), [(4.0, 1.0), (4.0, 4.0), (900.0, 1.0), (10.0, 200.0)])
def test_one_joint_under_pd_grows_as_its_closed_forms_say(stiffness: float, damping: float) -> None:
    """I a = -c u - k q - d u: roots of I s^2 + (c + d) s + k, and in ticks the exact matrix of I a = -c u + torque."""
    law = {"kind": "joint_pid", "gains": {"joints": {"stiffness_n_m_rad": stiffness, "damping_n_m_s_rad": damping}}}
    bed = load("flexible-arm", {**RIGID, "controller.law": law, "modules.arm.joints.shoulder.damping_n_m_s": 0.3})
    model, T = ControlModel(bed), bed.loop.period_s
    inertia = float(ca.Function("inertia", [model.q], [model.mass_matrix])(np.zeros(1)))
    k, d, c = stiffness / inertia, damping / inertia, 0.3 / inertia
    result = growth(bed)
    assert result.continuous == pytest.approx(np.roots([1.0, c + d, k]).real.max(), abs=1e-6)
    left = np.exp(-c * T)
    way = (1 - left) / c
    tick = np.array([[1.0, way], [0.0, left]]) - np.outer([(T - way) / c, way], [k, d])
    assert result.in_ticks == pytest.approx(np.log(np.abs(np.linalg.eigvals(tick)).max()) / T, abs=1e-6)


@pytest.mark.usefixtures("interpreted")
def test_only_motion_that_the_contacts_allow_counts() -> None:
    """Errors of closed contacts would neither grow nor decay."""
    assert growth(load("fixed-dual-arm/joint-pd")).continuous == pytest.approx(-3.15, abs=0.01)


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_no_preset_is_refused() -> None:
    names = bent_or_held()
    assert len(names) > 25
    for name in names:
        build_stack(load(name))


REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "point on a link": (
        "flexible-arm", {"controller.law": {"kind": "task_computed_torque", "point": "tip"}},
        "the modes of flexible links grow by 3.2 1/s",
    ),
    "stiff joints in a slow loop": (
        "fixed-dual-arm/joint-pd", {"controller.law.gains": {"joints": {"stiffness_n_m_rad": 1e4}}},
        "motion under contacts grows by 124 1/s under it in ticks of 0.005 s, expected a shorter loop.period_s",
    ),
    "quasi-static modes": (
        "sun-planar/frr-o-rrr",
        {"controller.law.modes": "quasi_static", DISTRIBUTION: ["least_internal_force"]},
        "the modes of flexible links grow by 28.2 1/s",
    ),
    "quasi-static modes in space": (
        "spatial-dual-arm/carry-flexible", {DISTRIBUTION: ["least_internal_force"]}, "grow by 3.07 1/s",
    ),
    "least strain energy in a slow loop": (
        "spatial-dual-arm/ex5-5", {"loop.period_s": 0.005}, "grow by 426 1/s under it in ticks of 0.005 s",
    ),
    "a link that stretches": (
        "sun-planar/example-6-1", {"modules.left.bodies.link2.flexible.modes_stretch": 1}, "in ticks of 0.0005 s",
    ),
    "vehicles": (
        "two-arm-carry", {"controller.law.translation.stiffness_1_s2": 1e5}, "motion under contacts grows by 77.7 1/s",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", quick(list(REFUSALS), "point on a link", "stiff joints in a slow loop"))
def test_a_loop_that_grows_is_refused_before_anything_moves(case: str) -> None:
    name, changes, sentence = REFUSALS[case]
    with pytest.raises(InputError) as refusal:
        build_stack(load(name, changes))
    assert sentence in str(refusal.value)
    assert "allow_unstable = true" in str(refusal.value)
    build_stack(load(name, {**changes, "controller.law.allow_unstable": True}))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["quasi-static modes", "quasi-static modes in space", "stiff joints in a slow loop"])
def test_what_was_refused_does_not_run_to_its_end(case: str) -> None:
    name, changes, _ = REFUSALS[case]
    summary = simulate_in_memory(load(name, {**changes, "controller.law.allow_unstable": True})).summary
    assert summary is not None
    assert summary["ended"] != "completed"


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_deviations_grow_at_the_stated_rate() -> None:
    """The equations of motion by Runge and Kutta's method, with the torques of the law held over each tick."""
    name, changes, _ = REFUSALS["quasi-static modes"]
    bed = load(name, {**changes, "controller.law.allow_unstable": True})
    model = ControlModel(bed)
    law, moved, n, T = build("law", bed.control.law, model), model.motion_under(frozenset()), model.n, bed.loop.period_s
    start = bed.simulation.initial
    q0, rest = np.array([start.get(c.key, 0.0) for c in model.layout.positions]), np.zeros(n)
    torque, u_tick = ca.MX.sym("torque", n), ca.MX.sym("qu", 2 * n)
    motion = ca.vertcat(u_tick[n:], moved(u_tick[:n], u_tick[n:], torque))
    steps = {"number_of_finite_elements": 20}
    tick = ca.integrator("tick", "rk", {"x": u_tick, "p": torque, "ode": motion}, 0.0, T, steps)
    gauges = np.zeros(record_sizes(bed)["state_gauges"])
    x, pulse, off = np.concatenate([q0, rest]), 1e-7 * np.eye(n)[model.driven[0]], []
    for k in range(1000):
        state = State(k * T, True, x[:n], x[n:], rest, np.zeros(len(bed.sensors)), gauges=gauges)
        force = law.force_at(state, Reference(0.0, q0, rest, rest, False)) + pulse * (k == 0)
        x = tick(x0=x, p=force)["xf"].full().ravel()
        off.append(np.abs(x[:n] - q0).max())
    size = np.array(off).reshape(-1, 50).max(axis=1)[8:]  # of 25 ms each
    rate = np.polyfit(50 * T * np.arange(len(size)), np.log(size), 1)[0]
    assert rate == pytest.approx(growth(bed).in_ticks, rel=0.02)
