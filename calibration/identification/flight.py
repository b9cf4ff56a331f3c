"""The free flight in a log, as the identification of the base needs it: firings, carried bodies, poses."""

from __future__ import annotations

from typing import NamedTuple, cast

import casadi as ca
import numpy as np
from scipy.signal import savgol_filter

from granite.config.devices.camera import Camera
from granite.config.devices.thrusters import Thrusters, Valve
from granite.config.devices.vision import Vision
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.records import Array, Status
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.logs.log import Log
from granite.mrds.tree import Tree
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank

#: ticks may differ from their period by this part of it
_UNEVEN = 0.01
#: of the derivative by the delay of the valves [s]
_SHIFT_S = 1e-3
#: joint angles are smoothed by parabolas over this time [s]: drag depends on the rates even where they are small
_SMOOTHED_S = 0.2


class BaseInertia(NamedTuple):
    """Mass, mass centre (x, y) and inertia about it."""

    mass_kg: float
    com_m: tuple[float, float]
    inertia_kg_m2: float

    @property
    def numbers(self) -> Array:
        """All four in this order."""
        return np.array([self.mass_kg, *self.com_m, self.inertia_kg_m2])

    @property
    def about_origin(self) -> Array:
        """Mass, mass times its centre (x, y), and inertia about the origin (4)."""
        m, c = self.mass_kg, np.array(self.com_m)
        return np.array([m, *(m * c), self.inertia_kg_m2 + m * c @ c])


class FreeFlight(NamedTuple):
    """What was measured in n ticks of a flight."""

    period_s: float
    openings: Array  #: (n, k) mean opening of each valve in each tick, by the response in the file
    later: Array  #: (n, k) their derivative by the delay of the valves [1/s]
    thrust: Array  #: (k) of each thruster by the file [N]
    matrix: Array  #: (3, k) wrench per newton in base axes, about the origin of the base
    impulse: Array  #: (n) of all thrusters before each tick [N s]
    masses: Array  #: (b) of the carried bodies [kg]
    inertias: Array  #: (b) about their mass centres [kg m2]
    centres: Array  #: (n + 1, b, 2) their mass centres in base axes [m]
    headings: Array  #: (n + 1, b) their headings from the base [rad]
    pose_times: Array  #: (p) of exposure, since the first tick [s]
    poses: Array  #: (p, 3) of the base [m, m, rad]
    drag_speed_m_s: float  #: below it Coulomb drag fades out, or at it viscous drag reaches its ratio
    is_viscous: bool


def expected_base(bed: Testbed) -> BaseInertia:
    """The numbers of the base in the file."""
    root = vehicle_of(bed)[1].root
    return BaseInertia(root.mass_kg, (root.com_m[0], root.com_m[1]), cast(float, root.inertia_kg_m2))


def flight_of(log: Log) -> FreeFlight:
    """The flight of the vehicle with thrusters in a log.

    Raises
    ------
    InputError
        Where the testbed has no such vehicle, it touches something, or rows are missing.
    """
    bed = log.bed
    thrusters_name, module = vehicle_of(bed)
    thrusters = bed.devices_of(Thrusters)[thrusters_name]
    ready = np.nonzero(log["/state"]["ready"])[0]
    if not len(ready):
        raise InputError("the estimate was never ready", key="log", expected="a free flight")
    rows = slice(int(ready[0]), log.ticks)
    t = log.t[rows]
    if np.any(np.abs(np.diff(t) - bed.loop.period_s) > _UNEVEN * bed.loop.period_s):
        raise InputError("rows are missing or late", key="log", expected="a row for every tick")
    opening = _entries(log, "/applied", f"{thrusters_name}.values")
    openings, later = _mean_openings(thrusters, log.t, opening, bed.loop.period_s)
    openings = openings[rows][:-1]
    later = later[rows][:-1]
    thrust = available_thrust(thrusters)
    spent = np.cumsum(openings @ thrust) * bed.loop.period_s
    centres, headings = _carried(log, module, rows)
    times, poses = _poses(log, module)
    inside = (times >= t[0]) & (times <= t[-1])
    table = bed.simulation.table
    carried = [body for body in module.in_tree_order() if body.name != module.root.name]
    return FreeFlight(
        bed.loop.period_s,
        openings,
        later,
        thrust,
        thruster_matrix(thrusters, "planar"),
        np.concatenate(([0.0], spent[:-1])),
        np.array([body.mass_kg for body in carried]),
        np.array([cast(float, body.inertia_kg_m2) for body in carried]),
        centres,
        headings,
        times[inside] - t[0],
        poses[inside],
        table.drag_speed_m_s,
        table.drag == "viscous",
    )


def vehicle_of(bed: Testbed) -> tuple[str, Module]:
    """The device of thrusters and the module that it pushes; `InputError` where its flight is not free and planar."""
    devices = bed.devices_of(Thrusters)
    if len(devices) != 1:
        problem = f"{len(devices)} devices of thrusters"
        raise InputError(problem, key="devices", expected="one, which pushes the vehicle", file=bed.name)
    ((name, thrusters),) = devices.items()
    module = thrusters.pushed(bed)
    where = f"modules.{module.name}"
    if module.dimension != "planar":
        raise InputError(key=f"{where}.dimension", value=module.dimension, expected="planar", file=bed.name)
    if any(body.flexible for body in module.bodies):
        raise InputError("it has a flexible link", key=where, expected="rigid bodies", file=bed.name)
    if any(module.name in (contact.first.module, contact.second.module) for contact in bed.contacts):
        raise InputError("it has contacts", key=where, expected="a vehicle that flies free", file=bed.name)
    if thrusters.simulated.ideal:
        raise InputError(key=f"devices.{name}.simulated.ideal", value=True, expected="valves", file=bed.name)
    return name, module


def _entries(log: Log, topic: str, entry: str) -> Array:
    """All values of an entry of a topic, a column each."""
    channels = log.channels.topic(topic)
    return log.columns([channels.start + i for i, (name, _) in enumerate(channels.values) if name == entry])


def _mean_openings(thrusters: Thrusters, t: Array, opening: Array, period_s: float) -> tuple[Array, Array]:
    """Mean opening of each valve in each tick by the response in the file, and its derivative by the delay."""
    valve = thrusters.valve
    shift = min(_SHIFT_S, valve.delay_s)
    around = [valve.model_copy(update={"delay_s": valve.delay_s + change}) for change in (-shift, 0.0, shift)]
    sooner, means, later = (_responses(valve, t, opening, period_s) for valve in around)
    return means, (later - sooner) / (2 * shift) if shift else np.zeros_like(means)


def _responses(valve: Valve, t: Array, opening: Array, period_s: float) -> Array:
    changes = remembered_changes(valve, period_s, throttled=True)
    bank, means = ValveBank(valve, opening.shape[1], changes), []
    for at, commanded in zip(t.tolist(), np.ascontiguousarray(opening), strict=True):
        bank.command(at, commanded)
        means.append(bank.mean_opening(at, at + period_s))
    return np.array(means)


def _carried(log: Log, module: Module, rows: slice) -> tuple[Array, Array]:
    """Mass centres and headings of the carried bodies in base axes, by the estimated joint angles."""
    tree = Tree(module)
    bodies = [mass for mass in tree.bodies if mass.name != module.root.name]
    q = _entries(log, "/state", "q")[rows, log.bed.known.q[module.name]].T.copy()
    if not bodies:
        return np.zeros((q.shape[1], 0, 2)), np.zeros((q.shape[1], 0))
    q[:3] = 0.0
    window = 2 * round(_SMOOTHED_S / 2 / log.bed.loop.period_s) + 1
    if window > 3:
        q[3:] = savgol_filter(q[3:], min(window, q.shape[1]), 2, axis=1)
    centres = ca.horzcat(*(mass.p_OC[:2] for mass in bodies))
    axes = ca.horzcat(*(mass.frame.R_WB[:2, 0] for mass in bodies))
    pose = ca.Function("carried", [tree.q], [ca.vec(centres), ca.vec(axes)]).map(q.shape[1])
    positions, directions = (np.array(part).T.reshape(-1, len(bodies), 2) for part in pose(q))
    return positions, np.unwrap(np.arctan2(directions[..., 1], directions[..., 0]), axis=0)


def _poses(log: Log, module: Module) -> tuple[Array, Array]:
    """Each new pose of the base, with its time of exposure."""
    for name, device in log.bed.sensors.items():
        if not isinstance(device, Vision | Camera):
            continue
        target = device.target(log.bed)
        if target.is_root and target.module.name == module.name:
            number = _entries(log, "/sample", f"{name}.number")[:, 0]
            status = _entries(log, "/sample", f"{name}.status")[:, 0]
            fresh = (np.diff(number, prepend=0.0) > 0) & (status == Status.OK)
            pose = _entries(log, "/sample", f"{name}.values")[fresh, :3]
            return _entries(log, "/sample", f"{name}.t")[fresh, 0], pose
    raise InputError("nothing sees the base", key="devices", expected="a vision sensor or a camera", file=log.bed.name)
