"""The devices of one bus share it: in each tick one sync write of goal currents, and one sync read of all servos.

The first device that is read takes in the answers to the request of the tick before; the last motors that are written
send the set points and the next request. So nothing waits, and a measurement has the time of its request. A run turns
torque on once, with goal currents of zero until every servo has confirmed it. A servo that turns it off by itself
(bus watchdog, hardware error) stays off for the rest of the run.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakValueDictionary

from granite.config.errors import InputError, shown
from granite.config.records import Status
from granite.config.testbed import Testbed
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

#: for the first answers, and for the confirmation that torque is on [s]
_PATIENCE_S = 1.0
_BUSES: WeakValueDictionary[tuple[int, str], Bus] = WeakValueDictionary()


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


class Bus:
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

    def __init__(self, bed: Testbed, options: BusOptions) -> None:
        self._bed, self._options = bed, options  # the testbed lives as long: it is the key of the bus
        self._watchdog = options.watchdog_steps(bed.loop.period_s)
        self._silent_s = max(options.watchdog_s, 3 * bed.loop.period_s)
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
        self._users = self._actuators = self._written = 0
        self._request, self._requested_at, self.answered_request_at = 0, float("-inf"), 0.0
        self._polled = float("-inf")
        self._began: float | None = None
        self._was_armed = False
        self.counts = BusCounts()
        self.history = LinkHistory(f"dynamixel {options.port}", self._numbers)
        self._stopping = Lock()
        self._stopped: int | None = None  # number of the request before the first stop

    @classmethod
    def of(cls, bed: Testbed, options: BusOptions) -> Bus:
        """The bus on that port, which all devices of a testbed share; `InputError` where their options differ."""
        bus = _BUSES.get((id(bed), options.port))
        if bus is None:
            bus = _BUSES[id(bed), options.port] = cls(bed, options)
        for field in BusOptions.model_fields:
            given, other = getattr(options, field), getattr(bus._options, field)
            if given != other:
                expected = f"{shown(other)}, as the other devices on {options.port} have it"
                raise InputError(key=field, value=given, expected=expected)
        return bus

    def attach(self, servos: Sequence[Servo], is_actuator: bool) -> list[int]:
        """Register the servos of a device; their indices.

        Raises
        ------
        InputError
            Where two devices describe the same servo in different ways.
        """
        places = []
        for servo in servos:
            place = next((i for i, other in enumerate(self._servos) if other.id == servo.id), len(self._servos))
            if place == len(self._servos):
                self._servos.append(servo)
            known = self._servos[place]
            if known.joint != servo.joint:
                problem = f"servo {servo.id} is that of joint '{known.joint}'"
                raise InputError(problem, key=servo.key, value=servo.id, expected="another id for each joint")
            if (known.is_reversed, known.model) != (servo.is_reversed, servo.model):
                expected = "the same `reversed` and `model` in motors and joint sensors"
                problem = "another device describes this servo differently"
                raise InputError(problem, key=servo.key, value=servo.id, expected=expected)
            self._servos[place] = known._replace(is_motor=known.is_motor or servo.is_motor)
            places.append(place)
        n = len(self._servos)
        self._goals, self.feedback, self._alerts = [0] * n, [None] * n, [False] * n
        self.answered, self._answered_at = [0] * n, [float("-inf")] * n
        self._actuators += is_actuator
        return places

    def open(self) -> None:
        """Open the port, check every servo, and make it ready with torque off; the first device does it for all."""
        if self._users == 0:
            options = self._options
            self._port = port = BusPort(options.port, options.baud)
            opening = Opening(self._sdk, port, options.port, options.baud)
            try:
                self.ready = [opening.identify(servo) for servo in self._servos]
                refuse_slow_bus(self.ready, options.baud, self._bed.loop.period_s)
                for servo in self._servos:
                    opening.prepare(servo, self._watchdog)
            except OSError as error:
                self._drop()
                raise InputError(f"the port went away: {error}", key="port", value=options.port) from error
            except BaseException:
                self._drop()
                raise
            self._restart()
        self._users += 1

    def close(self) -> None:
        """The last device turns torque off once more, and closes the port."""
        self._users -= 1
        if self._users or self._port is None:
            return
        with contextlib.suppress(OSError):
            opening = Opening(self._sdk, self._port, self._options.port, self._options.baud)
            self._sync_write(TORQUE_ENABLE, [0] * len(self._servos), 1)
            for servo in self._servos:
                if servo.is_motor:
                    opening.release(servo)
        self._drop()

    def poll(self, t: float) -> None:
        """Take in the answers that have arrived, once per tick."""
        if t == self._polled:
            return
        self._polled = t
        if self._began is None:
            self._began = t
        if self._port is not None:
            try:
                received = self._port.receive()
            except OSError:
                self._lose()
            else:
                for packet in self._decoder.feed(received):
                    self._take(t, packet)
        if self._request:
            self.counts.missed += sum(number != self._request for number in self.answered)
        self._was_armed |= self._is_armed()
        self.history.note(t)
        if self._actuators == 0:
            self.request(t)

    def write(self, t: float, places: Sequence[int], goals: Sequence[int]) -> None:
        """Set goal currents [counts]; the last actuator of a tick sends them."""
        self.poll(t)
        for place, goal in zip(places, goals, strict=True):
            self._goals[place] = goal
        self._written += 1
        if self._written < self._actuators:
            return
        self._written = 0
        if self._stopped is None:
            if not self._was_armed:
                self._goals = [0] * len(self._goals)
                self._sync_write(TORQUE_ENABLE, [int(servo.is_motor) for servo in self._servos], 1)
            self._sync_write(GOAL_CURRENT, self._goals, 2)
        self.request(t)

    def request(self, t: float) -> None:
        """Ask all servos for their feedback."""
        self._request += 1
        self._requested_at = t
        port, ids = self._port, [servo.id for servo in self._servos]
        if port is None:
            return
        try:
            result = self._sdk.syncReadTx(port, INDIRECT_DATA, FEEDBACK_BYTES, ids, len(ids), False)
        except OSError:
            self._lose()
        else:
            self._count(result)

    def listen(self, t: float) -> None:
        """Ask for feedback without a command, once per tick: before a run, for its checks."""
        self.poll(t)
        if t != self._requested_at:
            self.request(t)

    def stop(self, t: float) -> bool:
        """Turn torque off at once; whether every servo has confirmed it since. May be called by several threads."""
        with self._stopping:
            if self._stopped is None:
                self._stopped = self._request
            self.poll(t)
            self._goals = [0] * len(self._goals)
            zeros = [0] * len(self._goals)
            self._sync_write(TORQUE_ENABLE, zeros, 1)
            self._sync_write(GOAL_CURRENT, zeros, 2)
            stopped = self._stopped
            if t != self._requested_at:  # answers to two requests would meet on the bus
                self.request(t)
            return all(
                number > stopped and feedback is not None and not feedback.torque_on
                for number, feedback in zip(self.answered, self.feedback, strict=True)
            )

    def status(self, t: float, places: Sequence[int], needs_torque: bool) -> int:
        """Status of the device with these servos; `NO_FRAME` while torque that it needs is not on yet."""
        is_new = self._began is None or t - self._began < _PATIENCE_S
        feedback = [self.feedback[i] for i in places]
        if any(self._alerts[i] for i in places) or any(f is not None and f.error for f in feedback):
            return Status.BROKEN
        if any(f is None for f in feedback):
            return Status.NO_FRAME if is_new and self._port is not None else Status.SILENT
        if self._port is None or t - min(self._answered_at[i] for i in places) > self._silent_s:
            return Status.SILENT
        if needs_torque and not all(f is not None and f.torque_on and f.watchdog != WATCHDOG_TRIPPED for f in feedback):
            return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED
        return Status.OK

    def _is_armed(self) -> bool:
        return all(
            feedback is not None and bool(feedback.torque_on)
            for servo, feedback in zip(self._servos, self.feedback, strict=True)
            if servo.is_motor
        )

    def _take(self, t: float, packet: StatusPacket) -> None:
        place = next((i for i, servo in enumerate(self._servos) if servo.id == packet.id), None)
        if place is None or (len(packet.parameters) != FEEDBACK_BYTES and not packet.error):
            self.counts.unexpected += 1
            return
        self._alerts[place] = packet.alert
        if packet.error:
            self.counts.refused += 1
            return
        self.counts.received += 1
        self.feedback[place] = Feedback.unpack(packet.parameters)
        self.answered[place], self._answered_at[place] = self._request, t
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

    def _restart(self) -> None:
        """A device may be opened again after it was closed: for checks, then for the run."""
        n = len(self._servos)
        self.feedback, self._alerts, self._answered_at = [None] * n, [False] * n, [float("-inf")] * n
        self._decoder = StatusDecoder(self._sdk)
        self._began, self._stopped, self._was_armed, self._written = None, None, False, 0
        self._polled = self._requested_at = float("-inf")

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
