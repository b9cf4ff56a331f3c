"""Frames of another process through shared memory: a ring of frames that the writer never waits to fill.

    head     magic (8 bytes), width, height, slots, latest (8 bytes each): the number of the newest frame
    slot     number before, time [s], number after (8 bytes each), then width x height grey values

The writer sets `number before`, then pixels and time, then `number after`, then `latest`. A reader that finds two
different numbers in a slot was overtaken, and takes the next frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import resource_tracker, shared_memory

import numpy as np

from granite.config.errors import InputError
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.sources import Image

_MAGIC = b"granite1"
_HEAD, _SLOT = 40, 24
_BEFORE, _TIME, _AFTER = 0, 1, 2
#: of the reader, while it waits for the next frame [s]
_NAP_S = 2e-4


class FrameWriter:
    """Publishes frames under a name."""

    def __init__(self, name: str, size: tuple[int, int], slots: int = 4) -> None:
        width, height = size
        self._ring = _Ring(shared_memory.SharedMemory(name, create=True, size=_bytes(size, slots)), size, slots)
        self._ring.head[1:4] = width, height, slots
        _buffer(self._ring.memory)[:8] = _MAGIC

    def put(self, pixels: Pixels, t: float) -> None:
        """Publish the next frame, exposed at t [s]."""
        number = int(self._ring.head[4]) + 1
        stamps, times, values = self._ring.slot(number)
        stamps[_BEFORE] = number
        values[:] = pixels
        times[_TIME] = t
        stamps[_AFTER] = number
        self._ring.head[4] = number

    def close(self) -> None:
        """Remove the memory; readers that have it open keep it."""
        memory = self._ring.memory
        del self._ring
        memory.close()
        memory.unlink()


def shared_frames(name: str, patience_s: float = 2.0) -> Iterator[Image]:
    """The newest frames that another process publishes, until none comes for `patience_s`.

    Raises
    ------
    InputError
        Where there is no such memory, or it does not hold frames.
    """
    try:
        memory = shared_memory.SharedMemory(name)
    except (FileNotFoundError, ValueError):
        raise InputError("no shared memory of this name", file=name, expected="that of a running camera") from None
    # Only its writer removes the memory; else the end of a reader would.
    with suppress(Exception):
        resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
    try:
        if bytes(_buffer(memory)[:8]) != _MAGIC:
            raise InputError("not a stream of frames", file=name, expected="one that FrameWriter made")
        width, height, slots = np.frombuffer(_buffer(memory), np.uint64, 5)[1:4].tolist()
        yield from _newest(_Ring(memory, (width, height), slots), patience_s)
    finally:
        with suppress(BufferError):  # where a frame is still in use
            memory.close()


def _newest(ring: _Ring, patience_s: float) -> Iterator[Image]:
    last, since = 0, time.monotonic()
    while time.monotonic() - since < patience_s:
        number = int(ring.head[4])
        if number == last:
            time.sleep(_NAP_S)
            continue
        stamps, times, values = ring.slot(number)
        pixels, t = values.copy(), float(times[_TIME])
        if int(stamps[_BEFORE]) == int(stamps[_AFTER]) == number:
            last, since = number, time.monotonic()
            yield Image(t, number, pixels)


class _Ring:
    """Views of the shared memory."""

    def __init__(self, memory: shared_memory.SharedMemory, size: tuple[int, int], slots: int) -> None:
        self.memory = memory
        self.head = np.frombuffer(_buffer(memory), np.uint64, 5)
        self._size = size
        self._slots = slots

    def slot(self, number: int) -> tuple[np.ndarray, np.ndarray, Pixels]:
        """Numbers, times and pixels of the slot of a frame."""
        width, height = self._size
        at = _HEAD + (number % self._slots) * _slot_bytes(self._size)
        values = np.frombuffer(_buffer(self.memory), np.uint8, width * height, at + _SLOT).reshape(height, width)
        stamps = np.frombuffer(_buffer(self.memory), np.uint64, 3, at)
        return stamps, stamps.view(np.float64), values


def _buffer(memory: shared_memory.SharedMemory) -> memoryview:
    assert memory.buf is not None  # open
    return memory.buf


def _slot_bytes(size: tuple[int, int]) -> int:
    """Whole numbers of eight bytes, so that the stamps of every slot are aligned."""
    return _SLOT + -(-size[0] * size[1] // 8) * 8


def _bytes(size: tuple[int, int], slots: int) -> int:
    return _HEAD + slots * _slot_bytes(size)
