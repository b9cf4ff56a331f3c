"""Thrusters on the outputs of the autopilot PX4, such as those of ATMOS (`px4_msgs/ActuatorMotors`).

In a testbed's file:

    [devices.thrusters]
    driver = { kind = "px4_thrusters" }

PX4 is armed, and set to offboard mode, by its own operator; it is disarmed by every stop. Without commands it leaves
offboard mode after its own COM_OF_LOSS_T: that is the watchdog.
"""

from __future__ import annotations

import math
from threading import Event, Thread
from typing import Annotated

import numpy as np
from pydantic import Field

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable
from granite.config.records import Array, Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator
from granite.drivers.ros2 import px4_messages as px4
from granite.drivers.ros2.topic import TopicReceiver, shared_node

#: PX4 says at least twice a second in which mode it is [s]
_SILENT_S = 1.5
#: messages of the mode that are read at one tick
_MOST_READ = 8
#: between two messages while the first set point is awaited [s]
_AWAITED_S = 0.05


class Px4Thrusters(Actuator):
    """The openings as normalised thrusts. PX4 reports its mode, not the valves: what was sent counts as applied."""

    class Options(PartTable):
        """The node of PX4, and its outputs."""

        #: namespace of the topics, such as /atmos for /atmos/fmu/in/actuator_motors
        namespace: Annotated[str, Field(pattern=r"^(/[A-Za-z_][A-Za-z0-9_]*)*$", max_length=100)] = ""
        #: by thruster: number of its output, from 1; default: in the order of the units
        outputs: dict[str, Annotated[int, Field(ge=1, le=px4.OUTPUTS)]] = Field(default_factory=dict)

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        device = bed.devices[name]
        if not isinstance(device, Thrusters):
            raise InputError("only thrusters are on its outputs", key="kind", value=options.kind, expected="thrusters")
        names = [unit.name for unit in device.units]
        for unit in options.outputs:
            if unit not in names:
                raise InputError("no such thruster", key="outputs", value=unit, expected=one_of(unit, names))
        outputs = [options.outputs.get(unit, i + 1) for i, unit in enumerate(names)]
        if len(set(outputs)) < len(names) or max(outputs) > px4.OUTPUTS:
            expected = f"another one of the {px4.OUTPUTS} for each thruster"
            raise InputError(key="outputs", value=outputs, expected=expected)
        self._columns, self._namespace = [output - 1 for output in outputs], options.namespace
        self._closed = np.zeros(len(names))
        self._mode: TopicReceiver | None = None
        self._awaiting, self._thread = Event(), Thread()

    def open(self) -> None:
        """Find PX4, and let it know that offboard control is there, valves closed, until the first set point."""
        node, name = shared_node(), self._namespace
        self._motors = node.publisher(f"{name}/fmu/in/actuator_motors", px4.MOTORS)
        self._offboard = node.publisher(f"{name}/fmu/in/offboard_control_mode", px4.OFFBOARD)
        self._command = node.publisher(f"{name}/fmu/in/vehicle_command", px4.COMMAND)
        self._mode = TopicReceiver(f"{name}/fmu/out/vehicle_control_mode", px4.CONTROL_MODE, "namespace")
        self._last = Frame(0.0, 0, Status.NO_FRAME, self._closed)
        self._is_armed = self._is_offboard = self._was_ready = self._is_stopped = False
        self._heard, self._first = -math.inf, math.inf
        self._awaiting = Event()
        self._thread = Thread(target=self._await_setpoint, args=(self._awaiting,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Say no more."""
        self._end_awaiting()
        if self._mode is not None:
            self._mode.close()

    @property
    def identity(self) -> str:
        """The topics."""
        return f"PX4, {len(self._columns)} outputs of {self._namespace}/fmu/in/actuator_motors"

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the openings; applied where PX4 is armed and in offboard mode."""
        self._end_awaiting()
        self._first = min(self._first, t)
        self._send(setpoint)
        self._listen(t)
        status = self._status(t)
        if status == Status.OK:
            self._last = Frame(t, self._last.number + 1, status, setpoint)
        else:
            self._last = self._last._replace(status=status, values=self._closed)
        return self._last

    def observe(self, t: float) -> Frame:
        """Whether PX4 is there; valves are closed."""
        self._listen(t)
        is_there = t - self._heard <= _SILENT_S
        return Frame(t, int(self._heard > -math.inf), Status.OK if is_there else Status.SILENT, self._closed)

    def stop(self, t: float) -> Frame:
        """Close the valves and disarm PX4; confirmed when it says that it is disarmed."""
        self._end_awaiting()
        self._send(self._closed)
        self._command.write(px4.disarm())
        self._listen(t)
        if not self._is_stopped:
            self._is_stopped, self._heard = True, -math.inf  # what came before the stop confirms nothing
        is_confirmed = self._heard > -math.inf and not self._is_armed
        return self._last._replace(status=Status.OK if is_confirmed else Status.SILENT, values=self._closed)

    def _send(self, openings: Array) -> None:
        outputs = [math.nan] * px4.OUTPUTS
        for column, opening in zip(self._columns, openings.tolist(), strict=True):
            outputs[column] = opening
        self._offboard.write(px4.offboard())
        self._motors.write(px4.motors(outputs))

    def _listen(self, t: float) -> None:
        assert self._mode is not None
        for _ in range(_MOST_READ):
            if (message := self._mode.receive()) is None:
                return
            if (mode := px4.control_mode(message)) is not None:
                (self._is_armed, self._is_offboard), self._heard = mode, t

    def _status(self, t: float) -> Status:
        if t - max(self._heard, self._first) > _SILENT_S:
            return Status.SILENT
        if self._is_armed and self._is_offboard:
            self._was_ready = True
            return Status.OK
        is_new = t - self._first < _SILENT_S
        return Status.NO_FRAME if is_new and not self._was_ready else Status.REFUSED

    def _await_setpoint(self, over: Event) -> None:
        """PX4 takes offboard mode only from somebody who has been there for a second."""
        while not over.wait(_AWAITED_S):
            self._send(self._closed)

    def _end_awaiting(self) -> None:
        if not self._awaiting.is_set():
            self._awaiting.set()
            if self._thread.is_alive():
                self._thread.join()
