"""What a state machine did: its states over time, how well its grips met, and the momentum wheels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from granite.config.behaviour import StateNote
from granite.config.contacts import Contact, Side
from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.behaviours.tasks import INTERRUPTED
from granite.logs.channels import Channels
from granite.logs.run_summary import CatchMetrics, FailedBehaviour, Metrics, VisitedState, WheelUse
from granite.mrds.tree import Tree

#: code before the first row
_NO_ROW = -2


class StateChange(NamedTuple):
    """A state that was entered at a tick."""

    t: float
    tick: int
    name: str
    before: str | None


def failing_states(bed: Testbed) -> dict[str, StateNote]:
    """The states in which a behaviour has failed, by name."""
    notes: tuple[StateNote, ...] = getattr(bed.behaviour, "states", tuple)()
    return {note.name: note for note in notes if note.fails}


class StateChanges:
    """Finds changes of the machine's state in successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._names: tuple[str, ...] = getattr(bed.behaviour, "state_names", ())
        self._t, self._tick = channels.columns("/timing", "scheduled"), channels.columns("/timing", "tick")
        task = channels.topic("/reference").entries.get("task")
        self._column = channels.column("/reference", "machine_state") if task else None
        self._before: int | None = None

    def look(self, rows: Array) -> Iterator[StateChange]:
        """The changes in these rows; the first state is one."""
        if self._column is None or not len(rows):
            return
        codes = rows[:, self._column].astype(int)
        before = np.concatenate(([_NO_ROW if self._before is None else self._before], codes[:-1]))
        for i in np.flatnonzero(codes != before):
            was = None if before[i] == _NO_ROW else self._name(before[i])
            yield StateChange(float(rows[i, self._t]), int(rows[i, self._tick]), self._name(codes[i]), was)
        self._before = int(codes[-1])

    def by_name(self, rows: Array) -> dict[str, NDArray[np.bool_]]:
        """The states in these rows, and in which of them the machine is in each."""
        if self._column is None:
            return {}
        codes = rows[:, self._column].astype(int)
        return {self._name(code): codes == code for code in np.unique(codes).tolist()}

    def _name(self, code: int) -> str:
        return self._names[code] if code != INTERRUPTED else "interrupted"


class MachineSummary:
    """Gathers states, catches and wheels; nothing of a behaviour that is no state machine."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._bed, self._changes = bed, StateChanges(bed, channels)
        self._is_machine = "task" in channels.topic("/reference").entries
        self._columns = {entry: channels.columns("/truth", entry) for entry in ("closed", "q", "u")}
        self._t = channels.columns("/timing", "scheduled")
        rates = [c.name for c in bed.velocities]
        joints = [unit.joint for device in bed.devices_of(MomentumWheels).values() for unit in device.units]
        self._wheels = {joint: rates.index(joint) for joint in joints if joint in rates}
        self._peak, self._final = np.zeros(len(self._wheels)), np.zeros(len(self._wheels))
        self._states: list[VisitedState] = []
        self._catches: list[CatchMetrics] = []
        self._failing = failing_states(bed)
        self._failed: FailedBehaviour | None = None
        self._last: Array | None = None

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        if not self._is_machine:
            return
        for change in self._changes.look(rows):
            self._states.append({"t_s": change.t, "state": change.name})
            if note := self._failing.get(change.name):
                self._failed = {"t_s": change.t, "state": note.name, "doing": note.doing, "after": change.before}
        with_before = rows if self._last is None else np.vstack((self._last, rows))
        closed = with_before[:, self._columns["closed"]]
        for i, j in zip(*np.nonzero((closed[1:] == 1) & (closed[:-1] != 1)), strict=True):
            self._catches.append(self._catch(self._bed.contacts[j], with_before[i]))
        if self._wheels:
            speed = np.abs(np.nan_to_num(rows[:, self._columns["u"]][:, list(self._wheels.values())]))
            self._peak, self._final = np.maximum(self._peak, speed.max(axis=0)), speed[-1]
        self._last = rows[-1:].copy()

    def add_to(self, metrics: Metrics) -> None:
        """States, catches and wheels by name."""
        if self._states:
            metrics["states"], metrics["catches"] = self._states, self._catches
        if self._failed:
            metrics["failed"] = self._failed
        if self._is_machine and self._wheels:
            metrics["wheels"] = {
                joint: WheelUse(unit="rad/s", max=float(peak), final=float(final))
                for joint, peak, final in zip(self._wheels, self._peak, self._final, strict=True)
            }

    def _catch(self, contact: Contact, row: Array) -> CatchMetrics:
        """Distance and relative speed of the two sides, at the tick that closed the contact."""
        q, u = row[self._columns["q"]], row[self._columns["u"]]
        miss, speed = (
            float(np.linalg.norm(np.subtract(*pair)))
            for pair in zip(*(self._motion(side, q, u) for side in (contact.first, contact.second)), strict=True)
        )
        return {"t_s": float(row[self._t]), "contact": contact.name, "miss_m": miss, "speed_m_s": speed}

    def _motion(self, side: Side, q: Array, u: Array) -> tuple[Array, Array]:
        if side.grounded:
            return np.array((*side.position_m, 0.0)[:3]), np.zeros(3)
        layout = self._bed.layout
        x, v = self._points[side.module, str(side.point)](q[layout.q[side.module]], u[layout.u[side.module]])
        return np.array(x).ravel(), np.array(v).ravel()

    @cached_property
    def _points(self) -> dict[tuple[str, str], ca.Function]:
        """(q, u) -> position and velocity of every named point."""
        functions = {}
        for module in self._bed.modules:
            tree = Tree(module)
            for point in module.points:
                at = tree.point(point.body, point.position_m)
                outputs = [ca.densify(at.position), ca.densify(at.velocity)]
                functions[module.name, point.name] = ca.Function("point", [tree.q, tree.u], outputs)
        return functions
