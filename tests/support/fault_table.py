"""The table of faults: what is injected, by which reason it must be noticed, and within which time.

`docs/measurements/faults.csv` has the same rows for people. Every fault happens to the free-flyer while arm and base
move to and fro.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Verdict
from granite.config.testbed import Testbed as Bed
from granite.config.verdict_subjects import sentence, subjects
from granite.logs.channels import Channels
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

ANGLES = ("shoulder_angle_rad", "elbow_angle_rad")
RATES = ("shoulder_rate_rad_s", "elbow_rate_rad_s")
PLACES, HEADING = ("base_x_m", "base_y_m"), ("base_heading_rad",)
JOINTS = ("shoulder", "elbow")
THRUSTERS = tuple(f"r{i}" for i in range(1, 9))
BOTH = (1.0, -1.0)

FORTH = {"shoulder_rad": -0.6, "elbow_rad": 1.9, "base_x_m": 1.12, "base_y_m": 0.92, "base_heading_rad": 0.2}
BACK = {"shoulder_rad": 0.7, "elbow_rad": -0.6, "base_x_m": 1.0, "base_y_m": 0.8, "base_heading_rad": 0.0}
MOVE = [{"duration_s": 2.5, "target": target} for target in (FORTH, BACK) * 3]


class Row(NamedTuple):
    """A fault of the table."""

    fault: str  #: as `docs/measurements/faults.csv` calls it
    device: str
    what: str
    noticed_by: tuple[Reason, ...]  #: any of these
    within_s: float
    units: tuple[str | None, ...] = (None,)
    values: tuple[float | None, ...] = (None,)
    duration_s: float | None = None

    @property
    def ends(self) -> bool:
        """Whether the run may end."""
        return self.noticed_by[0].stops

    @property
    def response(self) -> str:
        """As the page says it."""
        if DOUBTED in self.noticed_by:
            return "run ends, is held, or goes on without the thruster"
        return "run ends" if self.ends else "run goes on"


def _signed(size: float) -> tuple[float, ...]:
    return tuple(size * sign for sign in BOTH)


FROZEN, OUTLIERS, BIASED = Reason.SENSOR_FROZEN, Reason.SENSOR_OUTLIERS, Reason.SENSOR_BIASED
UNEXPLAINED, STALE, COUNTER = Reason.MOTION_UNEXPLAINED, Reason.SENSOR_STALE, Reason.SENSOR_COUNTER
REFUSED, DOUBTED = Reason.MEASUREMENT_REFUSED, Reason.MODEL_DOUBTED
#: a doubted model is a warning for a while, then a hold [s]
ANSWERED_S = 3.0
ANY_POSE = (FROZEN, OUTLIERS, UNEXPLAINED)
ANY_JOINT = (UNEXPLAINED, BIASED, OUTLIERS)
ANY_FORCE = (UNEXPLAINED, DOUBTED)
ANY_MOTOR = (Reason.MOTOR_GAIN, OUTLIERS)

TABLE = (
    Row("joint angle stuck", "joint_sensors", "frozen", (FROZEN, OUTLIERS), 0.1, (None, *ANGLES)),
    Row("joint rate stuck", "joint_sensors", "frozen", (FROZEN, OUTLIERS, UNEXPLAINED), 0.2, RATES),
    Row("pose or heading stuck", "vision", "frozen", ANY_POSE, 0.6, (None, *PLACES, *HEADING)),
    Row("joint angle drifts by 0.02 rad/s", "joint_sensors", "drift", (BIASED, OUTLIERS), 0.5, ANGLES, _signed(0.02)),
    Row("joint rate drifts by 0.05 rad/s a second", "joint_sensors", "drift", (BIASED,), 0.5, RATES, _signed(0.05)),
    Row("pose drifts by 20 mm/s", "vision", "drift", (UNEXPLAINED, OUTLIERS), 1.0, PLACES, _signed(0.02)),
    Row("heading drifts by 0.05 rad/s", "vision", "drift", (UNEXPLAINED, OUTLIERS), 1.0, HEADING, _signed(0.05)),
    Row("joint angle off by 0.05 rad", "joint_sensors", "offset", (OUTLIERS,), 0.1, ANGLES, _signed(0.05)),
    Row("joint rate off by 0.05 rad/s", "joint_sensors", "offset", ANY_JOINT, 0.6, RATES, _signed(0.05)),
    Row("pose off by 0.1 m", "vision", "offset", (OUTLIERS,), 0.4, PLACES, _signed(0.1)),
    Row("heading off by 0.5 rad", "vision", "offset", (OUTLIERS,), 0.4, HEADING, _signed(0.5)),
    Row("poses off by 0.1 m for 35 ms", "vision", "offset", (REFUSED,), 0.1, PLACES, _signed(0.1), 0.035),
    Row("poses off by 0.5 rad for 35 ms", "vision", "offset", (REFUSED,), 0.1, HEADING, _signed(0.5), 0.035),
    Row("joint sensors silent", "joint_sensors", "silent", (STALE,), 0.1),
    Row("camera silent", "vision", "silent", (STALE,), 0.6),
    Row("joint sensors give NaN", "joint_sensors", "not_finite", (Reason.SAMPLE_NOT_FINITE,), 0.01),
    Row("camera gives NaN", "vision", "not_finite", (Reason.SAMPLE_NOT_FINITE,), 0.01),
    Row("joint counter goes back or jumps", "joint_sensors", "counter_jump", (COUNTER,), 0.01, values=(-50.0, 1000.0)),
    Row("camera counter goes back or jumps", "vision", "counter_jump", (COUNTER,), 0.01, values=(-50.0, 1000.0)),
    Row("joint time in the future", "joint_sensors", "time_jump", (Reason.SENSOR_AHEAD,), 0.01, values=(1.0, 100.0)),
    Row("camera time in the future", "vision", "time_jump", (Reason.SENSOR_AHEAD,), 0.01, values=(1.0, 100.0)),
    Row("joint time goes back", "joint_sensors", "time_jump", (Reason.SENSOR_TIME_BACK,), 0.01, values=(-0.03, -0.04)),
    Row("camera time goes back", "vision", "time_jump", (Reason.SENSOR_TIME_BACK,), 0.1, values=(-0.1, -0.3)),
    Row("motors silent", "motors", "silent", (Reason.ACTUATOR_FAULT,), 0.01),
    Row("motors refuse", "motors", "refuses", (Reason.ACTUATOR_FAULT,), 0.01),
    Row("thrusters silent", "thrusters", "silent", (Reason.ACTUATOR_FAULT,), 0.01),
    Row("thrusters refuse", "thrusters", "refuses", (Reason.ACTUATOR_FAULT,), 0.01),
    Row("motors report NaN", "motors", "not_finite", (Reason.APPLIED_NOT_FINITE,), 0.01),
    Row("thrusters report NaN", "thrusters", "not_finite", (Reason.APPLIED_NOT_FINITE,), 0.01),
    Row(
        "motors report 1e6 N m", "motors", "offset", (Reason.APPLIED_OUT_OF_RANGE,), 0.01,
        tuple(f"{joint}_torque_n_m" for joint in JOINTS), _signed(1e6),
    ),
    Row(
        "thrusters report an opening of 2", "thrusters", "offset", (Reason.APPLIED_OUT_OF_RANGE,), 0.01,
        tuple(f"{unit}_opening" for unit in THRUSTERS), (2.0,),
    ),
    Row("motor the wrong way", "motors", "torque_factor", ANY_MOTOR, 0.2, JOINTS, (-1.0,)),
    Row("motor dead", "motors", "torque_factor", ANY_MOTOR, 0.5, JOINTS, (0.0,)),
    Row("motor at half torque", "motors", "torque_factor", ANY_MOTOR, 2.0, JOINTS, (0.5,)),
    Row("thruster stuck open", "thrusters", "stuck_open", (*ANY_FORCE, Reason.THRUSTER_STUCK_OPEN), 8.0, THRUSTERS),
    Row("thruster dead", "thrusters", "dead", (*ANY_FORCE, Reason.THRUSTER_DEAD), 8.0, THRUSTERS),
)  # fmt: skip


class Case(NamedTuple):
    """A fault of one unit at one time under one seed."""

    row: Row
    unit: str | None
    value: float | None
    at_s: float
    seed: int

    def __str__(self) -> str:
        parts = (self.row.fault, self.unit, self.value, f"{self.at_s:g} s", self.seed)
        return " ".join(str(part) for part in parts if part is not None)


def cases(repetitions: int) -> Iterator[Case]:
    """Every unit and value of every row, so many times, each at its own time under its own seed."""
    number = count()
    for repetition in range(repetitions):
        for row in TABLE:
            for unit in row.units:
                for value in row.values:
                    # Spread over five seconds, that is two periods of the move, on the ticks of the loop.
                    at = 2.5 + 0.005 * (next(number) * 617 % 1000)
                    yield Case(row, unit, value, at, repetition + 1)


class FaultOutcome(NamedTuple):
    """How a run with a fault went."""

    reason: Reason  #: the first that is declared, or that ends a run
    after_s: float  #: the fault
    text: str
    completed: bool


def inject(case: Case) -> FaultOutcome:
    """Run the free-flyer with the fault."""
    row = case.row
    event: dict[str, Any] = {"kind": "fault", "at_s": case.at_s, "device": row.device, "what": row.what}
    given = {"unit": case.unit, "value": case.value, "duration_s": row.duration_s}
    event |= {key: value for key, value in given.items() if value is not None}
    bed = load(
        "free-flyer",
        {
            "behaviour.waypoints": MOVE,
            "behaviour.check_moves": False,  # faster than the thrusters allow, so that all of them work
            "simulation.events": [event],
            "seed": case.seed,
            "loop.duration_s": case.at_s + row.within_s + (ANSWERED_S if DOUBTED in row.noticed_by else 0.5),
        },
    )
    run = Run(bed)
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    assert outcome.fault is None
    verdict = _notice(row, bed, memory, case.at_s) or outcome.verdict or _last(bed, memory)
    text = sentence(subjects(bed), verdict)
    return FaultOutcome(Reason(verdict.reason), verdict.t - case.at_s, text, outcome.reason is Reason.PASSED)


def _notice(row: Row, bed: Bed, memory: Memory, at: float) -> Verdict | None:
    """The first verdict after the fault with a reason that is declared, or that ends a run: a doubt is a warning."""
    channels = Channels.of(bed)
    reasons, t = (memory.rows[:, channels.column("/verdict", key)] for key in ("reason", "t_s"))
    for i in np.flatnonzero((reasons > 0) & (t >= at)):
        reason = Reason(int(reasons[i]))
        if reason in row.noticed_by or (reason.stops and reason is not DOUBTED):
            return channels.read(memory.rows[i]).verdict
    return None


def _last(bed: Bed, memory: Memory) -> Verdict:
    return Channels.of(bed).read(memory.rows[-1]).verdict
