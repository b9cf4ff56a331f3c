"""A bus that its devices share: in each tick one sync write of goal currents, and one sync read of all servos.

It receives the answers to the request of the tick before, and sends the set points with the next request. So nothing
waits, and a measurement has the time of its request. A run turns torque on once, with goal currents of zero until every
servo has confirmed it. A servo that turns it off by itself (bus watchdog, hardware error) stays off for the rest of the
run.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.dynamixel.bus_options import BusOptions
from granite.drivers.dynamixel.bus_port import BusPort
from granite.drivers.dynamixel.control_table import (
    FEEDBACK_BYTES,
    GOAL_CURRENT,
    INDIRECT_DATA,
    TORQUE_ENABLE,
    WATCHDOG_TRIPPED,
    Feedback,
)
from granite.drivers.dynamixel.sdk import packet_handler
from granite.drivers.dynamixel.servos import Opening, ReadyServo, Servo, refuse_slow_bus
from granite.drivers.dynamixel.status_packets import StatusDecoder, StatusPacket
from granite.drivers.link_history import LinkHistory
from granite.drivers.shared_link import SharedLink


@dataclass
class BusCounts:
    """What happened on the bus so far."""

    sent: int = 0
    blocked: int = 0  #: packets that the port did not take
    received: int = 0
    missed: int = 0  #: answers that did not come before the next request
    unexpected: int = 0  #: of other servos, or of another length
    refused: int = 0  #: answers with an error
    lost: int = 0  #: times that the port went away


class Bus(SharedLink):
    """A bus during a run; the state of servo i is at index i.

    Attributes
    ----------
    feedback : list of Feedback or None
        The newest of each servo.
    answered : list of int
        Number of the request that it answers.
    answered_request_at : float
        When the request of the newest answers was sent [s].
    ready : list of ReadyServo
        Once open.
    """

    Options = BusOptions

    def __init__(self, options: BusOptions, period_s: float) -> None:
        super().__init__(options.watchdog_s, period_s)
        self._options, self._watchdog = options, options.watchdog_steps(period_s)
        self._sdk = packet_handler()
        self._port: BusPort | None = None
        self._decoder = StatusDecoder(self._sdk)
        self._servos: list[Servo] = []
        self._goals: list[int] = []
        self.ready: list[ReadyServo] = []
        self.feedback: list[Feedback | None] = []
        self._alerts: list[bool] = []
        self.answered: list[int] = []
        self._answered_at: list[float] = []
        self._request, self._requested_at, self.answered_request_at = 0, float("-inf"), 0.0
        self.counts = BusCounts()
        self.history = LinkHistory(f"dynamixel {options.port}", self._numbers)

    def add_servos(self, servos: Sequence[Servo]) -> list[int]:
        """Register the servos of a device; their indices.

        Raises
        ------
        InputError
            Where two devices describe the same servo in different ways.
        """
        indices = []
        for servo in servos:
            index = next((i for i, other in enumerate(self._servos) if other.id == servo.id), len(self._servos))
            if index == len(self._servos):
                self._servos.append(servo)
            known = self._servos[index]
            if known.joint != servo.joint:
                problem = f"servo {servo.id} is that of joint '{known.joint}'"
                raise InputError(problem, key=servo.key, value=servo.id, expected="another id for each joint")
            if (known.is_reversed, known.model) != (servo.is_reversed, servo.model):
                expected = "the same `reversed` and `model` in motors and joint sensors"
                problem = "another device describes this servo differently"
                raise InputError(problem, key=servo.key, value=servo.id, expected=expected)
            self._servos[index] = known._replace(is_motor=known.is_motor or servo.is_motor)
            indices.append(index)
        n = len(self._servos)
        self._goals, self.feedback, self._alerts = [0] * n, [None] * n, [False] * n
        self.answered, self._answered_at = [0] * n, [float("-inf")] * n
        self.has_actuators = any(servo.is_motor for servo in self._servos)
        return indices

    def set_goals(self, indices: Sequence[int], goals: Sequence[int]) -> None:
        """Set the goal currents of servos [counts], which are sent next."""
        for index, goal in zip(indices, goals, strict=True):
            self._goals[index] = goal

    def send(self, t: float) -> None:
        """Send the goal currents, and ask all servos for their feedback. Until torque is on: zero, and turn it on."""
        if self.has_actuators and self._stopped is None:
            if not self._was_armed:
                self._goals = [0] * len(self._goals)
                self._sync_write(TORQUE_ENABLE, [int(servo.is_motor) for servo in self._servos], 1)
            self._sync_write(GOAL_CURRENT, self._goals, 2)
        self._ask_all(t)

    def ask(self, t: float) -> None:
        """Ask for feedback without a command, for checks before a run; a bus without motors has asked already."""
        if self.has_actuators:
            self._ask_all(t)

    def stop(self, t: float) -> bool:
        """Turn torque off at once; whether every servo has confirmed it since."""
        with self._stopping:
            if self._stopped is None:
                self._stopped = self._request
            self.receive(t)
            self._goals = [0] * len(self._goals)
            zeros = [0] * len(self._goals)
            self._sync_write(TORQUE_ENABLE, zeros, 1)
            self._sync_write(GOAL_CURRENT, zeros, 2)
            stopped = self._stopped
            if t != self._requested_at:  # answers to two requests would meet on the bus
                self._ask_all(t)
            return all(
                number > stopped and feedback is not None and not feedback.torque_on
                for number, feedback in zip(self.answered, self.feedback, strict=True)
            )

    def status(self, t: float, indices: Sequence[int], needs_torque: bool) -> int:
        """Status of the device with these servos; `NO_FRAME` while torque that it needs is not on yet."""
        is_new = self._is_new(t)
        feedback = [self.feedback[i] for i in indices]
        if any(self._alerts[i] for i in indices) or any(f is not None and f.error for f in feedback):
            return Status.BROKEN
        if any(f is None for f in feedback):
            return Status.NO_FRAME if is_new and self._port is not None else Status.SILENT
        if self._port is None or t - min(self._answered_at[i] for i in indices) > self._silent_s:
            return Status.SILENT
        if needs_torque and not all(f is not None and f.torque_on and f.watchdog != WATCHDOG_TRIPPED for f in feedback):
            return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED
        return Status.OK

    def _connect(self) -> None:
        """Check every servo, and make it ready with torque off."""
        options = self._options
        self._port = port = BusPort(options.port, options.baud)
        opening = Opening(self._sdk, port, options.port, options.baud)
        try:
            self.ready = [opening.identify(servo) for servo in self._servos]
            refuse_slow_bus(self.ready, options.baud, self._period_s, options.fast_read)
            for servo in self._servos:
                opening.prepare(servo, self._watchdog)
            if options.fast_read:
                opening.try_fast_read(self._servos)
        except OSError as error:
            self._drop()
            raise InputError(f"the port went away: {error}", key="port", value=options.port) from error
        except BaseException:
            self._drop()
            raise
        n = len(self._servos)
        self.feedback, self._alerts, self._answered_at = [None] * n, [False] * n, [float("-inf")] * n
        self._decoder = StatusDecoder(self._sdk, FEEDBACK_BYTES, n if options.fast_read else 0)
        self._requested_at = float("-inf")

    def _disconnect(self) -> None:
        """Turn torque off once more."""
        if self._port is None:
            return
        with contextlib.suppress(OSError):
            opening = Opening(self._sdk, self._port, self._options.port, self._options.baud)
            self._sync_write(TORQUE_ENABLE, [0] * len(self._servos), 1)
            for servo in self._servos:
                if servo.is_motor:
                    opening.release(servo)
        self._drop()

    def _take(self, t: float) -> None:
        """Take in the answers that have arrived."""
        if self._port is not None:
            try:
                received = self._port.receive()
            except OSError:
                self._lose()
            else:
                for packet in self._decoder.feed(received):
                    self._note_answer(t, packet)
        self._was_armed |= self._is_armed()

    def _ask_all(self, t: float) -> None:
        """Ask all servos for their feedback."""
        if self._request:
            self.counts.missed += sum(number != self._request for number in self.answered)
        self._request += 1
        self._requested_at = t
        self._decoder.begin_request()
        port, ids = self._port, [servo.id for servo in self._servos]
        if port is None:
            return
        try:
            result = self._sdk.syncReadTx(port, INDIRECT_DATA, FEEDBACK_BYTES, ids, len(ids), self._options.fast_read)
        except OSError:
            self._lose()
        else:
            self._count(result)

    def _is_armed(self) -> bool:
        return all(
            feedback is not None and bool(feedback.torque_on)
            for servo, feedback in zip(self._servos, self.feedback, strict=True)
            if servo.is_motor
        )

    def _note_answer(self, t: float, packet: StatusPacket) -> None:
        index = next((i for i, servo in enumerate(self._servos) if servo.id == packet.id), None)
        if index is None or (len(packet.parameters) != FEEDBACK_BYTES and not packet.error):
            self.counts.unexpected += 1
            return
        self._alerts[index] = packet.alert
        if packet.error:
            self.counts.refused += 1
            return
        self.counts.received += 1
        self.feedback[index] = Feedback.unpack(packet.parameters)
        self.answered[index], self._answered_at[index] = self._request, t
        self.answered_request_at = self._requested_at

    def _sync_write(self, address: int, values: Sequence[int], size: int) -> None:
        """The same register of all servos; no servo answers."""
        if self._port is None:
            return
        parameters = []
        for servo, value in zip(self._servos, values, strict=True):
            parameters += [servo.id, *value.to_bytes(size, "little", signed=size > 1)]
        try:
            self._count(self._sdk.syncWriteTxOnly(self._port, address, size, parameters, len(parameters)))
        except OSError:
            self._lose()

    def _count(self, result: int) -> None:
        assert self._port is not None
        self._port.is_using = False  # the SDK waits for answers before it sends again; here `poll` takes them
        if result == 0:
            self.counts.sent += 1
        else:
            self.counts.blocked += 1

    def _lose(self) -> None:
        self.counts.lost += 1
        self._drop()

    def _drop(self) -> None:
        if self._port is not None:
            self._port.close()
        self._port = None

    def _numbers(self) -> dict[str, float]:
        errors = 0
        for feedback in self.feedback:
            errors |= feedback.error if feedback is not None else 0
        return {
            **dataclasses.asdict(self.counts),
            "corrupt": self._decoder.corrupt,
            "ignored_bytes": self._decoder.ignored,
            "hardware_errors": errors,
        }
