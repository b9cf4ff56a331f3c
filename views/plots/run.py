"""The numbers of a log as they are drawn: truth where recorded, else the estimate; NaN where neither."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from granite.config import coordinates
from granite.config.audit import audit_values
from granite.config.coordinates import Coordinate
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import thruster_matrix
from granite.logs.log import Log
from granite.views.plots.thinning import drawn_rows


class ModuleMotion(NamedTuple):
    """Motion of one module."""

    module: Module
    coordinates: tuple[Coordinate, ...]
    q: Array  #: one row per tick


class PlottedRun:
    """Time series of a log, one row per tick; of a long run those rows that the page can show."""

    def __init__(self, log: Log) -> None:
        drawn = drawn_rows(log)
        rows = drawn.rows

        def series(topic: str, entry: str, of: Array = rows) -> Array:
            values: Array = of[:, log.channels.columns(topic, entry)]
            return values

        def joined(entries: Iterable[str], of: Array = rows) -> Array:
            return np.hstack([np.zeros((len(rows), 0)), *(series("/applied", entry, of) for entry in entries)])

        bed = self.bed = log.bed
        self.events = log.events
        #: time [s] and name of each mode of a run with an operator; none of others
        self.run_modes = _run_modes(log) if json.loads(log.info.get("operators", "[]")) else []
        #: whether the loop ran in real time, so that the times of its steps mean something
        self.is_realtime = log.info.get("mode", "virtual") != "virtual"
        #: reason of an early end of the run
        self.stop = next((str(event["name"]) for event in log.events if event["level"] == "error"), "")
        self.t = series("/timing", "scheduled")
        self.end = float(self.t[-1]) + bed.loop.period_s
        ready = series("/state", "ready")[:, None] == 1.0
        truth, estimate = series("/truth", "q"), series("/state", "q")
        #: source of the drawn motion; the estimate covers only the modules that the controller knows
        self.measure = "estimate" if bed.controller and np.isnan(truth).all() else "truth"
        self.modules = bed.modules if self.measure == "truth" else bed.known.modules
        self.q = truth if self.measure == "truth" else np.where(ready, estimate, np.nan)
        self.reference = np.where(ready, series("/reference", "q"), np.nan)
        self.torque = joined(f"{name}.values" for name in bed.devices_of(Motors))
        #: number of ticks that openings, wrenches and step times are the means of: one, but in a long run
        self.weight = drawn.weight
        self.opening = np.nan_to_num(joined((f"{name}.values" for name in bed.devices_of(Thrusters)), drawn.means))
        #: of each contact: 0 open, 1 closed, 2 closed and slipping, 3 commanded to close but out of reach
        self.contact_state = np.nan_to_num(series("/truth", "closed"))
        self.closed = (self.contact_state == 1) | (self.contact_state == 2)
        linear = 2 if bed.planar else 3
        wrench = series("/truth", "wrench").reshape(len(rows), len(bed.contacts), -1 if bed.contacts else 2 * linear)
        #: of each contact, without direction [N], [N m]
        self.force = np.linalg.norm(wrench[:, :, :linear], axis=2)
        self.moment = np.linalg.norm(wrench[:, :, linear:], axis=2)
        self.squeeze = series("/truth", "squeeze")
        names = [value.name for value in audit_values(bed)]
        self.audit = dict(zip(names, series("/truth", "audit").T, strict=True))
        self.changes = drawn.changes
        self.states = drawn.states
        self.step_times = np.nan_to_num(series("/timing", "steps", drawn.means))  #: [s]
        self.tick_time = drawn.tick_time  #: of all ticks [s]
        self.thrusters = bed.thrusters
        #: indices in q of the coordinates with a reference
        positions = bed.positions if self.measure == "truth" else bed.known.positions
        self.referenced = [positions.index(c) for c in bed.known.positions]
        thrust = series("/truth", "thrust", drawn.means)
        expected = series("/verdict", "thrust", drawn.means)
        #: source of the delivered wrench
        self.delivery = "expected" if np.isnan(thrust).all() else "delivered"
        #: demanded and delivered wrench on each root body with thrusters, in its axes [N], [N m], by module
        self.wrenches = _wrenches(
            bed, series("/demand", "wrench", drawn.means), expected if np.isnan(thrust).all() else thrust
        )

    def motions(self) -> tuple[ModuleMotion, ...]:
        """Motion of each module."""
        motions, at = [], 0
        for module in self.modules:
            positions = coordinates.positions(module)
            motions.append(ModuleMotion(module, positions, self.q[:, at : at + len(positions)]))
            at += len(positions)
        return tuple(motions)

    def name(self, module: Module, part: str) -> str:
        """Label of a part of a module: with the module's name where there are several."""
        return f"{module.name} {part}" if len(self.bed.modules) > 1 else part


def _run_modes(log: Log) -> list[tuple[float, str]]:
    """The modes that the run entered; it begins running."""
    names = {mode.name.lower() for mode in RunMode}
    entered = [event for event in log.events if event["name"] in names]
    begins = [] if entered and entered[0]["tick"] == 0 else [(0.0, RunMode.RUNNING.name.lower())]
    return [*begins, *((float(event["t_s"]), str(event["name"])) for event in entered)]


def _wrenches(bed: Testbed, demanded: Array, thrust: Array) -> dict[str, tuple[Array, Array]]:
    """Demanded and delivered wrench of the thrusters: fx, fy, mz, or in space fx, fy, fz, mx, my, mz."""
    floating = [module.name for module in bed.known.modules if module.base == "floating"]
    size, first = 3 if bed.planar else 6, 0
    wrenches: dict[str, tuple[Array, Array]] = {}
    for device in bed.devices_of(Thrusters).values():
        module, n = device.pushed(bed), len(device.units)
        delivered: Array = thrust[:, first : first + n] @ thruster_matrix(device, module.dimension).T
        at, first = size * floating.index(module.name), first + n
        before = wrenches[module.name][1] if module.name in wrenches else 0.0
        wrenches[module.name] = demanded[:, at : at + size], delivered + before
    return wrenches
