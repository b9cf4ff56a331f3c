"""One of each kind of part from outside the package: one file beside the testbed; it runs, is recorded and replayed."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import file_of, load
from granite.config.records import NOTHING, Reference, State
from granite.logs.json_records import finite
from granite.rt.replay import changed_sources
from tests.support.quick_cases import quick

OWN = '''
import numpy as np

import granite
from granite.controllers.behaviours.waypoints import WaypointBehaviour
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.thrusters.pseudo_inverse import PseudoInverse
from granite.mrds.contacts.kind import VX, WX, WY, WZ, constant


class Damper:
    class Options(granite.PartTable):
        rate_1_s: float = 2.0

    def __init__(self, options, model):
        self.rate, self.inverse = options.rate_1_s, model.compile_inverse()

    def control(self, state, reference):
        return granite.Demand(state.t, *self.inverse(state.q, state.u, self.rate * (reference.u - state.u)))


class Stay:
    def __init__(self, options, model):
        self.rest = np.zeros(model.n)

    def decide(self, state):
        return granite.Reference(state.t, np.nan_to_num(state.q), self.rest, self.rest, False)


class Observer(KalmanEstimator):
    """The usual one, with other noise."""

    class Options(KalmanEstimator.Options):
        translation_m_s2_per_rthz: float = 5e-3


class Half(PseudoInverse):
    def share(self, wrench):
        return 0.5 * super().share(wrench)

    expression = None


class OnOff:
    def __init__(self, options, thrusters):
        self.level = 0.3 * thrusters.available

    def modulate(self, t, thrust):
        return (thrust > self.level).astype(float)


class Scale(granite.Device):
    role = "sensor"

    def signals(self, bed):
        return (granite.Coordinate("load", "N"),)

    def simulate(self, plant, rng):
        return ScaleOnPlant(plant)


class ScaleOnPlant:
    number = 0

    def __init__(self, plant):
        self.plant = plant

    def open(self):
        pass

    def close(self):
        pass

    def read(self, t):
        self.plant.advance(t)
        self.number += 1
        return granite.Frame(t, self.number, granite.Status.OK, np.array([9.81 * self.plant.q[0]]))


class Wire:
    """A driver of motors that no plant knows: it applies every set point."""

    class Options(granite.PartTable):
        delay_ticks: int = 0

    def __init__(self, options, name, bed):
        self.number = 0

    def open(self):
        pass

    def close(self):
        pass

    def stop(self, t):
        return granite.Frame(t, self.number, granite.Status.OK, np.zeros(2))

    def write(self, t, setpoint):
        self.number += 1
        return granite.Frame(t, self.number, granite.Status.OK, setpoint.copy())


GROOVE = constant("groove", free=[VX, WX, WY, WZ])
'''

SHORT = {"loop.duration_s": 0.5}
SECOND = {"name": "mate", "dimension": "planar", "base": "floating",
          "bodies": [{"name": "body", "mass_kg": 4.0, "inertia_kg_m2": 0.05}]}  # fmt: skip
JETS = [
    {"name": n, "position_m": p, "direction": d, "thrust_n": 0.3}
    for n, p, d in (
        ("a", [-0.1, 0.05], [1, 0]), ("b", [-0.1, -0.05], [1, 0]), ("c", [0.1, 0.05], [-1, 0]),
        ("d", [0.1, -0.05], [-1, 0]), ("e", [0.0, -0.1], [0, 1]), ("f", [0.0, 0.1], [0, -1]),
    )
]  # fmt: skip


def second_module(file: str) -> dict[str, object]:
    """A second vehicle, controlled beside the first: what a user writes into the testbed, and nothing else."""
    free_flyer = granite.load("free-flyer").model_dump(mode="json")
    for body in (vehicle := free_flyer["modules"][0])["bodies"]:
        body.pop("outline_m", None)
    sensors, motors = free_flyer["devices"]["joint_sensors"], free_flyer["devices"]["motors"]
    named = [{**unit, "joint": f"vehicle_{unit['joint']}"} for unit in motors["units"]]
    return {
        "modules": [vehicle, SECOND],
        "devices.joint_sensors.joints": [f"vehicle_{joint}" for joint in sensors["joints"]],
        "devices.motors.units": named,
        "devices.vision.module": "vehicle",
        "devices.thrusters.module": "vehicle",
        "devices.mate_camera": {"kind": "vision", "module": "mate", "body": "body"},
        "devices.mate_jets": {"kind": "thrusters", "module": "mate", "units": JETS},
        "controller.modules": ["vehicle", "mate"],
        "controller.law.hold.gains": {},
        "behaviour.waypoints": [{"duration_s": 0.4, "target": {"mate_body_x_m": 0.51}}],
        "behaviour.check_moves": False,
        "safety.joints": [],
        "simulation.initial": {"vehicle_base_x_m": 1.5, "vehicle_base_y_m": 1.0,
                               "mate_body_x_m": 0.5, "mate_body_y_m": 0.5},
    }  # fmt: skip


#: what each kind of part changes in a testbed, given the user's file
PARTS = {
    "law": lambda file: {"controller.law": {"kind": f"{file}:Damper", "rate_1_s": 1.5}},
    "behaviour": lambda file: {"behaviour": f"{file}:Stay"},
    "estimator": lambda file: {"controller.estimator": f"{file}:Observer"},
    "sharing": lambda file: {"controller.allocation.sharing": f"{file}:Half"},
    "modulation": lambda file: {"controller.allocation.modulation": f"{file}:OnOff"},
    "sensor": lambda file: {"devices.scale": {"kind": f"{file}:Scale"}},
    "driver": lambda file: {"devices.motors.driver": {"kind": f"{file}:Wire", "delay_ticks": 1}},
    "contact kind": lambda file: {
        "contacts": [{"name": "rail", "kind": f"{file}:GROOVE", "first": {"position_m": [1.0, 0.8]},
                      "second": {"module": "vehicle", "point": "middle"}}],
        "modules.vehicle.points": [{"name": "middle", "body": "base", "position_m": [0.0, 0.0]}],
        "safety.tracking_error_m": 5.0,
    },
    "controlled module": second_module,
}  # fmt: skip


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("part", quick(PARTS, "law", "sensor", "driver"))
def test_a_part_of_a_users_own_runs_is_recorded_and_replayed_bit_for_bit(part: str, tmp_path: Path) -> None:
    file = tmp_path / "my_lab.py"
    file.write_text(OWN)
    bed = load("free-flyer", {**SHORT, **PARTS[part](str(file))})
    run = granite.Run(bed, [name for name in bed.devices if name != "motors"] if part == "driver" else None)
    summary = run.record(tmp_path / "run.mcap")
    assert (summary["ended"], summary["log_failure"]) == ("completed", None), summary["text"]
    log = granite.read_log(tmp_path / "run.mcap")
    assert len(log.rows) == 100
    replayed = granite.replay(log)
    assert (replayed.first, replayed.ticks, replayed.changed) == (None, 100, ())
    assert (file.name in log.info["sources"]) == (part != "controlled module")


def test_a_part_named_relative_to_the_testbeds_file(tmp_path: Path) -> None:
    (tmp_path / "my_lab.py").write_text(OWN)
    text = file_of("free-flyer").read_text().replace("[controller]\n", '[controller]\nlaw = "my_lab.py:Damper"\n', 1)
    start, end = text.index("[controller.law.gains]"), text.index("[controller.allocation]")
    (tmp_path / "mine.toml").write_text(text[:start] + text[end:])
    bed = load(tmp_path / "mine.toml", ["loop.duration_s=0.1"])
    assert bed.control.law.kind == f"{tmp_path / 'my_lab.py'}:Damper"
    assert granite.simulate(bed).summary["ended"] == "completed"


@pytest.mark.slow
def test_a_replay_says_when_the_source_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "my_lab.py"
    file.write_text(OWN)
    log = granite.simulate(load("free-flyer", {**SHORT, **PARTS["law"](str(file))}), tmp_path / "run.mcap")
    file.write_text(OWN.replace("self.rate * (", "2 * self.rate * ("))
    assert changed_sources(log) == (str(file),)
    with pytest.raises(InputError, match=r"my_lab\.py' changed since, expected the file as it was, or --trust"):
        granite.replay(log)
    replayed = granite.replay(log, trust=True)
    assert replayed.changed == (str(file),)
    assert replayed.first is not None
    assert replayed.first.topic == "/demand"


def test_the_own_law_is_what_flies_the_robot(tmp_path: Path) -> None:
    file = tmp_path / "my_lab.py"
    file.write_text(OWN)
    moving = {"simulation.initial.base_x_m_s": 0.05, "loop.duration_s": 4.0, "behaviour.waypoints": []}
    fast, slow = (
        granite.simulate(load("free-flyer", {**moving, "controller.law": {"kind": f"{file}:Damper", "rate_1_s": rate}}))
        for rate in (1.0, 0.1)
    )
    assert abs(fast["/truth"].base_x_m_s[-1]) < 0.3 * abs(slow["/truth"].base_x_m_s[-1])


@pytest.mark.slow
def test_the_law_of_the_example_holds_on_a_slope_by_the_disturbance(tmp_path: Path) -> None:
    """5e-4 g, which its gains alone hold off by a millimetre or two."""
    text = (Path(__file__).parents[2] / "examples" / "own_law.py").read_text()
    errors = []
    for name, without in (("own_law.py", "state.disturbance"), ("without.py", "0 * state.disturbance")):
        file = tmp_path / name
        file.write_text(text.replace("state.disturbance", without))
        hold = {"behaviour.waypoints": [], "simulation.table.tilt_g": 5e-4, "loop.duration_s": 16.0}
        log = granite.simulate(load("free-flyer", {**hold, "controller.law": f"{file}:SlidingMode"}))
        off = [log["/truth"][key] - log["/reference"][key] for key in ("base_x_m", "base_y_m")]
        errors.append(np.hypot(*off)[-1000:].mean())
    assert errors[0] < 5e-4
    assert errors[1] > 3 * errors[0]


def test_the_law_of_the_example_takes_the_disturbance_off_its_force() -> None:
    bed = load("free-flyer")
    own = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_law.py"))["SlidingMode"]
    model = granite.ControlModel(bed)
    law = own(own.Options(kind="own_law.py:SlidingMode"), model)
    rest, d = np.zeros(model.n), np.array([0.05, -0.02, 0.01, 0.003, -0.002])
    states = [State(0.0, True, rest, rest, rest, NOTHING, disturbance=each) for each in (rest, d)]
    forces = [law.control(state, Reference(0.0, rest, rest, rest, done=False)).force for state in states]
    np.testing.assert_allclose(forces[0] - forces[1], d, atol=1e-12)


def test_a_thing_that_is_no_law_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my_lab.py").write_text(OWN)
    with pytest.raises(InputError) as refusal:
        load("free-flyer", {"controller.law": f"{tmp_path / 'my_lab.py'}:Stay"})
    assert refusal.value.key == "controller.law.kind"
    assert "no method `control`" in refusal.value.problem


def test_summaries_hold_finite_numbers_only() -> None:
    assert finite({"x": [np.inf, 1.0]}) == {"x": [None, 1.0]}
