"""Which board and which channel each signal of a testbed gets in a rehearsal: derived from its devices alone.

Signals of pose sensors are a pose stream, those of cameras come from frames; all others are channels of boards. Counts
are so fine that they add nothing to the errors of a device's data sheet; only an angle has the steps of its sensor's
converter.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.devices.camera import Camera
from granite.config.devices.device import Device
from granite.config.devices.joint_sensors import JointSensors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.board.device import channel_kind
from granite.drivers.board.wire import CRC, HEADER, MAX_FRAME, MAX_VALVE_COUNT, REPORT, VALVE_COUNT_S, ChannelKind

#: channels whose report fits into a frame
_MOST = (MAX_FRAME - HEADER.size - CRC.size - REPORT.size) // 4
#: of names and units, in the layout file of a board
_LONGEST_NAME, _LONGEST_UNIT = 15, 7
_FULL_SCALE = 2**30
#: greatest value of a sensor's signal without a range of its own
_GREATEST = 1000.0
#: range of a sensor's channel by that of the sensor: a board passes on that a sensor is at the end of its range
_HEADROOM = 1.25


class Wire(NamedTuple):
    """The channel of one signal."""

    signal: str  #: as the device names it
    kind: ChannelKind
    name: str
    unit: str
    scale: float  #: physical value of one count
    low: int
    high: int

    @property
    def line(self) -> str:
        """Its line in the layout file of a board."""
        kind, unit = self.kind.name.lower(), self.unit.replace(" ", "_")
        return f"{kind} {self.name} {unit} {self.scale:.9g} {self.low} {self.high}"


class WiredDevice(NamedTuple):
    """A device on a board."""

    name: str
    is_actuator: bool
    wires: tuple[Wire, ...]

    def counts(self, values: Array) -> NDArray[np.int32]:
        """Values as counts; beyond the range of a channel, or not a number: its limit or zero."""
        scales = np.array([wire.scale for wire in self.wires])
        low, high = np.array([(wire.low, wire.high) for wire in self.wires]).T
        within = np.clip(np.nan_to_num(values), low * scales, high * scales)
        counts: NDArray[np.int32] = np.clip(np.rint(within / scales), low, high).astype(np.int32)
        return counts

    def values(self, counts: NDArray[np.int32]) -> Array:
        """Counts of outputs as set points; a valve is open or closed."""
        scales = [1.0 if wire.kind == ChannelKind.VALVE else wire.scale for wire in self.wires]
        values: Array = counts * np.array(scales)
        return values


class WiredBoard(NamedTuple):
    """A board with its devices; their channels in order are its channels."""

    name: str
    devices: tuple[WiredDevice, ...]

    @property
    def layout(self) -> str:
        """The layout file of the firmware's host build."""
        return "\n".join([f"board {self.name}", *(wire.line for device in self.devices for wire in device.wires), ""])


def is_pose(device: Device, bed: Testbed) -> bool:
    """Whether the device measures a pose on the table: it is rehearsed as a pose stream."""
    return device.role == "sensor" and [signal.unit for signal in device.signals(bed)] == ["m", "m", "rad"]


def wire(bed: Testbed, real: Collection[str] = ()) -> tuple[WiredBoard, ...]:
    """The boards of a testbed: as few as its channels need, each with whole devices; none of the real ones.

    Raises
    ------
    InputError
        Where a device can't be on a board.
    """
    boards: list[list[WiredDevice]] = []
    used = _MOST
    number = 0
    taken: set[tuple[ChannelKind, str]] = set()
    for name, device in (bed.sensors | bed.actuators).items():
        if name in real or is_pose(device, bed) or isinstance(device, Camera) or not device.signals(bed):
            continue
        wires = []
        for i, signal in enumerate(device.signals(bed)):
            number += 1
            wired = _wire(bed, name, device, i, signal.name, signal.unit, number)
            if (wired.kind, wired.name) in taken:  # vehicles may have thrusters of one name
                wired = wired._replace(name=_numbered(signal.name, number))
            taken.add((wired.kind, wired.name))
            wires.append(wired)
        if len(wires) > _MOST:
            expected = f"at most {_MOST} signals, which one board reports"
            raise InputError(f"{len(wires)} signals", file=bed.name, key=f"devices.{name}", expected=expected)
        used += len(wires)
        if used > _MOST:
            boards.append([])
            used = len(wires)
        boards[-1].append(WiredDevice(name, device.role == "actuator", tuple(wires)))
    return tuple(WiredBoard(f"rehearsal-{i}", tuple(devices)) for i, devices in enumerate(boards, start=1))


def _wire(bed: Testbed, name: str, device: Device, i: int, signal: str, unit: str, number: int) -> Wire:
    stem = signal.rpartition("_")[0]
    other = ChannelKind.GAUGE if device.role == "sensor" else ChannelKind.WHEEL
    known = channel_kind(device, signal)
    if known is not None and (known < ChannelKind.ENCODER) != (device.role == "actuator"):
        known = None
    kind = other if known is None else known
    if len(unit) > _LONGEST_UNIT:
        expected = f"a unit of at most {_LONGEST_UNIT} letters, which a board can name"
        raise InputError(f"signal {signal}", file=bed.name, key=f"devices.{name}", value=unit, expected=expected)
    # Two modules may have joints of one name, and a board's names are short.
    channel = stem if known is not None and len(stem) <= _LONGEST_NAME else _numbered(signal, number)
    if kind == ChannelKind.VALVE:
        shortest = 0.0
        if isinstance(device, Thrusters) and not device.simulated.ideal:
            shortest = device.valve.minimum_on_s
        count = min(math.ceil(round(shortest / VALVE_COUNT_S, 6)), MAX_VALVE_COUNT)
        return Wire(signal, ChannelKind.VALVE, channel, "s", VALVE_COUNT_S, count, MAX_VALVE_COUNT)
    if device.role == "actuator":
        low, high = device.bounds(bed)[i]
        scale = 1.0 if kind == ChannelKind.GRIP else _single(max(abs(low), abs(high)) / _FULL_SCALE)
        # Within the bounds: what a board applies is checked against them.
        return Wire(signal, kind, channel, unit, scale, math.ceil(low / scale), math.floor(high / scale))
    if isinstance(device, JointSensors) and kind == ChannelKind.ENCODER and not device.simulated.perfect:
        scale = device.range_rad / (1 << device.converter_bits)
    else:
        greatest = max(map(abs, device.measurable(bed)[i]))
        scale = _HEADROOM * (greatest if math.isfinite(greatest) else _GREATEST) / _FULL_SCALE
    return Wire(signal, kind, channel, unit, _single(scale), -_FULL_SCALE, _FULL_SCALE)


def _numbered(signal: str, number: int) -> str:
    """A short name that no other channel has."""
    return f"{signal.rpartition('_')[2][:8]}{number}"


def _single(scale: float) -> float:
    """The scale as a board has it, in single precision."""
    return float(np.float32(scale))
