"""Servos on a bus: what the buses and devices of all makers have in common.

In each tick a bus takes in the answers to the request of the tick before, and sends the set points with the next
request. So nothing waits, and a measurement has the time of its request.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.shared_link import P, PortCounts, PortLink


@dataclass
class BusCounts(PortCounts):
    """What happened on the bus so far."""

    missed: int = 0  #: answers that did not come before the next request
    unexpected: int = 0  #: of other servos, or with other content


@dataclass
class BusServo:
    """A servo of the testbed, and its state during a run."""

    joint: str
    id: int
    is_reversed: bool
    is_motor: bool
    model: str | None = None  #: any, if none
    feedback: Any = None  #: the newest
    answered: int = 0  #: number of the request that it answers
    answered_at: float = -math.inf  #: when it came [s]

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
    answered_request_at : float
        When the request of the newest answers was sent [s].
    """

    def __init__(self, path: str, watchdog_s: float, period_s: float) -> None:
        super().__init__(path, watchdog_s, period_s)
        self.servos: list[S] = []
        self._request, self._requested_at, self.answered_request_at = 0, -math.inf, 0.0
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
        if self._port is None or t - min(servo.answered_at for servo in servos) > self._silent_s:
            return Status.SILENT
        if needs_torque and not all(servo.obeys for servo in servos):
            return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED
        return Status.OK

    @abstractmethod
    def _answers(self, port: P) -> Iterator[tuple[S, Any]]:
        """The feedback that has arrived, each with its servo; OSError where the port is gone."""

    def _take(self, t: float) -> None:
        if self._port is not None:
            try:
                for servo, feedback in self._answers(self._port):
                    self.counts.received += 1
                    servo.feedback, servo.answered, servo.answered_at = feedback, self._request, t
                    self.answered_request_at = self._requested_at
            except OSError:
                self._lose()
        self._was_armed |= self.has_actuators and all(servo.is_on for servo in self.servos if servo.is_motor)

    def _begin_request(self, t: float) -> None:
        if self._request:
            self.counts.missed += sum(servo.answered != self._request for servo in self.servos)
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
        #: the servo of each signal
        self._rows = [self._servos[joints.index(joint)] for joint in self._joints]
        self._last = no_frame(len(signals))
        if self._is_actuator:
            self._last = self._last._replace(t=0.0, values=np.zeros(len(signals)))
        self._answered = 0

    @abstractmethod
    def _servo(self, joint: str) -> S:
        """The servo of a joint as the options have it."""

    @abstractmethod
    def _values(self) -> Array:
        """What the servos measure, in the units of the signals; a servo that is off applies no torque."""

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
        request = self._servos[0].answered
        if request != self._answered and all(servo.answered == request for servo in self._servos):
            self._answered = request
            self._last = Frame(bus.answered_request_at, last.number + 1, status, self._values())
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last
