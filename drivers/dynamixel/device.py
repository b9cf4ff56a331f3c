"""Dynamixel servos in current mode: motors, or the angles and rates of joints.

In a testbed's file, for motors and joint sensors on the same bus:

    driver = { kind = "dynamixel", port = "/dev/ttyUSB0", ids = { shoulder = 1, elbow = 2 },
               torque_n_m_per_a = { shoulder = 1.78, elbow = 1.78 } }
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from granite.config.base import Positive
from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.dynamixel.bus import Bus
from granite.drivers.dynamixel.bus_options import BusOptions
from granite.drivers.dynamixel.control_table import CENTRE, MODELS, RAD_PER_COUNT, RAD_S_PER_COUNT, Feedback
from granite.drivers.dynamixel.servos import Servo

_SENSED = {"angle", "rate"}


class DynamixelDevice(Sensor, Actuator):
    """Sensor or actuator on a bus that it shares with others."""

    class Options(PartTable, BusOptions):
        """The bus, and the servo of each joint."""

        Link: ClassVar = Bus
        #: by joint
        ids: dict[str, Annotated[int, Field(ge=0, le=252)]] = Field(min_length=1)
        #: all servos are of this one, such as XM430-W350; none: any that has a current mode
        model: str | None = None
        #: motors: torque at the joint per ampere, by joint
        torque_n_m_per_a: dict[str, Positive] = Field(default_factory=dict)
        #: joints whose angle grows where that of the servo falls
        reversed: tuple[str, ...] = ()
        #: joint sensors: angle of the joint where the servo is at its centre (count 2048), by joint; default 0
        centre_rad: dict[str, float] = Field(default_factory=dict)

    def __init__(self, options: Options, name: str, bed: Testbed, bus: Bus) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._is_actuator = device.role == "actuator"
        signals = [signal.name.rpartition("_") for signal in device.signals(bed)]
        known = {"torque"} if self._is_actuator else _SENSED
        if not {quantity for _, _, quantity in signals} <= known:
            expected = "motors, or joint sensors that measure angles and rates"
            raise InputError("servos have no such signals", key="kind", value="dynamixel", expected=expected)
        joints = list(dict.fromkeys(joint for joint, _, _ in signals))
        self._refuse_wrong_keys(options, joints)
        self._joints, self._quantities = [joint for joint, _, _ in signals], [quantity for _, _, quantity in signals]
        servos = [
            Servo(joint, options.ids[joint], joint in options.reversed, options.model, self._is_actuator)
            for joint in joints
        ]
        self._bus, self._indices = bus, bus.add_servos(servos)
        #: of the servo of each signal, among those of the device
        self._rows = [joints.index(joint) for joint in self._joints]
        self._signs = [-1.0 if joint in options.reversed else 1.0 for joint in self._joints]
        self._centres = [options.centre_rad.get(joint, 0.0) for joint in self._joints]
        self._options = options
        self._limits = [high for _, high in device.bounds(bed)] if self._is_actuator else []
        self._scales: Array = np.zeros(len(signals))
        self._most: list[int] = []
        self._offsets: Array = np.zeros(len(signals))
        self._last = no_frame(len(signals))
        self._answered = 0

    def _refuse_wrong_keys(self, options: Options, joints: list[str]) -> None:
        by_joint: dict[str, dict[str, Any]] = {
            "ids": options.ids,
            "torque_n_m_per_a": options.torque_n_m_per_a,
            "centre_rad": options.centre_rad,
        }
        for key, table in {**by_joint, "reversed": dict.fromkeys(options.reversed)}.items():
            for joint in table:
                if joint not in joints:
                    raise InputError("no such joint here", key=key, value=joint, expected=one_of(joint, joints))
        needed = {"ids": "the id of its servo"}
        if self._is_actuator:
            needed["torque_n_m_per_a"] = "the torque per ampere of its servo"
        for key, expected in needed.items():
            for joint in joints:
                if joint not in by_joint[key]:
                    raise InputError.missing(f"{key}.{joint}", expected)
        names = [model.name for model in MODELS.values()]
        if options.model is not None and options.model not in names:
            raise InputError("no such model", key="model", value=options.model, expected=one_of(options.model, names))

    def open(self) -> None:
        """Open the bus, and check that the servos reach the torques that the testbed allows."""
        self._bus.open()
        self._fit()

    def read(self, t: float) -> Frame:
        """The newest measurement, with the time of its request."""
        return self._newest(t, needs_torque=False)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set the goal currents that the bus sends next; the torque of the measured currents."""
        counts = [
            max(-most, min(most, round(count)))
            for count, most in zip((setpoint / self._scales).tolist(), self._most, strict=True)
        ]
        self._bus.set_goals(self._indices, counts)
        return self._newest(t, needs_torque=True)

    def report(self, t: float) -> Frame:
        """The torque of the newest currents."""
        return self._newest(t, needs_torque=True)

    def observe(self, t: float) -> Frame:
        """What the servos report, with torque off."""
        return self._newest(t, needs_torque=False)

    def stop(self, t: float) -> Frame:
        """Torque of the whole bus off at once; the frame confirms it when every servo has."""
        is_off = self._bus.stop(t)
        frame = self._newest(t, needs_torque=False)
        if not is_off:
            return frame._replace(status=Status.SILENT)
        return frame._replace(status=Status.OK, values=np.zeros(len(self._rows)))

    def close(self) -> None:
        """Nothing of its own: the bus is closed with all its devices, torque off."""

    @property
    def identity(self) -> str:
        """The servos, as they describe themselves."""
        ready = [self._bus.ready[index] for index in self._indices]
        described = [f"{s.model.name} firmware {s.firmware}" for s in ready]
        return ", ".join(f"{joint}: {text}" for joint, text in zip(dict.fromkeys(self._joints), described, strict=True))

    def _newest(self, t: float, needs_torque: bool) -> Frame:
        """A new frame where all servos of the device have answered the same request."""
        bus, last = self._bus, self._last
        status = bus.status(t, self._indices, needs_torque)
        request = bus.answered[self._indices[0]]
        if request != self._answered and all(bus.answered[index] == request for index in self._indices):
            self._answered = request
            feedback = [bus.feedback[index] for index in self._indices]
            self._last = Frame(bus.answered_request_at, last.number + 1, status, self._values(feedback))
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last

    def _values(self, feedback: list[Feedback | None]) -> Array:
        """In the units of the signals; a servo whose torque is off applies none, whatever its converter reads."""
        rows = [feedback[row] for row in self._rows]
        if self._is_actuator:
            counts = [float(f.current if f is not None and f.torque_on else 0) for f in rows]
            return np.array(counts) * self._scales
        counts = [
            0.0 if f is None else float(f.position - CENTRE if quantity == "angle" else f.velocity)
            for f, quantity in zip(rows, self._quantities, strict=True)
        ]
        values: Array = np.array(counts) * self._scales + self._offsets
        return values

    def _fit(self) -> None:
        """Units of the servos that were found."""
        ready = [self._bus.ready[self._indices[row]] for row in self._rows]
        self._offsets = np.array(
            [centre if q == "angle" else 0.0 for centre, q in zip(self._centres, self._quantities, strict=True)]
        )
        if not self._is_actuator:
            units = [RAD_PER_COUNT if quantity == "angle" else RAD_S_PER_COUNT for quantity in self._quantities]
            self._scales = np.array(units) * self._signs
            return
        constants = self._options.torque_n_m_per_a
        for joint, servo, limit in zip(self._joints, ready, self._limits, strict=True):
            needed = limit / constants[joint]
            if needed > servo.current_limit_a * (1 + 1e-6):
                problem = f"set points up to {limit:g} N m take {needed:.3g} A"
                expected = f"at most the servo's current limit of {servo.current_limit_a:.3g} A (register 38)"
                raise InputError(problem, key=f"torque_n_m_per_a.{joint}", value=constants[joint], expected=expected)
        self._scales = (
            np.array([s.model.ampere_per_count * constants[j] for s, j in zip(ready, self._joints, strict=True)])
            * self._signs
        )
        self._most = [round(servo.current_limit_a / servo.model.ampere_per_count) for servo in ready]
