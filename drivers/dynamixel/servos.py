"""The servos at the opening of their bus: identified, refused where they do not fit, made ready with torque off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from struct import pack
from typing import Any, NamedTuple

from granite.config.errors import InputError
from granite.drivers.dynamixel.bus_port import BusPort
from granite.drivers.dynamixel.control_table import (
    BUS_WATCHDOG,
    CURRENT_LIMIT,
    CURRENT_MODE,
    FEEDBACK,
    FEEDBACK_BYTES,
    GOAL_CURRENT,
    HARDWARE_ERROR,
    IDENTITY,
    IDENTITY_BYTES,
    INDIRECT_ADDRESS,
    MODELS,
    MODES,
    TORQUE_ENABLE,
    WATCHDOG_TRIPPED,
    Feedback,
    Identity,
    Model,
    errors_of,
)
from granite.drivers.dynamixel.request_clock import RequestClock
from granite.drivers.servo_answers import ServoAnswers
from granite.drivers.servo_bus import BusServo

_TRIES = 3
_BITS_PER_BYTE = 10
_RATES = (57600, 115200, 1_000_000, 2_000_000, 3_000_000, 4_000_000)
#: of a status packet without parameters, and of sync instructions without servos
_STATUS_BYTES, _SYNC_BYTES = 11, 14
#: of the answer to a fast sync read without servos, and of each servo without its parameters
_FAST_BYTES, _BLOCK_BYTES = 8, 4
_BROADCAST = 254


class ReadyServo(NamedTuple):
    """A servo that has answered."""

    model: Model
    firmware: int
    return_delay_s: float
    current_limit_a: float


@dataclass
class DynamixelServo(BusServo):
    """A servo of the testbed, and its state during a run."""

    answers: ServoAnswers[Feedback] = field(default_factory=ServoAnswers)
    clock: RequestClock = field(init=False)  #: once open
    has_alert: bool = False  #: its newest answer names a hardware error
    goal: int = 0  #: current that is sent next [counts]
    ready: ReadyServo = field(init=False)  #: once open

    @property
    def is_broken(self) -> bool:
        """Whether it reports a hardware error."""
        return self.has_alert or (self.feedback is not None and bool(self.feedback.error))

    @property
    def is_on(self) -> bool:
        """Whether its torque is on."""
        return self.feedback is not None and bool(self.feedback.torque_on)

    @property
    def obeys(self) -> bool:
        """Whether its torque is on, and its watchdog has not stopped it."""
        return self.feedback is not None and self.is_on and self.feedback.watchdog != WATCHDOG_TRIPPED


class Opening:
    """Questions to servos that wait for their answers."""

    def __init__(self, sdk: Any, port: BusPort, path: str, baud: int) -> None:
        self._sdk, self._port, self._path, self._baud = sdk, port, path, baud

    def identify(self, servo: DynamixelServo) -> None:
        """Ask what the servo is; nothing of it is changed.

        Raises
        ------
        InputError
            Where it does not answer, or model, mode or state are wrong.
        """
        identity = Identity.unpack(self._read(servo, IDENTITY, IDENTITY_BYTES))
        model = MODELS.get(identity.model)
        if model is None or (servo.model is not None and servo.model != model.name):
            model_words = f"model number {identity.model}" if model is None else f"an {model.name}"
            expected = servo.model or "a servo of the 430 or 540 series that has a current mode, such as XM430-W350"
            raise InputError(f"servo {servo.id} is {model_words}", key=servo.key, value=servo.id, expected=expected)
        if servo.is_motor and identity.mode != CURRENT_MODE:
            problem = f"servo {servo.id} is in {MODES.get(identity.mode, 'unknown')} mode ({identity.mode})"
            expected = f"current mode ({CURRENT_MODE}): set its operating mode, register 11, while its torque is off"
            raise InputError(problem, key=servo.key, value=servo.id, expected=expected)
        (error,) = self._read(servo, HARDWARE_ERROR, 1)
        if error:
            problem = f"servo {servo.id} has a hardware error: {errors_of(error)}"
            expected = "a servo without one: remove the cause, then reboot it"
            raise InputError(problem, key=servo.key, value=servo.id, expected=expected)
        limit = int.from_bytes(self._read(servo, CURRENT_LIMIT, 2), "little")
        current_limit = limit * model.ampere_per_count
        servo.ready = ReadyServo(model, identity.firmware, identity.return_delay_s, current_limit)

    def prepare(self, servo: DynamixelServo, watchdog: int) -> None:
        """Torque off, goal current zero, the registers of `FEEDBACK` in one place, and the bus watchdog set."""
        self._write(servo, TORQUE_ENABLE, b"\0")
        self._write(servo, BUS_WATCHDOG, b"\0")  # clears a watchdog that has stopped the servo
        self._write(servo, GOAL_CURRENT, b"\0\0")
        self._write(servo, INDIRECT_ADDRESS, pack(f"<{len(FEEDBACK)}H", *FEEDBACK))
        self._write(servo, BUS_WATCHDOG, bytes([watchdog]))

    def try_fast_read(self, servos: Sequence[DynamixelServo]) -> None:
        """Ask all servos at once for one register; `InputError` where they do not answer together."""
        ids = [servo.id for servo in servos]
        for _ in range(_TRIES):
            self._port.receive()
            if self._sdk.syncReadTx(self._port, TORQUE_ENABLE, 1, ids, len(ids), True) == 0:
                self._port.setPacketTimeout(_STATUS_BYTES + 5 * len(ids))
                _, result, _ = self._sdk.fastSyncReadRx(self._port, _BROADCAST, 5 * len(ids))
                if result == 0:
                    return
        words = f"the servos {', '.join(map(str, ids))} do not answer a fast sync read together"
        raise InputError(words, key="fast_read", value=True, expected="false, or a newer firmware of the servos")

    def release(self, servo: DynamixelServo) -> None:
        """Torque off, until a servo that answers confirms it."""
        for _ in range(_TRIES):
            self._port.receive()
            self._sdk.write1ByteTxRx(self._port, servo.id, TORQUE_ENABLE, 0)
            # It may be the answer to the loop's last request, which begins with the same register.
            torque_on, result, _ = self._sdk.read1ByteTxRx(self._port, servo.id, TORQUE_ENABLE)
            if result != 0 or not torque_on:
                return

    def _read(self, servo: DynamixelServo, address: int, length: int) -> bytes:
        for _ in range(_TRIES):
            self._port.receive()  # a late answer to another question
            answer, result, _ = self._sdk.readTxRx(self._port, servo.id, address, length)
            if result == 0 and len(answer) == length:
                return bytes(answer)
        raise self._no_answer(servo)

    def _write(self, servo: DynamixelServo, address: int, values: bytes) -> None:
        for _ in range(_TRIES):
            self._port.receive()
            result, error = self._sdk.writeTxRx(self._port, servo.id, address, len(values), list(values))
            if result == 0 and error:
                problem = f"servo {servo.id} refuses register {address}: error {error}"
                raise InputError(problem, key=servo.key, value=servo.id, expected="a servo that takes its settings")
            if result == 0:
                return
        raise self._no_answer(servo)

    def _no_answer(self, servo: DynamixelServo) -> InputError:
        problem = f"no servo answers with id {servo.id} on {self._path} at {self._baud} baud"
        expected = "the id of a servo there: check its power, its id and its baud rate"
        return InputError(problem, key=servo.key, value=servo.id, expected=expected)


def refuse_slow_bus(servos: Iterable[ReadyServo], baud: int, period_s: float, fast_read: bool) -> None:
    """Raise an `InputError` where the set points, the request and the answers of a tick take longer than it."""
    delays = [servo.return_delay_s for servo in servos]
    n, waits = len(delays), max(delays) if fast_read else sum(delays)
    sent, received = 2 * _SYNC_BYTES + (3 + 1) * n, (_STATUS_BYTES + FEEDBACK_BYTES) * n
    if fast_read:
        received = _FAST_BYTES + (_BLOCK_BYTES + FEEDBACK_BYTES) * n

    def takes(rate: int) -> float:
        return (sent + received) * _BITS_PER_BYTE / rate + waits

    if takes(baud) <= period_s:
        return
    problem = (
        f"too slow: {sent + received} bytes and return delays of {waits * 1e3:.3g} ms take {takes(baud) * 1e3:.3g} ms, "
        f"the tick {period_s * 1e3:g} ms"
    )
    enough = next((rate for rate in _RATES if rate > baud and takes(rate) <= period_s), None)
    shorter = "a longer tick" if waits < period_s / 2 else "a shorter return delay time (register 9) of the servos"
    raise InputError(problem, key="baud", value=baud, expected=f"at least {enough}" if enough else shorter)
