"""The robustness matrix: a plant that differs from the controller's model, and how the move of the free-flyer ends.

`python -m tests.validation.robustness` flies every case with ten seeds, on which no gain was tuned, and prints the rows
of `docs/measurements/robustness.csv`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.support.flights import Flight, fly
from tests.support.measurements import as_csv

_BASE = "simulation.plant.modules.vehicle.bodies.base"
_THRUSTERS = "simulation.plant.devices.thrusters"
_WAVES = tuple(f"{{length_m={length}, slope_g=3e-4}}" for length in (0.6, 1.5))
#: largest error in the last 5 s
MOST_M, MOST_RAD = 3e-3, 5e-3
#: reasons that may end a run instead
NAMES = (
    "motion_unexplained",
    "model_doubted",
    "motor_gain",
    "sensor_biased",
    "sensor_outliers",
    "sensor_stale",
    "tracking_error",
)
#: flown for the page
SEEDS = range(5101, 5111)


class Condition(NamedTuple):
    """A difference of the plant."""

    name: str
    changes: tuple[str, ...]


def _thrust(factor: float) -> tuple[str, ...]:
    return tuple(f"{_THRUSTERS}.units.r{i}.thrust_n={factor}" for i in range(1, 9))


def _friction(n_m: float) -> tuple[str, ...]:
    return tuple(f"modules.vehicle.joints.{joint}.friction_n_m={n_m}" for joint in ("shoulder", "elbow"))


def _event(**event: object) -> str:
    return "{" + ", ".join(f"{key}={value!r}" for key, value in event.items()) + "}"


def _events(*events: str) -> tuple[str, ...]:
    return (f"simulation.events=[{', '.join(events)}]",)


def _wrong_time(error: float) -> tuple[str, ...]:
    return _events(_event(kind="fault", at_s=0.0, device="vision", what="time_jump", value=error))


def _outliers() -> tuple[str, ...]:
    each = {"kind": "fault", "device": "vision", "what": "offset", "unit": "base_x_m", "value": 0.2, "duration_s": 0.02}
    return _events(*(_event(at_s=float(t), **each) for t in range(3, 29)))


CONDITIONS = (
    Condition("none", ()),
    *(Condition(f"mass {p:+d} %", (f"{_BASE}.mass_kg={50 * (1 + p / 100)}",)) for p in (-30, -20, 20, 30)),
    *(Condition(f"inertia {p:+d} %", (f"{_BASE}.inertia_kg_m2={1.44 * (1 + p / 100)}",)) for p in (-30, -20, 20, 30)),
    *(Condition(f"thrust {p:+d} %", _thrust(1 + p / 100)) for p in (-30, -20, 20, 30)),
    Condition("centre of mass +2 cm in x", (f"{_BASE}.com_m=[0.045, 0.051]",)),
    Condition("centre of mass +2 cm in y", (f"{_BASE}.com_m=[0.025, 0.071]",)),
    Condition("centre of mass -2 cm in y", (f"{_BASE}.com_m=[0.025, 0.031]",)),
    Condition("valve delay +5 ms", (f"{_THRUSTERS}.valve.delay_s=0.009",)),
    Condition("pose time 20 ms late", _wrong_time(0.02)),
    Condition("pose time 20 ms early", _wrong_time(-0.02)),
    Condition("tilt x10", ("simulation.table.tilt_g=1e-4",)),
    Condition("tilt x50", ("simulation.table.tilt_g=5e-4",)),
    Condition("friction 20 mN m, known to 50 %", (*_friction(0.02), "simulation.joint_friction.spread=0.5")),
    Condition("cogging 20 mN m", ("devices.motors.simulated.cogging_n_m=0.02",)),
    Condition("hose 0.2 N/m", ("simulation.hoses=[{stiffness_n_m=0.2}]",)),
    Condition("waves 3e-4 g", (f"simulation.table.waves=[{', '.join(_WAVES)}]",)),
    Condition("supply -10 % a valve", ("devices.thrusters.simulated.shared_drop=0.1",)),
    Condition("nozzles 3 degrees", ("devices.thrusters.simulated.misalignment_rad=0.052",)),
    Condition(
        "5 kg in the hand",
        _events(_event(kind="payload", at_s=0.0, body="forearm", mass_kg=5.0, position_m=[0.3, 0.0])),
    ),
    Condition("vision outliers, 0.2 m every second", _outliers()),
    Condition("vision gap of 1 s", _events(_event(kind="drop_out", at_s=10.0, device="vision", duration_s=1.0))),
    *(Condition(f"r{i} dead", (f"{_THRUSTERS}.units.r{i}.failed=true",)) for i in range(1, 9)),
    *(Condition(f"r{i} stuck open", (f"{_THRUSTERS}.simulated.stuck_open=['r{i}']",)) for i in range(1, 9)),
)


def arrives(flight: Flight) -> bool:
    """Whether it went on to its target: a doubt holds it where it is."""
    return flight.ended == "completed" and "model_doubted" not in flight.summary["guard"]


def passes(flight: Flight) -> bool:
    """Whether it ends at its target, or is ended or held by the guard's name for what is wrong."""
    if not arrives(flight):
        return flight.ended in (*NAMES, "completed")
    return flight.error_m <= MOST_M and flight.error_rad <= MOST_RAD


def flights(condition: Condition, seeds: Sequence[int] = SEEDS) -> list[Flight]:
    """The move under a condition."""
    return [fly(*condition.changes, f"seed={seed}") for seed in seeds]


def row(condition: Condition, flown: Sequence[Flight]) -> str:
    """The row of the table: largest errors and mean impulse of the seeds, and everything that was reported."""
    arrived = [flight for flight in flown if arrives(flight)]
    errors = [
        f"{max(getattr(flight, error) for flight in arrived) * 1e3:.1f}" if arrived else ""
        for error in ("error_m", "error_rad")
    ]
    reported = Counter(name for flight in flown for name in {*_warnings(flight), flight.ended})
    named = ", ".join(f"{name}{'' if n == len(flown) else f' ({n})'}" for name, n in sorted(reported.items()))
    impulse = sum(flight.impulse_n_s for flight in flown) / len(flown)
    return as_csv([[condition.name, *errors, f"{impulse:.1f}", named]])


def _warnings(flight: Flight) -> set[str]:
    return {name for name in flight.summary["guard"] if name.startswith(("thruster_", "pose_", "model_doubted"))}


if __name__ == "__main__":
    for condition in CONDITIONS:
        flown = flights(condition)
        print(row(condition, flown), "" if all(map(passes, flown)) else "FAILS", flush=True)
