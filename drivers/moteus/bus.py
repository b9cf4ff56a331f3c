"""A bus of moteus servos that its devices share: in each tick one frame to every servo, answered by its state.

A servo answers to the id of the sender: each request has another one, which its answers name. A servo stops by itself
without frames for `watchdog_s`, and stays stopped until the bus is opened again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import select
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from granite.config.base import Positive
from granite.config.errors import InputError
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
from granite.drivers.servo_answers import ServoAnswers
from granite.drivers.servo_bus import BusServo, ServoBus
from granite.drivers.shared_link import LinkTable

#: for an answer at opening [s]
_ANSWER_S = 0.2
_TRIES = 3
#: ids of the sender, one request after the other, less those of servos; 127 is everybody
_SENDERS = range(0x60, 0x7F)


class MoteusBusOptions(LinkTable):
    """Keys that all devices on a bus have in common."""

    #: without a frame for this long, a servo stops
    watchdog_s: Positive = 0.05


@dataclass
class MoteusServo(BusServo):
    """A servo of the testbed, and its state during a run."""

    answers: ServoAnswers[MoteusFeedback] = field(default_factory=ServoAnswers)
    torque: float = 0.0  #: set point [N m]

    @property
    def is_broken(self) -> bool:
        """Whether it reports a fault."""
        return self.feedback is not None and bool(self.feedback.fault)

    @property
    def is_on(self) -> bool:
        """Whether it applies torques."""
        return self.feedback is not None and self.feedback.mode == POSITION


class MoteusBus(ServoBus[CanPort, MoteusServo]):
    """A bus during a run."""

    Options = MoteusBusOptions

    def __init__(self, options: MoteusBusOptions, period_s: float) -> None:
        super().__init__(options.port, options.watchdog_s, period_s)
        if options.watchdog_s < 2 * period_s:
            expected = f"at least two ticks, {2 * period_s:g}"
            raise InputError(key="watchdog_s", value=options.watchdog_s, expected=expected)
        self._options = options
        #: number and time [s] of the newest request of each sender
        self._requests: dict[int, tuple[int, float]] = {}
        self._senders: list[int] = []
        self.history = LinkHistory(f"moteus {options.port}", lambda: dataclasses.asdict(self.counts))

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
                servo.answers.request > stopped and servo.feedback is not None and servo.feedback.mode == STOPPED
                for servo in self.servos
                if servo.is_motor
            )

    def _open_port(self) -> CanPort:
        return open_can(self._options.port)

    def _prepare(self, port: CanPort) -> None:
        """Turn every servo off."""
        for servo in self.servos:
            self._identify(port, servo)
        for servo in self.servos:
            servo.torque = 0.0
        ids = {servo.id for servo in self.servos}
        self._senders, self._requests = [sender for sender in _SENDERS if sender not in ids], {}

    def _identify(self, port: CanPort, servo: MoteusServo) -> None:
        frame = stop_frame() if servo.is_motor else query_frame()
        for _ in range(_TRIES):
            port.send([CanFrame(REPLY | servo.id, frame)])
            until = time.monotonic() + _ANSWER_S
            servo.answers = ServoAnswers()
            while (left := until - time.monotonic()) > 0 and select.select([port], [], [], left)[0]:
                for answer in port.receive():
                    if answer.identifier == servo.id << 8 and (feedback := feedback_of(answer.content)) is not None:
                        servo.answers.newest, servo.answers.request = feedback, self._request
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

    def _answers(self, port: CanPort) -> Iterator[tuple[MoteusServo, tuple[int, float], MoteusFeedback]]:
        for identifier, content in port.receive():
            servo = next((servo for servo in self.servos if servo.id == identifier >> 8), None)
            request, feedback = self._requests.get(identifier & 0xFF), feedback_of(content)
            if servo is None or request is None or feedback is None:
                self.counts.unexpected += 1
            else:
                yield servo, request, feedback

    def _ask(self, t: float, contents: Sequence[bytes]) -> None:
        self._begin_request(t)
        if self._port is None:
            return
        sender = self._senders[self._request % len(self._senders)]
        self._requests[sender] = self._request, t
        reply = REPLY | sender << 8
        frames = [CanFrame(reply | servo.id, content) for servo, content in zip(self.servos, contents, strict=True)]
        try:
            if self._port.send(frames):
                self.counts.sent += len(frames)
            else:
                self.counts.blocked += 1
        except OSError:
            self._lose()
