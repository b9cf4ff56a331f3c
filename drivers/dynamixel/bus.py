"""A bus that its devices share: in each tick one sync write of goal currents, and one sync read of all servos.

A run turns torque on once, with goal currents of zero until every servo has confirmed it. A servo that turns it off by
itself (bus watchdog, hardware error) stays off for the rest of the run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.optional_packages import required
from granite.drivers.board.port import Baud
from granite.drivers.dynamixel.bus_port import BusPort
from granite.drivers.dynamixel.control_table import (
    FEEDBACK_BYTES,
    GOAL_CURRENT,
    INDIRECT_DATA,
    TORQUE_ENABLE,
    WATCHDOG_MOST,
    WATCHDOG_STEP_S,
    Feedback,
)
from granite.drivers.dynamixel.request_clock import RequestClock
from granite.drivers.dynamixel.servos import DynamixelServo, Opening, refuse_slow_bus
from granite.drivers.dynamixel.status_packets import StatusDecoder
from granite.drivers.link_history import LinkHistory
from granite.drivers.servo_answers import ServoAnswers
from granite.drivers.servo_bus import ServoBus
from granite.drivers.shared_link import LinkTable


class BusOptions(LinkTable):
    """Keys that all devices on a bus have in common."""

    baud: Baud = 1_000_000  #: bits a second
    #: without a packet for this long, a servo stops; in steps of 20 ms
    watchdog_s: Positive = 0.04
    #: all servos answer in one packet (fast sync read): fewer bytes, and one return delay; their firmware must have it
    fast_read: bool = False

    def watchdog_steps(self, period_s: float) -> int:
        """The value of the servos' register; `InputError` where the time can't be set, or is shorter than two ticks."""
        steps = round(self.watchdog_s / WATCHDOG_STEP_S)
        least = max(1, math.ceil(2 * period_s / WATCHDOG_STEP_S - 1e-9))
        if abs(steps * WATCHDOG_STEP_S - self.watchdog_s) > 1e-6 or not least <= steps <= WATCHDOG_MOST:
            low, high = least * WATCHDOG_STEP_S, WATCHDOG_MOST * WATCHDOG_STEP_S
            expected = f"a multiple of {WATCHDOG_STEP_S:g} from {low:g} (two ticks) to {high:g}"
            raise InputError(key="watchdog_s", value=self.watchdog_s, expected=expected)
        return steps


class Bus(ServoBus[BusPort, DynamixelServo]):
    """A bus during a run."""

    Options = BusOptions

    def __init__(self, options: BusOptions, period_s: float) -> None:
        super().__init__(options.port, options.watchdog_s, period_s)
        self._options, self._watchdog = options, options.watchdog_steps(period_s)
        self._sdk = required("dynamixel_sdk", "dynamixel", "the Dynamixel SDK").Protocol2PacketHandler()
        self._decoder = StatusDecoder(self._sdk)
        #: answers with an error
        self._refused = 0
        self.history = LinkHistory(f"dynamixel {options.port}", self._numbers)

    def send(self, t: float) -> None:
        """Send the goal currents, and ask all servos for their feedback. Until torque is on: zero, and turn it on."""
        if self.has_actuators and self._stopped is None:
            if not self._was_armed:
                self._clear_goals()
                self._sync_write(TORQUE_ENABLE, [int(servo.is_motor) for servo in self.servos], 1)
            self._sync_write(GOAL_CURRENT, [servo.goal for servo in self.servos], 2)
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
            self._clear_goals()
            zeros = [0] * len(self.servos)
            self._sync_write(TORQUE_ENABLE, zeros, 1)
            self._sync_write(GOAL_CURRENT, zeros, 2)
            stopped = self._stopped
            if t != self._requested_at:  # answers to two requests would meet on the bus
                self._ask_all(t)
            return all(
                servo.answers.request > stopped and servo.feedback is not None and not servo.feedback.torque_on
                for servo in self.servos
            )

    def _open_port(self) -> BusPort:
        return BusPort(self._options.port, self._options.baud)

    def _prepare(self, port: BusPort) -> None:
        """Check every servo, and make it ready with torque off."""
        options = self._options
        opening = Opening(self._sdk, port, options.port, options.baud)
        for servo in self.servos:
            opening.identify(servo)
        refuse_slow_bus([servo.ready for servo in self.servos], options.baud, self._period_s, options.fast_read)
        for servo in self.servos:
            opening.prepare(servo, self._watchdog)
        if options.fast_read:
            opening.try_fast_read(self.servos)
        for servo in self.servos:
            servo.answers, servo.has_alert = ServoAnswers(), False
            servo.clock = RequestClock(self._period_s, self._silent_s)
        self._decoder = StatusDecoder(self._sdk, FEEDBACK_BYTES, len(self.servos) if options.fast_read else 0)
        self._requested_at = float("-inf")

    def _disconnect(self) -> None:
        """Turn torque off once more."""
        if self._port is None:
            return
        with contextlib.suppress(OSError):
            opening = Opening(self._sdk, self._port, self._options.port, self._options.baud)
            self._sync_write(TORQUE_ENABLE, [0] * len(self.servos), 1)
            for servo in self.servos:
                if servo.is_motor:
                    opening.release(servo)
        self._drop()

    def _answers(self, port: BusPort) -> Iterator[tuple[DynamixelServo, tuple[int, float] | None, Feedback]]:
        for packet in self._decoder.feed(port.receive()):
            servo = next((servo for servo in self.servos if servo.id == packet.id), None)
            if servo is None or (len(packet.parameters) != FEEDBACK_BYTES and not packet.error):
                self.counts.unexpected += 1
                continue
            servo.has_alert = packet.alert
            if packet.error:
                self._refused += 1
            else:
                feedback = Feedback.unpack(packet.parameters)
                yield servo, servo.clock.request_of(feedback.milliseconds), feedback

    def _ask_all(self, t: float) -> None:
        """Ask all servos for their feedback."""
        self._begin_request(t)
        for servo in self.servos:
            servo.clock.add(self._request, t)
        self._decoder.begin_request()
        ids = [servo.id for servo in self.servos]
        fast = self._options.fast_read
        self._transmit(lambda port: self._sdk.syncReadTx(port, INDIRECT_DATA, FEEDBACK_BYTES, ids, len(ids), fast))

    def _clear_goals(self) -> None:
        for servo in self.servos:
            servo.goal = 0

    def _sync_write(self, address: int, values: Sequence[int], size: int) -> None:
        """The same register of all servos; no servo answers."""
        parameters = []
        for servo, value in zip(self.servos, values, strict=True):
            parameters += [servo.id, *value.to_bytes(size, "little", signed=size > 1)]
        self._transmit(lambda port: self._sdk.syncWriteTxOnly(port, address, size, parameters, len(parameters)))

    def _transmit(self, packet: Callable[[BusPort], int]) -> None:
        if self._port is None:
            return
        try:
            result = packet(self._port)
        except OSError:
            self._lose()
            return
        self._port.is_using = False  # the SDK waits for answers before it sends again; here `receive` takes them
        if result == 0:
            self.counts.sent += 1
        else:
            self.counts.blocked += 1

    def _numbers(self) -> dict[str, float]:
        errors = 0
        for servo in self.servos:
            errors |= servo.feedback.error if servo.feedback is not None else 0
        return {
            **dataclasses.asdict(self.counts),
            "refused": self._refused,
            "corrupt": self._decoder.corrupt,
            "ignored_bytes": self._decoder.ignored,
            "hardware_errors": errors,
        }
