"""Actuators that are wrong from the start: how fast the robot becomes after the guard has noticed it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.loader import load
from granite.config.records import Array
from granite.config.testbed import Testbed as Bed
from granite.logs.log import Log
from granite.rt.checks.preflight_checks import CheckResult
from granite.rt.checks.wiggle import wiggle
from granite.rt.devices import build_devices
from granite.rt.loop.clock import VirtualClock
from granite.rt.run_in_memory import simulate_in_memory

#: controlled presets with limits of rates, one of each kind
PRESETS = (
    "free-flyer",
    "two-arm-free-flyer",
    "spot",
    "spot/arm",
    "atmos",
    "astrobee",
    "stanford-free-flyer",
    "stanford-free-flyer/yaw-wheel",
    "flexible-arm",
    "fixed-dual-arm/pick-and-place",
    "two-arm-catch",
)
#: in whose runs wrong actuators are braked: these have contacts that change, or objects in their hands
BRAKED = (
    *PRESETS, "leap", "fixed-dual-arm/carry", "spatial-dual-arm/carry", "two-arm-carry", "two-flyers",
    "two-flyers/beam", "three-flyers",
)  # fmt: skip
#: torque of a wrong motor as a multiple of its command
FACTORS = (-1.0, -3.0, 0.05, 5.0, 20.0)
#: greatest rate after the notice, as a multiple of its limit
MOST = 1.5


class WrongActuators(NamedTuple):
    """A fault from the start: its kind, which units have it, and its timed events."""

    what: str
    units: str
    events: tuple[str, ...]


class FastestRate(NamedTuple):
    """The end of a run with a wrong actuator."""

    ended: str
    #: true rate from the notice to the end, as a multiple of its limit, and that before the notice
    after: float
    before: float
    #: from the notice to the end [s]
    lasted_s: float


def wrong_motors(bed: Bed) -> Iterator[WrongActuators]:
    """Each motor with a wrong sign or scale, all of them with a wrong sign, and neighbours exchanged."""
    for device, motors in bed.devices_of(Motors).items():
        joints = [motor.joint for motor in motors.units]
        for factor in FACTORS:
            of_each = [_fault(device, joint, "torque_factor", factor) for joint in joints]
            for joint, event in zip(joints, of_each, strict=True):
                yield WrongActuators(f"motor x {factor:g}", joint, (event,))
            if factor == -1.0:
                yield WrongActuators("all motors x -1", "all", tuple(of_each))
        for first, second in pairwise(joints):
            event = _fault(device, first, "exchanged", other=second)
            yield WrongActuators("motors exchanged", f"{first} and {second}", (event,))


def wrong_thrusters(bed: Bed) -> Iterator[WrongActuators]:
    """Thrusters exchanged with those that push the other way: one pair, and all of them."""
    for device, thrusters in bed.devices_of(Thrusters).items():
        units, events = list(thrusters.units), []
        while units:
            unit = units.pop(0)
            across = [other for other in units if np.dot(unit.direction, other.direction) < -0.99]
            if across:
                near = min(across, key=lambda other: np.linalg.norm(np.subtract(unit.position_m, other.position_m)))
                units.remove(near)
                events.append(_fault(device, unit.name, "exchanged", other=near.name))
        yield WrongActuators("two thrusters exchanged", device, tuple(events[:1]))
        yield WrongActuators("all thrusters the other way", device, tuple(events))


def fastest_rate(name: str, wrong: WrongActuators, *changes: str) -> FastestRate:
    """Run a preset with wrong actuators in virtual time."""
    log = simulate_in_memory(load(name, [f"simulation.events=[{', '.join(wrong.events)}]", *changes]))
    rates = relative_rates(log)
    noticed = np.flatnonzero(log["/verdict"].reason >= 10)
    first = int(noticed[0]) if len(noticed) else len(rates) - 1
    return FastestRate(
        log.summary["ended"],
        float(rates[first:].max()) if len(noticed) else float(rates.max()),
        float(rates[: first + 1].max()),
        (len(rates) - 1 - first) * log.bed.loop.period_s,
    )


class WiggledRobot(NamedTuple):
    """The wiggle of a simulated robot."""

    findings: list[CheckResult]
    #: greatest true rate as a multiple of its limit
    rate: float
    #: how far a base moved at most [m]
    way_m: float
    lasted_s: float
    #: every actuator confirmed its stop
    is_stopped: bool

    @property
    def failed(self) -> list[str]:
        """What it found."""
        return [finding.text for finding in self.findings if not finding.passed]


def wiggled_robot(name: str, wrong: WrongActuators | None = None, *changes: str) -> WiggledRobot:
    """Wiggle a simulated preset, whose actuators may be wrong."""
    events = [f"simulation.events=[{', '.join(wrong.events)}]"] if wrong else []
    bed = load(name, [*events, *changes])
    devices, lab = build_devices(bed)
    assert lab is not None

    class Watching(VirtualClock):
        """Notes the true state at every tick."""

        states: ClassVar[list[tuple[Array, Array]]] = []

        def wait_until(self, deadline: float) -> float:
            self.states.append((lab.plant.q.copy(), lab.plant.u.copy()))
            return super().wait_until(deadline)

    clock, stop = Watching(), devices.stop
    stops: list[dict[str, str]] = []

    def noted_stop(t: float, paced: bool = False) -> dict[str, str]:
        stops.append(stop(t, paced))
        return stops[-1]

    devices.stop = noted_stop  # type: ignore[method-assign]
    clock.states.clear()
    findings = wiggle(bed, devices, clock)
    q, u = (np.array(part) for part in zip(*clock.states, strict=True))
    roots = [bed.layout.root_q(thrusters.pushed(bed)) for thrusters in bed.devices_of(Thrusters).values()]
    way = max((float(np.hypot(*(q[:, root] - q[0, root]).T[:2]).max()) for root in roots), default=0.0)
    return WiggledRobot(findings, float(_relative(bed, u).max()), way, clock.now(), stops == [{}])


def relative_rates(log: Log) -> Array:
    """The greatest true rate in each tick and at the end, of robots and objects, as a multiple of its limit."""
    bed = log.bed
    rates = log.rows[:, log.channels.columns("/truth", "u")]
    final = [log.summary["final_rate"][velocity.name]["value"] for velocity in bed.velocities]
    return _relative(bed, np.vstack([rates, final]))


def _relative(bed: Bed, rates: Array) -> Array:
    rates, safety = np.abs(rates), bed.safety
    names, ratios = [velocity.name for velocity in bed.velocities], np.zeros(len(rates))
    for joint in safety.joints:
        ratios = np.maximum(ratios, rates[:, names.index(joint.joint)] / joint.rate_rad_s)
    for module in bed.modules:
        if module.base == "floating" and module.name in bed.known.q:
            root = rates[:, bed.layout.root_u(module)]
            if safety.base_speed_m_s:
                ratios = np.maximum(ratios, np.hypot(root[:, 0], root[:, 1]) / safety.base_speed_m_s)
            if safety.base_rate_rad_s:
                ratios = np.maximum(ratios, root[:, 2] / safety.base_rate_rad_s)
    return ratios


def _fault(device: str, unit: str, what: str, value: float | None = None, other: str | None = None) -> str:
    more = (f", value={value}" if value is not None else "") + (f", other='{other}'" if other else "")
    return f"{{kind='fault', at_s=0, device='{device}', unit='{unit}', what='{what}'{more}}}"
