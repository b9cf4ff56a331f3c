"""The summary of a run, in its log, in `granite sim --json` and in Python: names, units and types.

The recorder makes it, or a run in memory. A number that is not finite is null.
"""

from __future__ import annotations

from typing import NotRequired  # Pydantic reads these before Python 3.12

from typing_extensions import TypedDict


class TrackingError(TypedDict):
    """Of a controlled coordinate, against the truth or the estimate."""

    unit: str
    max: float
    rms: float
    max_in_last_5_s: float


class LargestSize(TypedDict):
    """The largest size of something."""

    unit: str
    max: float


class AppliedSize(LargestSize):
    """The largest size of an actuator's signal, and its limit."""

    limit: float


class Squeeze(LargestSize):
    """Internal force of a module between contacts: largest, and root of the mean square."""

    rms: float


class EnergyUse(TypedDict):
    """Work of all motors, in either direction, and the largest elastic energy of flexible links."""

    motor_work_j: NotRequired[float]
    largest_elastic_j: NotRequired[float]


class FinalValue(TypedDict):
    """A coordinate or velocity at the end."""

    value: float
    unit: str


class Propellant(TypedDict):
    """Impulse and propellant of the thrusters."""

    impulse_n_s: float
    mass_g: float
    pulses: int
    by_thruster_n_s: dict[str, float]
    by_state_n_s: NotRequired[dict[str, float]]  #: of a state machine


class StepTimes(TypedDict):
    """Durations of a step of the tick; percentiles are accurate to 12 %."""

    median_us: float
    p99_us: float
    max_us: float
    histogram: dict[str, int]  #: counts by the upper edge of their bin [us]


class ContactLoadsSummary(TypedDict):
    """Largest loads of a contact."""

    force: LargestSize
    moment: LargestSize
    closed_s: float


class LinkBending(TypedDict):
    """Deflection of a flexible link relative to its length, and the time beyond the limit."""

    max: float
    limit: float
    beyond_s: float


class ContactChange(TypedDict):
    """Change of a contact: it opened, closed, slips, sticks, was struck, or is out of reach."""

    t_s: float
    contact: str
    what: str
    impulse: float
    energy_lost_j: float | None


class AuditCheck(TypedDict):
    """One check of an audited run."""

    unit: str
    largest: float
    limit: float
    held: bool


class AuditSummary(TypedDict):
    """Checks of energy, momentum and contacts against their limits."""

    held: bool
    checks: dict[str, AuditCheck]


class RedundantContacts(TypedDict):
    """Contacts that constrain some directions more than once: forces not unique, those of least norm were used."""

    contacts: list[str]
    directions: list[str]
    condition: float | None


class VisitedState(TypedDict):
    """A state of a state machine, and when it was entered."""

    t_s: float
    state: str


class CatchMetrics(TypedDict):
    """A contact that was closed by command: how far apart and how fast its sides were."""

    t_s: float
    contact: str
    miss_m: float
    speed_m_s: float


class FailedBehaviour(TypedDict):
    """The last state of a state machine in which it has failed: nothing is in hand, or it gave up."""

    t_s: float
    state: str
    doing: str
    after: str | None


class CollisionMetrics(TypedDict):
    """A collision of the simulated plant: closing speed at the touch, and normal impulse until the parting."""

    t_s: float
    pair: str
    speed_m_s: float
    impulse_n_s: float


class LeastDistance(TypedDict):
    """Of two bodies, or a body and a zone: the least distance of the discs that cover them, negative inside."""

    least_m: float
    t_s: float


class WheelUse(TypedDict):
    """Rate of a momentum wheel: the largest, and that at the end."""

    unit: str
    max: float
    final: float


class Metrics(TypedDict):
    """Metrics of a run, from its rows alone; of a run without rows only the ticks."""

    ticks: int
    duration_s: NotRequired[float]
    measured_against: NotRequired[str]
    tracking_error: NotRequired[dict[str, TrackingError]]
    estimation_error: NotRequired[dict[str, LargestSize]]
    applied: NotRequired[dict[str, AppliedSize]]
    propellant: NotRequired[Propellant]
    contacts: NotRequired[dict[str, ContactLoadsSummary]]
    squeeze: NotRequired[dict[str, Squeeze]]
    energy: NotRequired[EnergyUse]
    switching: NotRequired[list[ContactChange]]  #: the first ones
    switching_not_listed: NotRequired[int]  #: number of the others
    states: NotRequired[list[VisitedState]]  #: of a state machine
    catches: NotRequired[list[CatchMetrics]]
    failed: NotRequired[FailedBehaviour]
    wheels: NotRequired[dict[str, WheelUse]]
    collisions: NotRequired[list[CollisionMetrics]]  #: the first ones
    collisions_allowed: NotRequired[bool]  #: they are part of the experiment
    clearance: NotRequired[dict[str, LeastDistance]]
    bending: NotRequired[dict[str, LinkBending]]
    audit: NotRequired[AuditSummary]
    guard: NotRequired[dict[str, int]]
    #: first time of each cause of a mode, and of each fault that was reported from outside the tick
    noticed_at_s: NotRequired[dict[str, float]]
    overruns: NotRequired[int]
    rows_lost: NotRequired[int]
    timing: NotRequired[dict[str, StepTimes]]
    final_t_s: NotRequired[float]  #: of the final state: the last row, or of a plant the end of the run
    final_state: NotRequired[dict[str, FinalValue]]
    final_rate: NotRequired[dict[str, FinalValue]]


class Ending(TypedDict):
    """How a run ended, and its settings."""

    ended: str
    text: str
    #: where a fault led to others: each with the time of its notice, in their order; the first is the cause
    chain: NotRequired[list[str]]
    ended_at_s: NotRequired[float]
    fault: NotRequired[str]
    fault_in: NotRequired[str]  #: a user's own part that raised it, with file and line
    traceback: NotRequired[str]
    not_stopped: NotRequired[dict[str, str]]  #: actuators that did not confirm their stop, each with the reason
    not_closed: NotRequired[dict[str, str]]  #: devices that could not be closed, each with the reason
    bed: NotRequired[str]
    seed: NotRequired[int]
    mode: NotRequired[str]
    model: NotRequired[str]
    log: NotRequired[str]
    redundant: NotRequired[list[RedundantContacts]]
    wall_s: NotRequired[float]
    real_time_factor: NotRequired[float]
    asked_of_the_system: NotRequired[dict[str, str]]
    #: of each link to real devices, its counts and its clock over `t_s`
    links: NotRequired[dict[str, dict[str, list[float]]]]
    final_t_s: NotRequired[float]
    final_state: NotRequired[dict[str, FinalValue]]
    final_rate: NotRequired[dict[str, FinalValue]]


class RunSummary(Metrics, Ending):
    """Metrics, ending, and the state of the log."""

    log_failure: NotRequired[str | None]
