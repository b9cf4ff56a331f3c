"""Servos on a bus: what the buses and devices of all makers have in common.

In each tick a bus takes in the answers to the request of the tick before, and sends the set points with the next
request. So nothing waits, and a measurement has the time of its request.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.servo_answers import ServoAnswers, newest_common
from granite.drivers.shared_link import P, PortCounts, PortLink


@dataclass
class BusCounts(PortCounts):
    """What happened on the bus so far."""

    missed: int = 0  #: answers that did not come before the next request
    late: int = 0  #: those of them that came after it
    repeated: int = 0  #: answers that came again
    unexpected: int = 0  #: of other servos, or with other content


@dataclass
class BusServo:
    """A servo of the testbed, and its state during a run."""

    joint: str
    id: int
    is_reversed: bool
    is_motor: bool
    model: str | None = None  #: any, if none
    answers: ServoAnswers[Any] = field(default_factory=ServoAnswers)

    @property
    def feedback(self) -> Any:
        """Its newest answer; None before."""
        return self.answers.newest

    @property
    def key(self) -> str:
        """Where the testbed names it."""
        return f"ids.{self.joint}"

    @property
    def sign(self) -> float:
        """Of the joint's angle, for a growing one of the servo."""
        return -1.0 if self.is_reversed else 1.0

    @property
    @abstractmethod
    def is_broken(self) -> bool:
        """Whether it reports an error."""

    @property
    @abstractmethod
    def is_on(self) -> bool:
        """Whether it has reported that it applies torques."""

    @property
    def obeys(self) -> bool:
        """Whether it is on, and has not stopped by itself."""
        return self.is_on


S = TypeVar("S", bound=BusServo)


class ServoBus(PortLink[P], Generic[P, S]):
    """A bus during a run.

    Attributes
    ----------
    servos : list of BusServo
    """

    def __init__(self, path: str, watchdog_s: float, period_s: float) -> None:
        super().__init__(path, watchdog_s, period_s)
        self.servos: list[S] = []
        self._request, self._requested_at = 0, -math.inf
        self.counts: BusCounts = BusCounts()

    def add(self, servo: S) -> S:
        """The servo of the bus with this id, which motors and sensors of a joint share.

        Raises
        ------
        InputError
            Where two devices describe it in different ways.
        """
        known = next((other for other in self.servos if other.id == servo.id), None)
        if known is None:
            self.servos.append(servo)
            known = servo
        if known.joint != servo.joint:
            problem = f"servo {servo.id} is that of joint '{known.joint}'"
            raise InputError(problem, key=servo.key, value=servo.id, expected="another id for each joint")
        if (known.is_reversed, known.model) != (servo.is_reversed, servo.model):
            problem = "another device describes this servo differently"
            expected = "the same sign and model in motors and joint sensors"
            raise InputError(problem, key=servo.key, value=servo.id, expected=expected)
        known.is_motor |= servo.is_motor
        self.has_actuators |= servo.is_motor
        return known

    def status(self, t: float, servos: Sequence[S], needs_torque: bool) -> int:
        """Status of the device with these servos; `NO_FRAME` while torque that it needs is not on yet."""
        if any(servo.is_broken for servo in servos):
            return Status.BROKEN
        is_new = self._is_new(t)
        if any(servo.feedback is None for servo in servos):
            return Status.NO_FRAME if is_new and self._port is not None else Status.SILENT
        # An answer is taken in a tick after its request.
        age = t - min(servo.answers.requested_at for servo in servos) - self._period_s
        if self._port is None or age > self._silent_s:
            return Status.SILENT
        if needs_torque and not all(servo.obeys for servo in servos):
            return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED
        return Status.OK

    @abstractmethod
    def _answers(self, port: P) -> Iterator[tuple[S, tuple[int, float] | None, Any]]:
        """The feedback that has arrived, each with its servo, and the number and time [s] of the request that it
        answers, None where that was answered before; OSError where the port is gone.
        """

    def _take(self, t: float) -> None:
        if self._port is not None:
            try:
                for servo, request, feedback in self._answers(self._port):
                    if request is None or request[0] <= servo.answers.request:
                        self.counts.repeated += 1
                        continue
                    self.counts.received += 1
                    self.counts.late += request[0] != self._request
                    servo.answers.add(*request, feedback)
            except OSError:
                self._lose()
        self._was_armed |= self.has_actuators and all(servo.is_on for servo in self.servos if servo.is_motor)

    def _begin_request(self, t: float) -> None:
        if self._request:
            self.counts.missed += sum(servo.answers.request != self._request for servo in self.servos)
        self._request += 1
        self._requested_at = t


class ServoDevice(Sensor, Actuator, Generic[S]):
    """Motors, or the angles and rates of joints, on a bus that they share with others."""

    #: options by joint
    _BY_JOINT: ClassVar[tuple[str, ...]] = ("ids", "reversed")
    #: options of motors that each of their joints needs, and what they are
    _NEEDED_BY_MOTORS: ClassVar[dict[str, str]] = {}

    def __init__(self, options: Any, name: str, bed: Testbed, bus: ServoBus[Any, S]) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._options, self._bus, self._is_actuator = options, bus, device.role == "actuator"
        signals = [signal.name.rpartition("_") for signal in device.signals(bed)]
        self._joints = [joint for joint, _, _ in signals]
        self._quantities = [quantity for _, _, quantity in signals]
        if not set(self._quantities) <= ({"torque"} if self._is_actuator else {"angle", "rate"}):
            expected = "motors, or joint sensors that measure angles and rates"
            raise InputError("servos have no such signals", key="kind", value=options.kind, expected=expected)
        joints = list(dict.fromkeys(self._joints))
        for key in self._BY_JOINT:
            for joint in getattr(options, key):
                if joint not in joints:
                    raise InputError("no such joint here", key=key, value=joint, expected=one_of(joint, joints))
        needed = {"ids": "the id of its servo", **(self._NEEDED_BY_MOTORS if self._is_actuator else {})}
        for key, expected in needed.items():
            for joint in joints:
                if joint not in getattr(options, key):
                    raise InputError.missing(f"{key}.{joint}", expected)
        self._servos = [bus.add(self._servo(joint)) for joint in joints]
        #: of the servo of each signal, among those of the device; and the servo
        self._indices = [joints.index(joint) for joint in self._joints]
        self._rows = [self._servos[index] for index in self._indices]
        self._last = no_frame(len(signals))
        if self._is_actuator:
            self._last = self._last._replace(t=0.0, values=np.zeros(len(signals)))
        self._answered = 0

    @abstractmethod
    def _servo(self, joint: str) -> S:
        """The servo of a joint as the options have it."""

    @abstractmethod
    def _values(self, feedback: Sequence[Any]) -> Array:
        """The feedback of each signal's servo in the unit of the signal; a servo that is off applies no torque."""

    def open(self) -> None:
        """Open the bus, with every servo off."""
        self._bus.open()

    def close(self) -> None:
        """Nothing of its own: the bus is closed with all its devices, servos off."""

    def read(self, t: float) -> Frame:
        """The newest measurement, with the time of its request."""
        return self._newest(t, needs_torque=False)

    def report(self, t: float) -> Frame:
        """The measured torques."""
        return self._newest(t, needs_torque=True)

    def observe(self, t: float) -> Frame:
        """What the servos report, off."""
        return self._newest(t, needs_torque=False)

    def stop(self, t: float) -> Frame:
        """All servos of the bus off at once; the frame confirms it when every one has."""
        is_off = self._bus.stop(t)
        frame = self._newest(t, needs_torque=False)
        if not is_off:
            return frame._replace(status=Status.SILENT)
        return frame._replace(status=Status.OK, values=np.zeros(len(self._rows)))

    def _newest(self, t: float, needs_torque: bool) -> Frame:
        """A new frame where all servos of the device have answered the same request."""
        bus, last = self._bus, self._last
        status = bus.status(t, self._servos, needs_torque)
        answered = newest_common([servo.answers for servo in self._servos])
        if answered is not None and answered[0] > self._answered:
            self._answered, requested_at, feedback = answered
            values = self._values([feedback[index] for index in self._indices])
            self._last = Frame(requested_at, last.number + 1, status, values)
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last
