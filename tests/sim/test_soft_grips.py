"""Grips that are springs: motion in closed form, momentum, the largest force, friction of the hinge, and refusals."""

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.pucks import bed, puck

#: of two pucks of 2 kg that move against each other
REDUCED_KG = 1.0


def chase(kind: str = "revolute", speed: float = 0.5, spin: float = 0.0, **simulated: float) -> Testbed:
    """A puck that reaches another one at rest after 0.4 s, where a grip closes."""
    sides = {"first": {"module": "prey", "point": "back"}, "second": {"module": "hunter", "point": "front"}}
    holds = [{"from_s": 0.0, "closed": []}, {"from_s": 0.4, "closed": ["grip"]}]
    start = {"hunter_body_x_m_s": speed, "prey_body_x_m": 0.2 + 0.4 * speed, "prey_body_heading_rad_s": spin}
    start |= {"prey_body_heading_rad": -0.4 * spin}
    pucks = bed([puck("hunter"), puck("prey")], [{"name": "grip", "kind": kind, **sides}], holds=holds, initial=start)
    fine = {"loop.duration_s": 0.7, "simulation.physics_step_s": 1e-4}
    return pucks.with_changes({"devices.grips": {"simulated": simulated}, **fine})


def moved(testbed: Testbed, is_smooth: bool = True) -> dict[str, Array]:
    """Truth over time; the audit holds, but for the energy where a force jumps within a step."""
    log = simulate_in_memory(testbed)
    checks = log.summary["audit"]["checks"]
    assert all(check["held"] for name, check in checks.items() if is_smooth or name != "energy"), checks
    return {entry: log.rows[:, log.channels.columns("/truth", entry)] for entry in ("t", "q", "u", "closed", "wrench")}


@pytest.mark.slow
def test_two_pucks_on_a_spring_and_a_damper_swing_as_the_closed_form_says() -> None:
    k, d, v = 1e4, 60.0, 0.5
    truth = moved(chase(speed=v, stiffness_n_m=k, damping_n_s_m=d))
    t = truth["t"] - 0.4
    ratio = d / (2 * REDUCED_KG)
    omega = np.sqrt(k / REDUCED_KG - ratio**2)
    gap = np.where(t > 0, v / omega * np.exp(-ratio * t) * np.sin(omega * t), 0.0)
    after = t > 0.005
    apart = truth["q"][:, 3] - truth["q"][:, 0] - 0.2
    np.testing.assert_allclose(-apart[after], gap[after], atol=2e-6)
    # The force on the hunter, and what it does to it; neither pose nor velocity has jumped.
    np.testing.assert_allclose(np.diff(truth["u"][:, [0, 3]].sum(axis=1)), 0.0, atol=1e-13)
    held = np.flatnonzero(after)[0]
    rate = v * np.exp(-ratio * t) * (np.cos(omega * t) - ratio / omega * np.sin(omega * t))
    np.testing.assert_allclose(truth["wrench"][held:, 0], (-k * gap - d * rate)[held:], atol=0.05)
    assert truth["closed"][held, 0] == 1.0


def test_a_grip_that_is_torn_loses_what_it_held() -> None:
    truth = moved(chase(speed=1.0, stiffness_n_m=1e4, holding_n=20.0), is_smooth=False)
    assert np.abs(truth["wrench"][:, 0]).max() == pytest.approx(20.0)
    assert truth["wrench"][-1, 0] == 0.0
    u = truth["u"]
    # 20 N over the 8 mm from the largest force of the spring to the end of its reach, and 2 mm on the spring.
    work = 20.0 * 0.008 + 20.0 * 0.002 / 2
    assert (u[-1, 0] - u[-1, 3]) ** 2 == pytest.approx(1.0 - 2 * work / REDUCED_KG, rel=2e-3)
    np.testing.assert_allclose(u[:, 0] + u[:, 3], 1.0, atol=1e-12)


def test_friction_of_a_hinge_takes_energy_until_both_turn_as_one() -> None:
    truth = moved(chase(speed=0.0, spin=0.4, stiffness_n_m=1e4, damping_n_s_m=100.0, friction_n_m=0.05))
    rate = truth["u"][:, 5] - truth["u"][:, 2]
    assert np.diff(np.abs(rate[41:])).max() < 1e-5  # it never turns faster
    # Both have 0.05 kg m2: the rate falls by 2 x 0.05 / 0.05 rad/s in a second, and then stays zero.
    assert rate[41] - rate[51] == pytest.approx(0.2, rel=0.01)
    assert np.abs(rate[65:]).max() < 1e-3
    free = moved(chase(speed=0.0, spin=0.4, stiffness_n_m=1e4, damping_n_s_m=100.0))
    assert free["u"][-1, 5] - free["u"][-1, 2] > 0.3


def test_a_grasp_holds_the_turn_by_its_own_spring() -> None:
    springs: dict[str, Any] = {"stiffness_n_m": 1e4, "damping_n_s_m": 100.0}
    springs |= {"stiffness_n_m_rad": 200.0, "damping_n_m_s_rad": 3.0}
    truth = moved(chase("rigid_grasp", speed=0.2, spin=0.02, **springs))
    assert abs(truth["u"][-1, 5] - truth["u"][-1, 2]) < 1e-4
    assert abs(truth["q"][-1, 5] - truth["q"][-1, 2]) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-arm-catch", "leap"])
def test_soft_grips_have_the_bits_of_the_loop(name: str) -> None:
    soft = {"stiffness_n_m": 2e3, "damping_n_s_m": 20.0, "friction_n_m": 0.01, "holding_n": 20.0}
    assert_equal_to_the_bit(load(name, {"devices.grips.simulated": soft, "simulation.physics_step_s": 0.001}))


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "too stiff for the step": ("two-arm-catch", {"stiffness_n_m": 1e9}, "grips are too stiff"),
    "too much damping": ("two-arm-catch", {"stiffness_n_m": 1e3, "damping_n_s_m": 1e5}, "grips are too stiff"),
    "no stiffness": ("two-arm-catch", {"friction_n_m": 0.1}, "stiffness_n_m"),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("name", "simulated", "said"), REFUSED.values(), ids=REFUSED)
def test_springs_that_make_no_sense_are_refused(name: str, simulated: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Plant(load(name, {"devices.grips.simulated": simulated}))


def test_springs_beside_a_stop_are_refused() -> None:
    soft = chase(stiffness_n_m=1e4)
    stop = {"name": "wall", "kind": "edge", "first": {}, "second": {"module": "prey", "point": "front"}}
    contacts = [*(contact.model_dump() for contact in soft.contacts), stop]
    with pytest.raises(InputError, match="open and close, or slip, by themselves"):
        Plant(soft.with_changes({"contacts": contacts}))
