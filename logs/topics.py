"""The topics of a testbed: names and units of every value that is recorded, in the order of the row.

Signals of devices are named by the devices' own `signals`. The order is that of the records: to record one more value
of the tick itself, add it to its record, and its name and unit to the topic of the record in `topics_of`.
"""

from __future__ import annotations

from collections.abc import Mapping

from granite.config.audit import audit_values
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.gauge import Gauge
from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.footprints import collision_pairs
from granite.config.records import STEPS, Operation
from granite.config.testbed import Testbed
from granite.logs.record_form import in_order

#: one number of a record, or an array of them
Entry = Coordinate | tuple[Coordinate, ...]

#: of a wrench on the root body, in its axes
_WRENCH = {
    "planar": (("fx", "N"), ("fy", "N"), ("mz", "N m")),
    "spatial": (("fx", "N"), ("fy", "N"), ("fz", "N"), ("mx", "N m"), ("my", "N m"), ("mz", "N m")),
}
#: unit of the force along a velocity
_FORCE = {"m/s": "N", "rad/s": "N m"}


def topics_of(bed: Testbed) -> dict[str, dict[str, Entry]]:
    """Every topic with its entries, in the order of the row."""
    known = bed.known
    q, u = known.positions, known.velocities
    a = tuple(Coordinate(c.name, f"{c.unit}^2") for c in u)
    deviation = tuple(Coordinate(f"{c.name}_deviation", c.unit.removesuffix("/s")) for c in u)
    force = tuple(
        Coordinate(f"{c.name}_force", "N") if c.unit == "m/s" else Coordinate(f"{c.name}_torque", "N m") for c in u
    )
    floating = [module for module in known.modules if module.base == "floating"]
    prefixes = [f"{module.name}_wrench" if len(floating) > 1 else "wrench" for module in floating]
    wrench_parts = _WRENCH["planar" if bed.planar else "spatial"]
    wrench = tuple(Coordinate(f"{prefix}_{name}", unit) for prefix in prefixes for name, unit in wrench_parts)
    signals = [signal for name, device in bed.sensors.items() for signal in _signals(bed, name, device)]
    thrust = tuple(Coordinate(f"{name}_thrust", "N") for name in bed.thruster_names)
    setpoints = {name: _signals(bed, name, device) for name, device in bed.actuators.items()}
    command: dict[str, Entry] = {**{f"setpoint.{name}": values for name, values in setpoints.items()}, "thrust": thrust}
    wheel = bed.controller.allocation.yaw_wheel if bed.controller else None
    if wheel:
        command["unloading"] = (Coordinate(f"{wheel.joint}_unloading", "1"),)
    t = Coordinate("t", "s")
    recorded = bed.controller.law.recorded(bed) if bed.controller else ()
    gauges = tuple(
        Coordinate(f"{signal.name}_tared", signal.unit)
        for name, device in (bed.devices_of(Gauge) if bed.controller else {}).items()
        for signal in _signals(bed, name, device)
    )
    holding = tuple(Coordinate(f"{name}_holding", "1") for name in bed.grips) if bed.controller else ()
    is_measured = bed.controller and bed.devices_of(Pressure)
    supply = tuple(Coordinate(f"{name}_supply", "1") for name in bed.devices_of(Thrusters)) if is_measured else ()
    held = bed.controller.payload if bed.controller else None
    payload = held.recorded(bed) if held else ()
    task = bed.behaviour.recorded(bed) if bed.controller else ()
    gains = bed.controller.law.live_gains(bed) if bed.controller else ()
    topics: dict[str, dict[str, Entry]] = {
        "/sample": {
            "t": t,
            **_frames(bed, bed.sensors),
            **{f"applied.{entry}": values for entry, values in _frames(bed, bed.actuators, "applied_").items()},
        },
        "/state": {
            "t": t,
            "ready": Coordinate("ready", "1"),
            "q": q,
            "u": u,
            "deviation": deviation,
            "ages": tuple(Coordinate(f"{name}_age", "s") for name in bed.sensors),
            "innovation": tuple(Coordinate(f"{signal.name}_innovation", "1") for signal in signals),
            "correction": tuple(Coordinate(f"{c.name}_correction", c.unit) for c in u),
            "disturbance": tuple(Coordinate(f"{c.name}_disturbance", _FORCE.get(c.unit, c.unit)) for c in u),
            "faults": tuple(Coordinate(f"{name}_fault", "1") for name in bed.thruster_names),
            **({"gauges": gauges} if gauges else {}),
            **({"holding": holding} if holding else {}),
            "rate_deviation": tuple(Coordinate(f"{c.name}_rate_deviation", c.unit) for c in u),
            "bias": tuple(Coordinate(f"{signal.name}_bias", signal.unit) for signal in signals),
            **({"supply": supply} if supply else {}),
            **({"payload": payload} if payload else {}),
        },
        "/reference": {
            "t": t,
            "q": q,
            "u": u,
            "a": a,
            "done": Coordinate("done", "1"),
            **{f"direct.{name}": setpoints[name] for name in bed.direct_actuators},
            **({"task": task} if task else {}),
        },
        "/demand": {
            "t": t,
            "acceleration": a,
            "force": force,
            "wrench": wrench,
            **({"distribution": recorded} if recorded else {}),
        },
        "/command": {"t": t, **command},
        "/verdict": {
            "t": t,
            "command_t": Coordinate("command_t", "s"),
            **command,
            "reason": Coordinate("reason", "1"),
            "subject": Coordinate("subject", "1"),
            "value": Coordinate("value", "1"),
            "limit": Coordinate("limit", "1"),
            "stop": Coordinate("stop", "1"),
        },
        "/applied": _frames(bed, bed.actuators),
        "/truth": {
            "t": t,
            "q": bed.positions,
            "u": bed.velocities,
            "thrust": thrust,
            "tank": tuple(Coordinate(f"{name}_tank", "N s") for name in bed.devices_of(Thrusters)),
            "closed": tuple(Coordinate(f"{contact.name}_closed", "1") for contact in bed.contacts),
            "wrench": tuple(
                Coordinate(f"{contact.name}_{name}", unit) for contact in bed.contacts for name, unit in wrench_parts
            ),
            "squeeze": tuple(Coordinate(f"{name}_squeeze", "N") for name in bed.squeezed),
            "caught": tuple(Coordinate(f"{contact.name}_caught", "N s") for contact in bed.contacts),
            "lost": (Coordinate("energy_lost", "J"),) if bed.contacts else (),
            "audit": audit_values(bed),
            **({"struck": struck} if (struck := _struck(bed)) else {}),
        },
        "/timing": {
            "tick": Coordinate("tick", "1"),
            "scheduled": Coordinate("scheduled", "s"),
            "delay": Coordinate("delay", "s"),
            "steps": tuple(Coordinate(step, "s") for step in STEPS),
            "lost": Coordinate("lost", "1"),
            "overruns": Coordinate("overruns", "1"),
        },
        "/operation": {
            "t": t,
            **{name: Coordinate(name, "1") for name in Operation._fields[1:-2]},
            **({"goal": goal_values(bed)} if bed.behaviour_goals else {}),
            "gains": tuple(Coordinate(f"{gain.name}_gain", "1") for gain in gains),
        },
    }
    return {name: {entry: entries[entry] for entry in in_order(name, entries)} for name, entries in topics.items()}


def _struck(bed: Testbed) -> tuple[Coordinate, ...]:
    """Of each pair that can collide: impulse so far, and speed at the last touch."""
    names = [pair.name.replace(" ", "_") for pair in collision_pairs(bed)]
    return tuple(Coordinate(f"{name}_struck", unit) for unit in ("N s", "m/s") for name in names)


def goal_values(bed: Testbed) -> tuple[Coordinate, ...]:
    """What `/operation` has of a goal."""
    numbers = [
        Coordinate(f"goal_{c.name}", f"{c.unit}{rate}") for rate in ("", "/s", "/s^2") for c in bed.behaviour_goals
    ]
    return (Coordinate("goal_limit", "1"), Coordinate("goal_part", "1"), *numbers)


def _signals(bed: Testbed, name: str, device: Device) -> tuple[Coordinate, ...]:
    """The values of a device, each with the device's name before it."""
    return tuple(Coordinate(f"{name}_{signal.name}", signal.unit) for signal in device.signals(bed))


def _frames(bed: Testbed, devices: Mapping[str, Device], prefix: str = "") -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for name, device in devices.items():
        entries[f"{name}.t"] = Coordinate(f"{prefix}{name}_t", "s")
        entries[f"{name}.number"] = Coordinate(f"{prefix}{name}_number", "1")
        entries[f"{name}.status"] = Coordinate(f"{prefix}{name}_status", "1")
        entries[f"{name}.values"] = tuple(Coordinate(f"{prefix}{c.name}", c.unit) for c in _signals(bed, name, device))
    return entries
