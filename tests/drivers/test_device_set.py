"""All devices behind two verbs: none is left held, none is left running, and no frame of another shape gets in."""

import re

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.own_code import raised_in_own_code
from granite.config.records import Command, Frame, Status
from granite.drivers.device_set import DeviceSet
from granite.drivers.link_history import LinkHistory
from granite.drivers.shared_link import SharedLink

BED = load("free-flyer")
SIZES = {"joint_sensors": 4, "vision": 3, "motors": 2, "thrusters": 8}
COMMAND = Command(0.0, (np.array([0.1, -0.2]), np.array([1.0, 0.0] * 4)), np.zeros(8))


class Fake:
    """Sensor and actuator in one, which notes what is done to it; `fails` names the verbs that raise."""

    def __init__(self, name: str, calls: list[str], fails: tuple[str, ...] = (), values=None) -> None:
        self.name, self._calls, self._fails = name, calls, fails
        self._values, self._number = values, 0

    def _do(self, verb: str) -> None:
        self._calls.append(f"{verb} {self.name}")
        if verb in self._fails:
            raise OSError(f"{self.name} is gone")

    def open(self) -> None:
        self._do("open")

    def close(self) -> None:
        self._do("close")

    def stop(self, t: float) -> Frame:
        self._do("stop")
        return Frame(t, self._number, Status.OK, np.zeros(SIZES[self.name]))

    def read(self, t: float) -> Frame:
        self._do("read")
        self._number += 1
        return Frame(t, self._number, Status.OK, np.zeros(SIZES[self.name]) if self._values is None else self._values)

    def write(self, t: float, setpoint) -> Frame:
        self._do("write")
        self._number += 1
        return Frame(t, self._number, Status.REFUSED, setpoint if self._values is None else self._values)


def devices(calls: list[str] | None = None, fails: dict[str, tuple[str, ...]] | None = None, **values) -> DeviceSet:
    made = {
        name: Fake(name, [] if calls is None else calls, (fails or {}).get(name, ()), values.get(name))
        for name in SIZES
    }
    sensors, actuators = ({name: made[name] for name in group} for group in (BED.sensors, BED.actuators))
    # The order in which they are given does not matter.
    return DeviceSet(BED, dict(reversed(sensors.items())), dict(reversed(actuators.items())))


def test_every_device_is_opened_and_closed():
    calls: list[str] = []
    whole = devices(calls)
    whole.open()
    assert sorted(calls) == sorted(f"open {name}" for name in SIZES)
    calls.clear()
    whole.close()
    assert sorted(calls) == sorted(f"close {name}" for name in SIZES)


@pytest.mark.parametrize("broken", SIZES)
def test_if_one_device_can_not_be_opened_those_already_held_are_let_go(broken: str):
    calls: list[str] = []
    with pytest.raises(InputError, match=f"devices.{broken}: it can't be opened: OSError: {broken} is gone"):
        devices(calls, {broken: ("open",)}).open()
    opened = [line.split()[1] for line in calls if line.startswith("open ") and line != f"open {broken}"]
    closed = [line.split()[1] for line in calls if line.startswith("close ")]
    assert closed == opened[::-1]
    assert calls.count(f"open {broken}") == 1


@pytest.mark.parametrize("other", ["open", "close"])
def test_a_device_that_can_not_be_let_go_does_not_keep_the_others_held(other: str):
    calls: list[str] = []
    fails = {"joint_sensors": ("close",), "thrusters": ("open",) if other == "open" else ()}
    whole = devices(calls, fails)
    if other == "open":
        with pytest.raises(InputError, match="thrusters is gone"):  # why it was not opened, not what followed
            whole.open()
        assert {"close joint_sensors", "close vision", "close motors"} <= set(calls)
    else:
        whole.open()
        assert whole.close() == {"joint_sensors": "OSError: joint_sensors is gone"}
        assert {f"close {name}" for name in SIZES} <= set(calls)


def test_frames_and_set_points_stand_in_the_order_of_the_testbed():
    pose, joints = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3, 0.4])
    whole = devices(vision=pose, joint_sensors=joints)
    sample = whole.read(0.5)
    assert list(BED.sensors) == ["joint_sensors", "vision"]
    assert sample.t == 0.5
    assert sample.frames[0].values is joints
    assert sample.frames[1].values is pose
    assert [(frame.number, frame.status) for frame in sample.applied] == [(0, Status.NO_FRAME)] * 2
    assert [frame.values.tolist() for frame in sample.applied] == [[0.0] * 2, [0.0] * 8]

    applied = whole.write(0.5, COMMAND)
    assert [frame.values.tolist() for frame in applied] == [setpoint.tolist() for setpoint in COMMAND.setpoints]
    assert [frame.status for frame in applied] == [Status.REFUSED] * 2
    assert whole.read(0.505).applied is applied


BAD = {
    "too many": np.zeros(9),
    "one number": np.array(0.0),
    "in rows": np.zeros((2, 1)),
    "single precision": np.zeros(3, dtype=np.float32),
    "whole numbers": np.zeros(3, dtype=np.int64),
    "the other byte order": np.zeros(3, dtype=">f8"),
}


@pytest.mark.parametrize("values", BAD.values(), ids=BAD)
@pytest.mark.parametrize("name", SIZES)
def test_a_frame_of_another_shape_or_type_is_refused_with_the_name_of_the_device(name: str, values):
    if values.shape == (3,):
        values = np.zeros(SIZES[name], dtype=values.dtype)
    whole = devices(**{name: values})
    expected = rf"device '{name}' gave .*, expected float64 of shape \({SIZES[name]},\)"
    with pytest.raises(TypeError, match=expected):
        whole.read(0.0) if name in BED.sensors else whole.write(0.0, COMMAND)


@pytest.mark.parametrize("broken", [("motors",), ("thrusters",), ("motors", "thrusters")], ids=" and ".join)
def test_stop_reaches_every_actuator_even_if_one_fails(broken: tuple[str, ...]):
    calls: list[str] = []
    failed = devices(calls, dict.fromkeys(broken, ("stop",))).stop(1.0)
    assert failed == {name: f"OSError: {name} is gone" for name in broken}
    assert set(calls) == {"stop motors", "stop thrusters"}


def test_a_device_that_is_missing_is_refused_when_the_set_is_built():
    made = {name: Fake(name, []) for name in SIZES}
    with pytest.raises(KeyError, match="thrusters"):
        DeviceSet(BED, made, {"motors": made["motors"]})


@pytest.mark.parametrize(
    ("number", "t"), [(float("nan"), 0.0), (62.5, 0.0), (2**70, 0.0), (-1, 0.0), (3, float("nan"))]
)
@pytest.mark.parametrize("name", ["vision", "motors"])
def test_a_frame_without_a_whole_number_or_a_time_is_refused(name: str, number, t: float):
    """Such a number would be in a log that no command reads."""
    made = {each: Fake(each, []) for each in SIZES}
    frame = Frame(t, number, Status.OK, np.zeros(SIZES[name]))
    made[name].read = made[name].write = lambda *_: frame
    whole = DeviceSet(BED, made, made)
    with pytest.raises(TypeError, match=f"device '{name}' gave (frame number|the time)"):
        whole.read(0.0) if name in BED.sensors else whole.write(0.0, COMMAND)


@pytest.mark.parametrize("values", [np.zeros(0), np.zeros(5), np.array([None, None])], ids=str)
def test_a_stop_is_not_confirmed_by_a_frame_of_other_values(values):
    made = {name: Fake(name, []) for name in SIZES}
    made["motors"].stop = lambda t: Frame(t, 1, Status.OK, values)
    made["thrusters"].stop = lambda t: Frame(t, 1, Status.OK, np.zeros(8))
    failed = DeviceSet(BED, made, made).stop(1.0)
    assert list(failed) == ["motors"]
    assert "expected float64 of shape (2,)" in failed["motors"]


def test_devices_that_can_not_be_opened_are_named_and_only_the_others_are_closed():
    calls: list[str] = []
    made = devices(calls, {"vision": ("open",)})
    assert made.open_each() == {"vision": "vision is gone"}
    calls.clear()
    assert made.close() == {}
    assert set(calls) == {"close joint_sensors", "close motors", "close thrusters"}


def test_an_actuator_that_reports_later_is_asked_when_the_sensors_were_read():
    class Late(Fake):
        def report(self, t: float) -> Frame:
            self._do("report")
            return Frame(t, 7, Status.OK, np.array([0.3, 0.4]) if self._values is None else self._values)

    calls: list[str] = []
    sensors = {name: Fake(name, calls) for name in BED.sensors}
    made = DeviceSet(BED, sensors, {"motors": Late("motors", calls), "thrusters": Fake("thrusters", calls)})
    written = made.write(0.0, COMMAND)
    calls.clear()
    motors, thrusters = made.read(0.005).applied
    assert calls == ["read joint_sensors", "read vision", "report motors"]
    assert (motors.number, motors.values.tolist()) == (7, [0.3, 0.4])
    assert thrusters is written[1]
    wrong = DeviceSet(
        BED, sensors, {"motors": Late("motors", [], values=np.zeros(3)), "thrusters": Fake("thrusters", [])}
    )
    with pytest.raises(TypeError, match="device 'motors' gave float64 of shape"):
        wrong.read(0.0)


def test_what_a_users_driver_has_beside_its_contract_is_passed_on():
    class Telling(Fake):
        identity = "motor driver 7"

        def observe(self, t: float) -> Frame:
            return Frame(t, 3, Status.OK, np.zeros(2))

    made = DeviceSet(
        BED,
        {name: Fake(name, []) for name in BED.sensors},
        {"motors": Telling("motors", []), "thrusters": Fake("thrusters", [])},
    )
    assert made.identity("motors") == "motor driver 7"
    assert made.identity("thrusters") == "Fake"
    motors, thrusters = made.observe(1.0)
    assert motors is not None
    assert (motors.t, motors.number) == (1.0, 3)
    assert thrusters is None
    assert made.links() == {}


class FakeLink(SharedLink):
    """A link which notes what is done to it."""

    def __init__(self, calls: list[str], has_actuators: bool) -> None:
        super().__init__(watchdog_s=0.1, period_s=0.005)
        self.history, self.has_actuators, self._calls = LinkHistory("link", dict), has_actuators, calls

    def _connect(self) -> None:
        self._calls.append("connect")

    def _disconnect(self) -> None:
        self._calls.append("disconnect")

    def _take(self, t: float) -> None:
        self._calls.append("receive")

    def send(self, t: float) -> None:
        self._calls.append("send")

    def ask(self, t: float) -> None:
        self._calls.append("ask")

    def stop(self, t: float) -> bool:
        return True


def on_link(calls: list[str], has_actuators: bool = True, fails: tuple[str, ...] = ()) -> DeviceSet:
    made = {name: Fake(name, calls, fails if name == "thrusters" else ()) for name in SIZES}
    link = FakeLink(calls, has_actuators)
    for fake in made.values():
        fake.open = link.open
    return DeviceSet(BED, made, made, [link])


def test_a_link_is_opened_once_and_in_each_tick_read_before_the_sensors_and_written_after_the_actuators():
    calls: list[str] = []
    made = on_link(calls)
    made.open()
    made.read(0.0)
    made.write(0.0, COMMAND)
    made.observe(0.005)
    made.close()
    assert [call for call in calls if not call.startswith("close")] == [
        *("connect", "receive", "read joint_sensors", "read vision"),
        *("write motors", "write thrusters", "send", "ask", "disconnect"),
    ]
    assert made.links() == {"link": {"t_s": [0.0, 0.0]}}


def test_a_link_without_actuators_sends_once_per_tick_as_soon_as_it_has_received():
    calls: list[str] = []
    made = on_link(calls, has_actuators=False)
    made.read(0.0)
    made.write(0.0, COMMAND)
    assert calls[:2] == ["receive", "send"]
    assert calls.count("send") == 1


def test_a_link_sends_nothing_where_an_actuator_does_not_take_its_set_point():
    calls: list[str] = []
    with pytest.raises(OSError, match="thrusters is gone"):
        on_link(calls, fails=("write",)).write(0.0, COMMAND)
    assert "send" not in calls


def test_a_link_is_closed_where_a_device_on_it_can_not_be_opened():
    calls: list[str] = []
    made = on_link(calls)
    made._actuators["thrusters"].device.open = Fake("thrusters", calls, ("open",)).open
    with pytest.raises(InputError, match="thrusters is gone"):
        made.open()
    assert calls[-1] == "disconnect"


def test_a_measurement_given_again_under_a_new_number_is_no_new_one():
    """A driver that counts its reads instead of its measurements, which come every 10 ms."""

    class Counting(Fake):
        def read(self, t: float) -> Frame:
            return super().read(t)._replace(t=t // 0.01 * 0.01)

    sensors = {name: Counting(name, []) for name in BED.sensors}
    made = DeviceSet(BED, sensors, {name: Fake(name, []) for name in BED.actuators})
    numbers = [made.read(i * 0.0025).frames[0].number for i in range(10)]
    assert numbers == [1, 1, 1, 1, 5, 5, 5, 5, 9, 9]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda frame: None, "gave NoneType, expected Frame"),
        (lambda frame: frame._replace(values=[0.0] * 4), "gave values of type list, expected float64 of shape (4,)"),
        (lambda frame: frame._replace(status=None), "gave status None, expected a granite.Status"),
        (lambda frame: frame._replace(t=None), "gave the time None s, expected that of the measurement"),
    ],
)
def test_a_frame_that_is_none_is_named_with_its_device_and_the_line_of_its_driver(wrong, said):
    class Wrong(Fake):
        def read(self, t: float) -> Frame:
            return wrong(super().read(t))

    made = DeviceSet(BED, {name: Wrong(name, []) for name in BED.sensors}, {n: Fake(n, []) for n in BED.actuators})
    with pytest.raises(TypeError, match=re.escape(f"device 'joint_sensors' {said}")) as raised:
        made.read(0.0)
    place = raised_in_own_code(raised.value)
    assert place is not None
    assert (place.part, place.line) == ("device", Wrong.read.__code__.co_firstlineno)


def test_values_that_are_a_slice_with_steps_are_used_as_they_look():
    values = np.arange(8.0)[::2]
    frame_values = devices(joint_sensors=values).read(0.0).frames[0].values
    assert frame_values.flags.c_contiguous
    assert frame_values.tolist() == [0.0, 2.0, 4.0, 6.0]
