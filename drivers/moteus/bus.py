"""A bus of moteus servos that its devices share: in each tick one frame to every servo, answered by its state.

The answers are read in the next tick, without waiting; a measurement has the time of its request. A servo stops by
itself without frames for `watchdog_s`, and stays stopped until the bus is opened again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.link_history import LinkHistory
from granite.drivers.moteus.can_ports import CanFrame, CanPort, open_can
from granite.drivers.moteus.frames import (
    POSITION,
    REPLY,
    STOPPED,
    MoteusFeedback,
    feedback_of,
    query_frame,
    stop_frame,
    torque_frame,
)
from granite.drivers.shared_link import LinkTable, SharedLink

#: for an answer at opening [s]
_ANSWER_S = 0.2
_TRIES = 3


class MoteusBusOptions(LinkTable):
    """Keys that all devices on a bus have in common."""

    #: without a frame for this long, a servo stops
    watchdog_s: Positive = 0.05


@dataclass
class MoteusBusCounts:
    """What happened on the bus so far."""

    sent: int = 0
    blocked: int = 0  #: frames that the port did not take
    received: int = 0
    missed: int = 0  #: answers that did not come before the next request
    unexpected: int = 0  #: of other nodes, or no state
    lost: int = 0  #: times that the port went away


@dataclass
class MoteusServo:
    """A servo during a run."""

    joint: str
    id: int
    is_reversed: bool
    is_motor: bool
    torque: float = 0.0  #: set point [N m]
    feedback: MoteusFeedback | None = None
    answered: int = 0  #: number of the request that it answers
    answered_at: float = -math.inf  #: when its answer came [s]


class MoteusBus(SharedLink):
    """A bus during a run."""

    Options = MoteusBusOptions

    def __init__(self, options: MoteusBusOptions, period_s: float) -> None:
        super().__init__(options.watchdog_s, period_s)
        if options.watchdog_s < 2 * period_s:
            expected = f"at least two ticks, {2 * period_s:g}"
            raise InputError(key="watchdog_s", value=options.watchdog_s, expected=expected)
        self._options = options
        self._port: CanPort | None = None
        self.servos: list[MoteusServo] = []
        self._request, self._requested_at, self.answered_request_at = 0, -math.inf, 0.0
        self.counts = MoteusBusCounts()
        self.history = LinkHistory(f"moteus {options.port}", lambda: dataclasses.asdict(self.counts))

    def add(self, joint: str, id: int, is_reversed: bool, is_motor: bool) -> MoteusServo:
        """The servo with this id, which motors and sensors of a joint share.

        Raises
        ------
        InputError
            Where two devices describe it in different ways.
        """
        servo = next((servo for servo in self.servos if servo.id == id), None)
        if servo is None:
            servo = MoteusServo(joint, id, is_reversed, is_motor)
            self.servos.append(servo)
        if servo.joint != joint:
            problem = f"servo {id} is that of joint '{servo.joint}'"
            raise InputError(problem, key=f"ids.{joint}", value=id, expected="another id for each joint")
        if servo.is_reversed != is_reversed:
            problem = "another device has the other sign"
            raise InputError(problem, key=f"ids.{joint}", value=id, expected="the same `reversed` in all devices")
        servo.is_motor |= is_motor
        self.has_actuators |= is_motor
        return servo

    def send(self, t: float) -> None:
        """Send the torques, each with a request; until every servo has answered, torques of zero."""
        if self._stopped is not None or not self.has_actuators:
            self._ask(t, [query_frame()] * len(self.servos))
            return
        watchdog = self._options.watchdog_s
        self._ask(
            t,
            [
                torque_frame(servo.torque if self._was_armed else 0.0, watchdog) if servo.is_motor else query_frame()
                for servo in self.servos
            ],
        )

    def ask(self, t: float) -> None:
        """Ask for the states without a command; a bus without motors has asked already."""
        if self.has_actuators:
            self._ask(t, [query_frame()] * len(self.servos))

    def stop(self, t: float) -> bool:
        """Turn all servos off at once; whether every one has confirmed it since."""
        with self._stopping:
            if self._stopped is None:
                self._stopped = self._request
            self._take(t)
            self._ask(t, [stop_frame() if servo.is_motor else query_frame() for servo in self.servos])
            stopped = self._stopped
            return all(
                servo.answered > stopped and servo.feedback is not None and servo.feedback.mode == STOPPED
                for servo in self.servos
                if servo.is_motor
            )

    def status(self, t: float, servos: Sequence[MoteusServo], needs_torque: bool) -> int:
        """Status of the device with these servos; `NO_FRAME` while they are not on yet."""
        if any(servo.feedback is not None and servo.feedback.fault for servo in servos):
            return Status.BROKEN
        is_new = self._is_new(t)
        if any(servo.feedback is None for servo in servos):
            return Status.NO_FRAME if is_new and self._port is not None else Status.SILENT
        if self._port is None or t - min(servo.answered_at for servo in servos) > self._silent_s:
            return Status.SILENT
        if needs_torque and any(servo.feedback is not None and servo.feedback.mode != POSITION for servo in servos):
            return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED
        return Status.OK

    def _connect(self) -> None:
        """Open the port, and turn every servo off."""
        self._port = open_can(self._options.port)
        try:
            for servo in self.servos:
                self._identify(self._port, servo)
        except OSError as error:
            self._drop()
            raise InputError(f"the port went away: {error}", key="port", value=self._options.port) from error
        except BaseException:
            self._drop()
            raise
        for servo in self.servos:
            servo.answered_at, servo.torque = -math.inf, 0.0

    def _identify(self, port: CanPort, servo: MoteusServo) -> None:
        frame = stop_frame() if servo.is_motor else query_frame()
        for _ in range(_TRIES):
            port.send([CanFrame(REPLY | servo.id, frame)])
            until = time.monotonic() + _ANSWER_S
            servo.feedback = None
            while (left := until - time.monotonic()) > 0 and select.select([port], [], [], left)[0]:
                for answer in port.receive():
                    if answer.identifier == servo.id << 8 and (feedback := feedback_of(answer.content)) is not None:
                        servo.feedback = feedback
                if servo.feedback is not None and not servo.feedback.fault:
                    return
        if servo.feedback is None:
            problem = f"no servo answers with id {servo.id} on {self._options.port}"
            expected = "the id of a servo there: check its power and its id"
        else:
            problem = f"servo {servo.id} has fault {servo.feedback.fault}"
            expected = "a servo without one: its number is in the maker's list of fault codes"
        raise InputError(problem, key=f"ids.{servo.joint}", value=servo.id, expected=expected)

    def _disconnect(self) -> None:
        """Turn all servos off once more."""
        if self._port is not None:
            with contextlib.suppress(OSError):
                self._port.send([CanFrame(REPLY | servo.id, stop_frame()) for servo in self.servos if servo.is_motor])
            self._drop()

    def _take(self, t: float) -> None:
        """Take in the answers that have arrived."""
        if self._port is None:
            return
        try:
            frames = self._port.receive()
        except OSError:
            self.counts.lost += 1
            self._drop()
            return
        for identifier, content in frames:
            servo = next((servo for servo in self.servos if servo.id << 8 == identifier), None)
            feedback = feedback_of(content)
            if servo is None or feedback is None:
                self.counts.unexpected += 1
                continue
            self.counts.received += 1
            servo.feedback, servo.answered, servo.answered_at = feedback, self._request, t
            self.answered_request_at = self._requested_at
        self._was_armed |= self.has_actuators and all(
            servo.feedback is not None and servo.feedback.mode == POSITION for servo in self.servos if servo.is_motor
        )

    def _ask(self, t: float, contents: Sequence[bytes]) -> None:
        if self._request:
            self.counts.missed += sum(servo.answered != self._request for servo in self.servos)
        self._request += 1
        self._requested_at = t
        if self._port is None:
            return
        frames = [CanFrame(REPLY | servo.id, content) for servo, content in zip(self.servos, contents, strict=True)]
        try:
            if self._port.send(frames):
                self.counts.sent += len(frames)
            else:
                self.counts.blocked += 1
        except OSError:
            self.counts.lost += 1
            self._drop()

    def _drop(self) -> None:
        if self._port is not None:
            self._port.close()
        self._port = None
