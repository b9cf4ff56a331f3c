"""The devices of a run: every one simulated, every one real, or some of each."""

from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import file_of, load
from granite.config.reasons import Reason
from granite.rt.devices import build_devices
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

DRIVERS = """
import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Frame, Status


class Options(PartTable):
    port: str = "nowhere"


class Driver:
    Options = Options

    def __init__(self, options, name, bed):
        self.options, self.name = options, name
        self.n = len(bed.devices[name].signals(bed))
        self.number, self.calls = 0, []

    def open(self):
        self.calls.append("open")

    def close(self):
        self.calls.append("close")

    def noise(self):  # a sensor that repeats its values is frozen
        return 1e-5 * (self.number % 2)

    def frame(self, t, values):
        self.number += 1
        return Frame(t, self.number, Status.OK, values)


class Camera(Driver):
    def read(self, t):
        return self.frame(t, np.array([1.0, 0.8, 0.0]) + self.noise())


class Angles(Driver):
    def read(self, t):
        return self.frame(t, np.array([0.4, 0.9, 0.0, 0.0]) + self.noise())


class Board(Driver):
    def write(self, t, setpoint):
        self.calls.append("write")
        return self.frame(t, setpoint)

    def stop(self, t):
        self.calls.append("stop")
        return self.frame(t, np.zeros(self.n))


class Mute:
    def __init__(self, options, name, bed):
        pass
"""
CLASSES = {"joint_sensors": "Angles", "vision": "Camera", "motors": "Board", "thrusters": "Board"}
DEVICES = set(CLASSES)


def bed_with(folder: Path, *real: str, driver: str = "", changes: tuple[str, ...] = ()):
    """The free-flyer with drivers of these devices, from a file beside it."""
    text = file_of("free-flyer").read_text()
    for name in real:
        named = driver or f'"lab.py:{CLASSES[name]}"'
        text = text.replace(f"[devices.{name}]\n", f"[devices.{name}]\ndriver = {named}\n", 1)
    (folder / "mine.toml").write_text(text)
    (folder / "lab.py").write_text(DRIVERS)
    return load(str(folder / "mine.toml"), ("loop.duration_s=0.5", *changes))


def drivers_of(run: Run) -> dict:
    """The real drivers, by name, as their own file keeps them."""
    return {name: _innermost(device) for name, device in run.devices.all().items() if hasattr(device, "device")}


def _innermost(device):
    while hasattr(device, "device"):
        device = device.device
    return device


def test_a_name_that_is_no_device_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"no such device.*did you mean 'thrusters'\?") as refused:
        build_devices(load("free-flyer"), ["thruster"])
    assert (refused.value.key, refused.value.value) == ("simulate", "thruster")


@pytest.mark.parametrize("simulate", [[], ["vision"], ["joint_sensors", "vision", "motors"]], ids=str)
def test_a_device_that_is_neither_simulated_nor_has_a_driver_is_refused_by_name(simulate: list[str]):
    bed = load("free-flyer")
    first = next(name for name in bed.devices if name not in simulate)
    with pytest.raises(InputError, match=rf"devices\.{first}\.driver is missing"):
        build_devices(bed, simulate)


def test_all_are_simulated_where_nothing_else_is_said(tmp_path: Path):
    run = Run(bed_with(tmp_path, *DEVICES))
    assert run.lab is not None
    assert drivers_of(run) == {}


def test_without_a_simulated_device_there_is_no_lab_and_no_truth(tmp_path: Path):
    run = Run(bed_with(tmp_path, *DEVICES), simulate=[])
    assert run.lab is None
    assert set(drivers_of(run)) == DEVICES
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    assert outcome.reason is Reason.PASSED
    assert np.isnan(memory.rows[:, run.channels.columns("/truth", "q")]).all()
    drivers = drivers_of(run)
    for name in ("joint_sensors", "vision"):
        assert drivers[name].calls == ["open", "close"]
    for name in ("motors", "thrusters"):
        assert drivers[name].calls == ["open", *["write"] * 100, "stop", "close"]


def rows_of(run: Run) -> np.ndarray:
    """What a run in virtual time recorded, without how long it took."""
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    assert outcome.reason is Reason.PASSED, outcome.fault
    return memory.rows[:, : run.channels.column("/timing", "tick")]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("real", [("motors",), pytest.param(("motors", "thrusters"), marks=pytest.mark.slow)], ids=str)
def test_real_actuators_that_apply_their_set_points_move_the_plant_as_simulated_ones_do(tmp_path: Path, real):
    pushed = "simulation.events=[{kind='push', body='base', at_s=0.2, duration_s=0.1, force_n=[1.0, 0.0]}]"
    bed = bed_with(tmp_path, *real, changes=(pushed,))
    run = Run(bed, simulate=DEVICES - set(real))
    assert run.lab is not None
    half_real = rows_of(run)
    assert drivers_of(run).keys() == set(real)
    np.testing.assert_array_equal(half_real, rows_of(Run(bed)))
    weak = bed_with(tmp_path, *real, changes=(pushed, "devices.motors.simulated.gain.shoulder=0.9"))
    assert not np.array_equal(half_real, rows_of(Run(weak, simulate=DEVICES - set(real))))


OWN_OPTIONS = '{ kind = "lab.py:Camera", port = "/dev/ttyS7" }'


def test_a_driver_gets_its_options_its_name_and_the_testbed(tmp_path: Path):
    bed = bed_with(tmp_path, "vision", driver=OWN_OPTIONS)
    camera = _innermost(build_devices(bed, DEVICES - {"vision"})[0].all()["vision"])
    assert camera.options.port == "/dev/ttyS7"
    assert (camera.name, camera.n) == ("vision", 3)


REFUSED = {
    "no such file": ('"nothere.py:Camera"', r"devices\.vision\.driver.*no file '.*nothere\.py'"),
    "no such class": ('"lab.py:Camra"', r"devices\.vision\.driver.*no 'Camra'.*did you mean 'Camera'"),
    "no such driver": ('"usb"', r"devices\.vision\.driver.*no such driver"),
    "not a driver": ('"lab.py:Mute"', r"devices\.vision\.driver.*no driver, because it has no method `open`"),
    "unknown option": ('{ kind = "lab.py:Camera", prt = "x" }', r"devices\.vision\.driver\.prt.*did you mean 'port'"),
}


@pytest.mark.parametrize(("driver", "said"), REFUSED.values(), ids=REFUSED)
def test_a_driver_that_can_not_be_had_is_refused_with_its_key(tmp_path: Path, driver: str, said: str):
    with pytest.raises(InputError, match=said):
        bed_with(tmp_path, "vision", driver=driver)


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        pytest.param(
            '{ kind = "moteus", port = "/dev/bus", ids = { shoulder = 1, elbow = 2 } }', 1e-3, marks=pytest.mark.slow
        ),
        ('{ kind = "serial_text", port = "/dev/lines" }', 0.005 / 3**0.5),
        pytest.param('{ kind = "serial_text", port = "/dev/lines", clock_s = 1e-3 }', 1e-3, marks=pytest.mark.slow),
    ],
)
def test_the_estimator_gets_the_uncertainty_of_a_real_joint_sensors_time_from_its_driver(
    tmp_path: Path, driver: str, expected: float
):
    """That of lines without a clock is the second moment of a uniform delay of up to a period."""
    named = f"devices.joint_sensors.driver={driver}"
    bed = bed_with(tmp_path, "vision", "motors", "thrusters", changes=(named,))
    key = "time_deviation_s"
    assert getattr(Run(bed, simulate=[]).bed.devices["joint_sensors"], key) == pytest.approx(expected)
    assert getattr(Run(bed).bed.devices["joint_sensors"], key) == 0.0
    stated = bed.with_changes({f"devices.joint_sensors.{key}": 0.01})
    assert getattr(Run(stated, simulate=[]).bed.devices["joint_sensors"], key) == 0.01
