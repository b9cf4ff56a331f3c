"""Pick and place: fixed arms reach for an object that floats, grip it, carry it to its goal, put it down and retreat.

Each hand follows its grip on the object as it is estimated, at an offset that a fifth-order polynomial brings to zero:
first to a place before the grip, then along the outward axis of the grip onto it. All hands close in the same tick, so
that none pushes the object. The object then follows a polynomial to the goal and is held until it is there. Before the
hands open, the joints of the arms hold still by their own sensors, because noisy poses would move the object. It is
then seen without the forces of the squeeze, whose errors bias the estimate: where it is beside the goal, it is placed
again, half of that to the other side. A grip out of reach, a hand that misses, a grip that is lost or slips, and a
time-out end in `halt`: hands open, arms at rest.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, Name, Positive
from granite.config.behaviour import StateNote
from granite.config.errors import InputError
from granite.config.records import Array, State
from granite.controllers.behaviours.held_grips import HeldGrips
from granite.controllers.behaviours.state_machine import Action, Instant, StateMachine
from granite.controllers.behaviours.target_kinematics import TargetKinematics
from granite.controllers.behaviours.task_plan import TaskPlan
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic
from granite.mrds.tolerances import SAME_TIME_S

#: weights of the tasks
_OBJECT, _JOINT, _HAND = 1.0, 1.0, 100.0

#: the squeeze begins with the carrying: in so few ticks arms without an object are still slow
_LOOSE_TICKS = 2

_LOST = {"stop": "a grip slips", "halt": "a grip is lost"}
_GRIPPED = {"carry": "all hands hold", "halt": "a hand does not hold after grip_s, or a grip is out of reach"}
_FAR = {"halt": "a grip is out of reach"}
STATES = (
    StateNote("reach", "leads each hand to a place before its grip", {"close_in": "after reach_s", **_FAR}),
    StateNote("close_in", "leads the hands onto the grips", {"grip": "after close_in_s", **_FAR}),
    StateNote("grip", "closes the hands when all are near and slow", _GRIPPED, 4.0, "halt"),
    StateNote("carry", "carries the object to the goal", {"place": "after carry_s", **_LOST}),
    StateNote("place", "holds it there", {"settle": "it has been there for settle_s", **_LOST}, 20.0, "stop"),
    StateNote(
        "settle",
        "holds the arms still for still_s",
        {
            "release": "the object is at the goal",
            "place": "it is not",
            "halt": "it is not, after the last of the tries, or a grip is lost",
        },
    ),
    StateNote("release", "opens the hands", {"retreat": "no hand holds"}, 1.0, "halt"),
    StateNote("retreat", "leads the hands away from the grips", {"rest": "after retreat_s"}),
    StateNote("rest", "holds the arms; the behaviour is done", {}),
    StateNote("stop", "abort: brings the object to rest", {"halt": "after stop_s, or a grip is lost"}),
    StateNote("halt", "abort: opens the hands, brings the arms to rest and holds them", {}, fails=True),
)


class PickAndPlace(StateMachine):
    """All controlled arms and one object in a plane."""

    class Options(StateMachine.Options):
        """The grips, the goal, and when."""

        machine: ClassVar[tuple[StateNote, ...]] = STATES
        #: one grip of each arm on the object
        contacts: tuple[Name, ...] = Field(min_length=1)
        #: pose of the object at the end
        goal_m: tuple[float, float]
        goal_rad: Angle  #: heading of the object at the end
        reach_s: Positive = 4.0  #: time to the places before the grips
        close_in_s: Positive = 3.0  #: time from there to the grips
        carry_s: Positive = 10.0  #: time of the carried motion
        settle_s: Positive = 1.0  #: time at the goal in `place` before the arms hold still
        still_s: Positive = 2.0  #: time for which the arms hold still in the state `settle`
        retreat_s: Positive = 2.0  #: time of the retreat
        stop_s: Positive = 1.0  #: time in which the object comes to rest after a slip
        #: from the grip to the place before it, and to that of the retreat
        before_m: Positive = 0.05
        #: the hands close where all are nearer to their grips and slower relative to them, by the estimate
        close_m: Positive = 1.5e-3
        close_m_s: Positive = 5e-3  #: relative speed below which the hands close
        #: how often the object may be placed
        tries: Annotated[int, Field(ge=1)] = 4
        #: the object is at the goal where its errors, filtered with half the time of the state, are smaller: in `place`
        place_m: Positive = 4e-4
        place_rad: Positive = 2e-3  #: the same for its heading
        #: the same in `settle`
        release_m: Positive = 7e-4
        release_rad: Positive = 3e-3  #: the same for its heading
        #: how long a grip may leave its friction cone
        slip_s: Positive = 0.1
        #: how long a hand may take to close
        grip_s: Positive = 0.1
        #: a hand further from its grip, by the estimate, does not hold it, whatever it reports
        lost_m: Positive = 0.01

        @model_validator(mode="before")
        @classmethod
        def _sets_follow_from_the_contacts(cls, content: Any) -> Any:
            """Nothing in hand, then the object in all hands."""
            if not isinstance(content, dict) or not isinstance(content.get("contacts"), list | tuple):
                return content
            return {**content, "contact_sets": ((), tuple(content["contacts"]))}

    def __init__(self, options: Options, model: ControlModel) -> None:
        super().__init__(options, model)
        self._options, self._targets = options, TargetKinematics(model)
        self._held = HeldGrips(model, options.contacts)
        self._goal = np.array([*options.goal_m, options.goal_rad])
        far = self._held.out_of_reach(self._goal)
        if far:
            problem = f"grip '{far.contact}' is then {far.distance:.3g} m from the first joint of its arm"
            expected = f"less than {far.longest:.3g} m"
            raise InputError(problem, key="behaviour.goal_m", value=list(options.goal_m), expected=expected)
        own = model.layout.q[self._held.carried.name]
        self._object = [*range(own.start, own.stop)]
        self._arms = [i for i in range(model.n) if i not in self._object]
        self._hands = [*self._held.hands]
        self._offset: Quintic
        self._path: Quintic
        self._still: Quintic
        #: where the object is placed so that it is at the goal, and how often it was
        self._aim, self._placed = self._goal, 0
        #: its error, filtered
        self._off: Array = np.zeros(3)
        #: since when the hands are closed, the object is at the goal, a grip slips
        self._closed_since: float | None = None
        self._there_since: float | None = None
        self._slips_since: float | None = None
        #: ticks in a row in which the gauges show no contact
        self._loose_ticks = 0

    def restart(self) -> None:
        """Back to the start, for another run."""
        super().restart()
        self._held.restart()

    def observe(self, state: State) -> None:
        """The grips of this tick."""
        self._held.observe(state)

    # Free arms: the hands follow the grips at an offset

    def enter_reach(self, now: Instant) -> None:
        self._plan_offset(now, self._options.reach_s, self._options.before_m)

    def leave_reach(self, now: Instant) -> str | None:
        if self._held.is_out_of_reach():
            return "halt"
        return "close_in" if now.since >= self._options.reach_s else None

    def act_reach(self, now: Instant) -> Action:
        q, u, a, task = self._blank(now)
        grips = self._held.motions
        offsets = (part.reshape(-1, 2) for part in self._offset.at(now.t))
        rows = zip(self._hands, grips.x, grips.v, grips.drift, *offsets, strict=True)
        for hand, x, v, drift, offset, rate, acceleration in rows:
            self.tasks.aim(task, hand, x + offset, v + rate, drift + acceleration, _HAND)
        return Action(q, u, a, task)

    def enter_close_in(self, now: Instant) -> None:
        self._plan_offset(now, self._options.close_in_s, 0.0)

    def leave_close_in(self, now: Instant) -> str | None:
        if self._held.is_out_of_reach():
            return "halt"
        return "grip" if now.since >= self._options.close_in_s else None

    act_close_in = act_grip = act_reach

    def leave_grip(self, now: Instant) -> str | None:
        (x, v), grips = self._hand_motions(now), self._held.motions
        miss, speed = (_longest(mine - there.ravel()) for mine, there in ((x, grips.x), (v, grips.v)))
        if self._closed_since is None and miss < self._options.close_m and speed < self._options.close_m_s:
            self.gripping, self._closed_since = frozenset(self._options.contacts), now.t
        if now.holding >= {*self._options.contacts}:
            return "carry"
        missed = _lasts(self._closed_since, now.t, self._options.grip_s)
        return "halt" if missed or self._held.is_out_of_reach() else None

    # The object in hand

    def enter_carry(self, now: Instant) -> None:
        self._loose_ticks = 0
        self._slips_since = None
        self._plan_object(now, self._options.carry_s)

    def leave_carry(self, now: Instant) -> str | None:
        return self._lost(now) or ("place" if now.since >= self._options.carry_s else None)

    def act_carry(self, now: Instant) -> Action:
        q, u, a, task = self._blank(now)
        q[self._object], u[self._object], a[self._object] = self._path.at(now.t)
        for i in self._object:
            self.tasks.weigh(task, i, _OBJECT)
        return Action(q, u, a, task)

    def enter_place(self, now: Instant) -> None:
        if self._placed:
            self._plan_object(now, self._options.settle_s)
        self._placed += 1
        self._off, self._there_since = now.state.q[self._object] - self._aim, None

    def leave_place(self, now: Instant) -> str | None:
        limits = self._options.place_m, self._options.place_rad
        is_there = self._is_there(now, self._aim, self._options.settle_s, limits)
        self._there_since = _since(self._there_since, is_there, now.t)
        lasts = _lasts(self._there_since, now.t, self._options.settle_s)
        return self._lost(now) or ("settle" if lasts else None)

    act_place = act_carry

    # The hands open and move away

    def enter_settle(self, now: Instant) -> None:
        q = now.state.q[self._arms]
        self._still = Quintic.to_rest(now.t, self._options.still_s, q, np.zeros(len(q)), q)
        self._off = now.state.q[self._object] - self._goal

    def _has_lost(self, now: Instant) -> bool:
        """Whether a hand does not hold: it says so, its gauges show no contact, or it is not at its grip."""
        pushes = self._held.pushes(now.state)
        self._loose_ticks = 0 if pushes else self._loose_ticks + 1
        away = (
            _longest(self._hand_motions(now)[0] - self._held.grip_positions(now.state).ravel()) > self._options.lost_m
        )
        return not now.holding >= {*self._options.contacts} or self._loose_ticks > _LOOSE_TICKS or away

    def leave_settle(self, now: Instant) -> str | None:
        limits = self._options.release_m, self._options.release_rad
        is_there = self._is_there(now, self._goal, self._options.still_s, limits)
        if not now.holding >= {*self._options.contacts}:
            return "halt"
        if now.since < self._options.still_s:
            return None
        if is_there:
            return "release"
        self._aim = self._aim - self._off / 2  # a part of the error is chance
        return "place" if self._placed < self._options.tries else "halt"

    def act_settle(self, now: Instant) -> Action:
        q, u, a, task = self._blank(now)
        q[self._arms], u[self._arms], a[self._arms] = self._still.at(now.t)
        for i in self._arms:
            self.tasks.weigh(task, i, _JOINT)
        return Action(q, u, a, task)

    def enter_release(self, now: Instant) -> None:
        self.gripping = frozenset()

    def leave_release(self, now: Instant) -> str | None:
        return None if now.holding else "retreat"

    act_release = act_settle

    def enter_retreat(self, now: Instant) -> None:
        (x, v), away = self._hand_motions(now), self._options.before_m * self._held.motions.outward
        self._path = Quintic.to_rest(now.t, self._options.retreat_s, x, v, x + away.ravel())
        self.sleep(now.t + self._options.retreat_s)

    def leave_retreat(self, now: Instant) -> str | None:
        return "rest" if now.since >= self._options.retreat_s else None

    def plan_retreat(self, now: Instant) -> TaskPlan:
        plan = self.new_plan()
        for i, hand in enumerate(self._hands):
            plan.aim(hand, self._path, _HAND, of=(2 * i, 2 * i + 1))
        return plan

    def enter_rest(self, now: Instant) -> None:
        self.sleep(math.inf)

    def plan_rest(self, now: Instant) -> TaskPlan:
        plan = self.plan_retreat(now)
        plan.done = True
        return plan

    # Aborts

    def enter_stop(self, now: Instant) -> None:
        x, v = now.state.q[self._object], now.state.u[self._object]
        self._path = Quintic.speed_change(now.t, self._options.stop_s, x, v, np.zeros(3))

    def leave_stop(self, now: Instant) -> str | None:
        held = now.holding >= {*self._options.contacts}
        return "halt" if not held or now.since >= self._options.stop_s else None

    act_stop = act_carry

    def enter_halt(self, now: Instant) -> None:
        self.gripping = frozenset()
        q, u = now.state.q[self._arms], now.state.u[self._arms]
        self._still = Quintic.speed_change(now.t, self._options.stop_s, q, u, np.zeros(len(u)))

    def act_halt(self, now: Instant) -> Action:
        return self.act_settle(now)._replace(done=now.since >= self._options.stop_s)

    # Parts of these

    def _lost(self, now: Instant) -> str | None:
        """Where to go with a grip that is lost or slips."""
        if self._has_lost(now):
            return "halt"
        self._slips_since = _since(self._slips_since, self._held.slips(now.state), now.t)
        return "stop" if _lasts(self._slips_since, now.t, self._options.slip_s) else None

    def _is_there(self, now: Instant, goal: Array, duration: float, limits: tuple[float, float]) -> bool:
        """Whether the filtered error of the object is within limits [m, rad]; to be asked for once in a tick."""
        part = 2 * self.model.bed.loop.period_s / duration
        self._off = self._off + part * (now.state.q[self._object] - goal - self._off)
        x, y, turned = self._off.tolist()
        return math.hypot(x, y) < limits[0] and abs(turned) < limits[1]

    def _plan_object(self, now: Instant, duration: float) -> None:
        """From its motion of now to rest where it is to be placed."""
        q, u = now.state.q[self._object], now.state.u[self._object]
        self._path = Quintic.to_rest(now.t, duration, q, u, self._aim)

    def _hand_motions(self, now: Instant) -> tuple[Array, Array]:
        """Positions of all hands, and their velocities."""
        targets = self._targets(now.state)
        x, v = ([getattr(targets[hand], key) for hand in self._hands] for key in ("x", "v"))
        return np.concatenate(x), np.concatenate(v)

    def _plan_offset(self, now: Instant, duration: float, before: float) -> None:
        """From the offsets of now to places this far before the grips."""
        (x, v), grips = self._hand_motions(now), self._held.motions
        goal = before * grips.outward.ravel()
        self._offset = Quintic.to_rest(now.t, duration, x - grips.x.ravel(), v - grips.v.ravel(), goal)

    def _blank(self, now: Instant) -> tuple[Array, Array, Array, Array]:
        """The estimate as reference, and no task."""
        return now.state.q.copy(), now.state.u.copy(), np.zeros(len(now.state.u)), self.tasks.nothing(self.code)


def _since(since: float | None, holds: bool, t: float) -> float | None:
    """Since when a condition holds without a break; None: it does not."""
    return (t if since is None else since) if holds else None


def _lasts(since: float | None, t: float, duration: float) -> bool:
    return since is not None and t - since + SAME_TIME_S >= duration


def _longest(vectors: Array) -> float:
    """Length of the longest of vectors in the plane, one after the other."""
    return float(np.linalg.norm(vectors.reshape(-1, 2), axis=1).max())
