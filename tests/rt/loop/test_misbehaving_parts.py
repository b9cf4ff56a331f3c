"""Parts, drivers and devices of a user that misbehave: refused when loaded, or ended safely with their name."""

import re
from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.rt.run import simulate

OWN = '''
import numpy as np

import granite


class Law:
    class Options(granite.PartTable):
        mode: str

    def __init__(self, options, model):
        if options.mode == "raises":
            raise KeyError("nothing there")
        self.mode, self.n, self.inverse = options.mode, model.n, model.compile_inverse()

    def control(self, state, reference):
        a, force, wrench = self.inverse(state.q, state.u, np.zeros(self.n))
        if self.mode == "whole numbers":
            a, force, wrench = (np.round(x).astype(np.int64) for x in (a, force, wrench))
        elif self.mode == "too long":
            force = np.append(force, 0.0)
        elif self.mode == "changes the state":
            state.q[:] = reference.q
        elif self.mode == "another record":
            return state
        elif self.mode == "exits":
            raise SystemExit(0)
        return granite.Demand(state.t, a, force, wrench)


class Winch(granite.Device):
    role = "actuator"
    mode: str = ""

    def signals(self, bed):
        return (granite.Coordinate("pull", "N"),)

    def bounds(self, bed):
        return () if self.mode == "no bounds" else ((-1.0, 1.0),)

    def simulate(self, plant, rng):
        return Rope()


class Rope:
    number = 0

    def open(self):
        pass

    def close(self):
        pass

    def stop(self, t):
        return granite.Frame(t, self.number, granite.Status.OK, np.zeros(1))

    def write(self, t, setpoint):
        self.number += 1
        return granite.Frame(t, self.number, granite.Status.OK, np.array(setpoint, dtype=float))


class Pull:
    """Commands the winch with a whole number."""

    def __init__(self, options, model):
        self.rest = np.zeros(model.n)

    def decide(self, state):
        q = np.nan_to_num(state.q)
        return granite.Reference(state.t, q, self.rest, self.rest, False, (np.array([5000]),))


class NoStop:
    def __init__(self, options, name, bed):
        pass

    def open(self):
        pass

    def close(self):
        pass

    def write(self, t, setpoint):
        return granite.Frame(t, 1, granite.Status.OK, setpoint)


class Gone(NoStop):
    def open(self):
        raise OSError("no such port")

    def stop(self, t):
        pass
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of the user; one for all tests, so that what it needs is compiled once."""
    file = tmp_path_factory.mktemp("own") / "own.py"
    file.write_text(OWN)
    return str(file)


def ending(own: str, mode: str) -> dict:
    bed = load("free-flyer", {"controller.law": {"kind": f"{own}:Law", "mode": mode}, "loop.duration_s": 0.3})
    return simulate(bed, Path(own).with_suffix(".mcap"), overwrite=True)


def test_whole_numbers_are_numbers_and_not_other_bits(own: str) -> None:
    ended = ending(own, "whole numbers")
    assert ended["ended"] == "completed"
    log = granite.read_log(Path(own).with_suffix(".mcap"))
    assert np.abs(log["/demand"].base_x_m_s2).max() < 1.0
    assert set(np.unique(log["/demand"].shoulder_torque_n_m)) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("too long", r"own.py:Law' gave force of shape \(6,\), expected \(5,\)"),
        ("changes the state", "read-only"),
        pytest.param("another record", "own.py:Law' returned State, expected Demand", marks=pytest.mark.slow),
        pytest.param("exits", "SystemExit", marks=pytest.mark.slow),
    ],
)
def test_a_law_that_misbehaves_ends_the_run_as_a_fault_with_its_log(own: str, mode: str, said: str) -> None:

    ended = ending(own, mode)
    assert ended["ended"] == "fault"
    assert re.search(said, ended["fault"])
    assert ended["log_failure"] is None


def test_a_law_that_fails_to_be_built_is_named(own: str) -> None:
    with pytest.raises(InputError, match="KeyError: 'nothing there'") as refusal:
        ending(own, "raises")
    assert refusal.value.value == f"{own}:Law"


@pytest.mark.usefixtures("interpreted")
def test_a_whole_number_does_not_pass_the_guard_as_a_small_one(own: str, tmp_path: Path) -> None:
    changes = {"behaviour": f"{own}:Pull", "devices.winch": f"{own}:Winch", "loop.duration_s": 0.5}
    ended = simulate(load("free-flyer", changes), tmp_path / "run.mcap")
    assert ended["ended"] == "setpoint_out_of_range"
    assert "winch pull was 5000 N, limit 1 N" in ended["text"]


def test_bounds_that_do_not_fit_the_signals_are_refused(own: str) -> None:
    with pytest.raises(InputError, match="its bounds do not fit") as refusal:
        load("free-flyer", {"devices.winch": {"kind": f"{own}:Winch", "mode": "no bounds"}})
    assert refusal.value.key == "devices.winch.kind"


@pytest.mark.parametrize(("driver", "said"), [("NoStop", "no method `stop`"), ("Gone", "no such port")])
def test_a_driver_that_can_not_stop_or_open_is_refused_and_leaves_no_log(
    own: str, driver: str, said: str, tmp_path: Path
) -> None:
    bed = load("free-flyer", {"devices.motors.driver": {"kind": f"{own}:{driver}"}, "loop.duration_s": 0.1})
    with pytest.raises(InputError, match=said) as refusal:
        granite.Run(bed, ["joint_sensors", "vision", "thrusters"]).record(tmp_path / "run.mcap")
    assert refusal.value.key.startswith("devices.motors")
    assert not (tmp_path / "run.mcap").exists()


def test_a_run_is_run_once(tmp_path: Path) -> None:
    run = granite.Run(load("free-flyer", {"loop.duration_s": 0.05}))
    run.record(tmp_path / "run.mcap")
    with pytest.raises(InputError, match="it has been run"):
        run.record(tmp_path / "again.mcap")


@pytest.mark.usefixtures("interpreted")
def test_grips_that_are_closed_at_the_start_stay_closed_while_sensors_are_waited_for(tmp_path: Path) -> None:
    grip = {"name": "g", "kind": "revolute", "first": {"position_m": [1.0, 0.8]},
            "second": {"module": "vehicle", "point": "middle"}}  # fmt: skip
    bed = load(
        "free-flyer",
        {
            "modules.vehicle.points": [{"name": "middle", "body": "base", "position_m": [0.0, 0.0]}],
            "contacts": [grip],
            "behaviour": {"holds": [{"from_s": 0.0, "closed": ["g"]}, {"from_s": 0.4, "closed": []}]},
            "loop.duration_s": 0.5,
        },
    )
    closed = granite.simulate(bed)["/truth"].g_closed
    assert closed[:75].all()
    assert closed[-1] == 0.0


def test_limits_of_joints_that_the_controller_does_not_know_are_refused() -> None:
    with pytest.raises(InputError) as refusal:
        load("free-flyer", {"safety.joints": [{"joint": "wrist", "lower_rad": 0, "upper_rad": 1, "rate_rad_s": 1}]})
    assert refusal.value.key == "safety.joints.0.joint"


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("bed", ["mrds-3", "flx-pendulum"])
def test_a_testbed_without_actuators_is_recorded_and_replayed(bed: str, tmp_path: Path) -> None:
    log = granite.simulate(load(bed, ["loop.duration_s=0.05"]), tmp_path / "run.mcap")
    assert log.complete
    assert granite.replay(log).first is None


@pytest.mark.slow
def test_a_compiled_limit_follows_what_a_part_imports(tmp_path: Path) -> None:
    """The file of the part stays the same; a file that it reads changes."""
    text = OWN.replace("((-1.0, 1.0),)", "((-1.0, float(open(LIMIT).read())),)").replace(
        "import granite\n", f"import granite\nLIMIT = {str(tmp_path / 'limit')!r}\n", 1
    )
    (tmp_path / "own.py").write_text(text)
    changes = {"behaviour": f"{tmp_path / 'own.py'}:Pull", "devices.winch": f"{tmp_path / 'own.py'}:Winch"}
    ended = []
    for limit in ("9000.0", "2.0"):
        (tmp_path / "limit").write_text(limit)
        ended.append(
            simulate(load("free-flyer", {**changes, "loop.duration_s": 0.2}), tmp_path / f"{limit}.mcap")["ended"]
        )
    assert ended == ["completed", "setpoint_out_of_range"]
