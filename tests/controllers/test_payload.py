"""A load in the hand: the model with it, and mass and centre as they are estimated in a run."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

from granite import InputError, load
from granite.config.events import PayloadEvent
from granite.controllers.estimation.payload import PayloadFilter
from granite.controllers.loaded_model import LoadedModel, loaded
from granite.controllers.model import ControlModel
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.payload import with_payload

TABLE = 'controller.payload={point="tip",mass_kg=8.0}'
#: mass, mass centre relative to the hand, moment of inertia about its own centre
MASS, CENTRE, OWN_INERTIA = 3.0, (0.04, -0.03), 0.02


@cache
def flown(*changes: str, name: str = "free-flyer/payload") -> Log:
    return simulate_in_memory(load(name, list(changes)))


def estimates(log: Log) -> np.ndarray:
    return log.rows[:, log.channels.columns("/state", "payload")]


def errors(log: Log) -> tuple[float, float]:
    last = {name: error["max_in_last_5_s"] for name, error in log.summary["tracking_error"].items()}
    return float(np.hypot(last["base_x"], last["base_y"])), last["base_heading"]


@pytest.mark.usefixtures("interpreted")
def test_the_model_with_a_payload_is_that_of_a_robot_with_the_payload_built_in():
    bed = load("free-flyer", [TABLE])
    position = (0.3 + CENTRE[0], CENTRE[1])
    event = PayloadEvent(
        kind="payload", at_s=0.0, body="forearm", mass_kg=MASS, position_m=position, inertia_kg_m2=OWN_INERTIA
    )
    model, built = loaded(ControlModel(bed)), ControlModel(with_payload(bed, event, "vehicle"))
    assert isinstance(model, LoadedModel)
    about_hand = OWN_INERTIA + MASS * float(np.hypot(*CENTRE)) ** 2
    state = [MASS, *CENTRE, about_hand, *[0.0] * (model.payload.numel() - 4)]
    force, rng = ca.SX.sym("force", model.n), np.random.default_rng(5)
    ours = ca.Function("ours", [model.q, model.u, force, model.payload],
                       [model.mass_matrix, model.bias, model.inverse(force), model.forward(force)])  # fmt: skip
    theirs = ca.Function("theirs", [built.q, built.u, force],
                         [built.mass_matrix, built.bias, built.inverse(force), built.forward(force)])  # fmt: skip
    for _ in range(20):
        q, u, f = rng.normal(size=(3, model.n))
        for a, b in zip(ours(q, u, f, state), theirs(q, u, f), strict=True):
            assert np.array(a) == pytest.approx(np.array(b), rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102])
def test_five_kilograms_in_the_hand_are_found_and_flown(seed):
    log = flown(f"seed={seed}")
    assert log.summary["ended"] == "completed"
    assert not {"model_doubted", "motor_gain"} & {*log.summary["guard"]}
    estimate = estimates(log)[round(12.0 / 0.005)]
    assert estimate[0] == pytest.approx(5.0, abs=1.0)
    assert abs(estimate[0] - 5.0) < 3 * estimate[4] < 4.0
    assert np.hypot(*estimate[1:3]) < 3 * estimate[5]
    error_m, error_rad = errors(log)
    assert error_m < 1e-3
    assert error_rad < 2e-3


@pytest.mark.slow
def test_without_an_estimate_the_guard_ends_that_run():
    log = flown("seed=101", "controller.payload=none")
    assert log.summary["ended"] in ("motion_unexplained", "motor_gain", "sensor_biased")


@pytest.mark.slow
def test_a_load_taken_up_between_two_moves_is_found():
    event = "{kind='payload', at_s=4.0, body='forearm', mass_kg=5.0, position_m=[0.3, 0.0]}"
    log = flown("seed=101", f"simulation.events=[{event}]")
    assert log.summary["ended"] == "completed"
    p = estimates(log)
    assert p[round(3.9 / 0.005), 0] < 1.0
    assert p[round(12.0 / 0.005), 0] == pytest.approx(5.0, abs=1.5)


@pytest.mark.slow
def test_an_empty_hand_is_found_empty():
    log = flown("seed=101", "simulation.events=[]")
    p = estimates(log)[round(12.0 / 0.005) :]
    assert p[:, 0].max() < 0.7


@pytest.mark.slow
def test_a_robot_at_rest_learns_nothing_of_its_load():
    """Noise of the rates alone would say that robot and load weigh nothing."""
    rest = "{duration_s=4.0, hold_s=40.0, target={shoulder_rad=0.4, elbow_rad=0.9, base_x_m=1.0, base_y_m=0.8}}"
    for changes in ((), ("simulation.events=[]",)):
        p = estimates(flown("seed=101", f"behaviour.waypoints=[{rest}]", *changes))
        moved = p[round(10.0 / 0.005) :, 0]
        assert np.ptp(moved) < 0.7
        assert p[-1, 4] > 2.0  # and knows that it does not know


@pytest.mark.slow
@pytest.mark.parametrize("factor", [-1.0, 0.0])
@pytest.mark.parametrize("joint", ["shoulder", "elbow"])
def test_a_dead_or_reversed_motor_is_no_payload(joint, factor):
    event = f"{{kind='fault', at_s=26.0, device='motors', unit='{joint}', what='torque_factor', value={factor}}}"
    log = flown("seed=101", f"simulation.events=[{event}]")
    assert log.summary["ended"] in ("motor_gain", "motion_unexplained")
    assert log.summary["ended_at_s"] < 27.0


@pytest.mark.usefixtures("interpreted")
def test_the_estimate_stays_a_body_within_its_bounds_whatever_the_data_say():
    model = loaded(ControlModel(load("free-flyer", [TABLE])))
    assert isinstance(model, LoadedModel)
    filters, n, rng = PayloadFilter(model), model.n, np.random.default_rng(3)
    memory = ca.SX.sym("memory", len(filters.memory))
    q, u, du, w, observes = (ca.SX.sym(name, size) for name, size in
                             (("q", n), ("u", n), ("du", n), ("w", n), ("observes", 1)))  # fmt: skip
    step = ca.Function("step", [memory, q, u, du, w, observes], [filters.expression(memory, q, u, du, w, observes)])
    x, largest = filters.memory, 0.0
    for k in range(1500):
        lie = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=n)
        if k % 97 == 0:
            lie[k % n] = rng.choice([np.nan, np.inf])
        x = np.array(step(x, rng.normal(size=n), rng.normal(size=n), 0.01 * rng.normal(size=n), lie, 1.0)).ravel()
        mass, cx, cy, inertia = x[-filters.n_reported :][:4]
        assert np.isfinite(x).all()
        assert 0.0 <= mass <= 8.0
        assert np.hypot(cx, cy) <= 0.1 + 1e-9
        assert mass * (cx**2 + cy**2) - 1e-9 <= inertia <= mass * 0.1**2 + 1e-9
        largest = max(largest, mass)
    assert largest > 1.0  # it moved


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            ['controller.payload={point="tp",mass_kg=8.0}'],
            r"controller\.payload\.point = \"tp\": no such point, expected tip",
        ),
        (['controller.payload={module="arm",point="tip",mass_kg=8.0}'], r"controller\.payload\.module.*vehicle"),
        (['controller.payload={point="tip",mass_kg=0.0}'], r"controller\.payload\.mass_kg"),
        (['controller.payload={point="tip",mass_kg=8.0,memory_s=1.0}'], r"controller\.payload\.memory_s"),
        ([TABLE, 'controller.law.kind="policy"'], r"controller\.law\.kind|controller\.law"),
    ],
)
def test_a_payload_that_can_not_be_estimated_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        load("free-flyer", changes)


def test_contacts_are_refused_beside_a_payload():
    with pytest.raises(InputError, match=r"controller\.payload: the testbed has contacts"):
        load("two-arm-catch", ['controller.payload={point="left_tip",mass_kg=8.0}'])
