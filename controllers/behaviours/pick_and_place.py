"""Pick and place: arms reach for an object that floats, grip it, carry it to its goal, put it down and retreat.

Each hand follows its grip on the object as it is estimated, at an offset that a fifth-order polynomial brings to zero:
first to a place before the grip, then along the outward axis of the grip onto it. All hands close in the same tick, so
that none pushes the object. The object then follows a polynomial to the goal and is held until it is there. Before the
hands open, the joints of the arms hold still by their own sensors, because noisy poses would move the object. It is
then seen without the forces of the squeeze, whose errors bias the estimate: where it is beside the goal, it is placed
again, half of that to the other side. A grip out of reach, a hand that misses, a grip that is lost or slips, and a
time-out end in `halt`: hands open, arms at rest.

The bases of vehicles hold their poses by thrusters, and go to their own goals while the object is carried.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, Name, Positive, Table
from granite.config.behaviour import StateNote
from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.controllers.behaviours.held_grips import HeldGrips
from granite.controllers.behaviours.state_machine import Instant, StateMachine, staying
from granite.controllers.behaviours.task_plan import TaskPlan, TickForm, TickResults, TickSymbols
from granite.controllers.behaviours.tasks import TaskLayout
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic
from granite.mrds.tolerances import SAME_TIME_S

#: weights of the tasks
_OBJECT, _BASE, _JOINT, _HAND = 1.0, 1.0, 1.0, 100.0

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
    StateNote(
        "place",
        "holds it there",
        {"settle": "it has been there for settle_s", "keep": "the same, with keeps", **_LOST},
        20.0,
        "stop",
    ),
    StateNote("keep", "holds it on; the behaviour is done", _LOST),
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


class BaseGoal(Table):
    """Where the base of a vehicle is when the object is at its goal."""

    goal_m: tuple[float, float]  #: position
    goal_rad: Angle  #: heading


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
        #: of every vehicle among the arms, by name
        bases: dict[Name, BaseGoal] = Field(default_factory=dict)
        #: hold the object at the goal instead of letting it go
        keeps: bool = False
        reach_s: Positive = 4.0  #: time to the places before the grips
        close_in_s: Positive = 3.0  #: time from there to the grips
        carry_s: Positive = 10.0  #: time of the carried motion
        settle_s: Positive = 1.0  #: time at the goal in `place` before the arms hold still
        still_s: Positive = 2.0  #: time for which the arms hold still in the state `settle`
        retreat_s: Positive = 2.0  #: time of the retreat
        #: time in which object, arms and bases come to rest after a slip, and in which arms and bases halt
        stop_s: Positive = 1.0
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
        self._options, bed = options, model.bed
        self._held = HeldGrips(model, options.contacts)
        self._targets = TaskLayout(bed)
        law = bed.control.law.model_dump_json(include={"object", "friction"})
        limits = options.model_dump_json(include={"close_m", "close_m_s", "lost_m"})
        key = bed.fingerprint and f"{bed.fingerprint} {law} {limits}"
        # Of a plan: whether the hands follow the grips; goal of the object, part of its error that the filter takes in
        # a tick, and limits of the error. The memory is that of the grips, and the filtered error of the object.
        conditions = "out_of_reach", "near", "there", "away", "loose", "slips"
        super().__init__(options, model, TickForm(key, 7, self._held.n_memory + 3, conditions, self._write))
        self._object, self._bases = self._held.own, [i for own in self._held.bases.values() for i in own]
        self._joints = [i for i in range(model.n) if i not in (*self._object, *self._bases)]
        self._goal = np.array([*options.goal_m, options.goal_rad])
        self._base_goal = _base_goals(options, [*self._held.bases])
        far = self._held.out_of_reach([*self._object, *self._bases], np.concatenate((self._goal, self._base_goal)))
        if far:
            problem = f"grip '{far.contact}' is then {far.distance:.3g} m from the first joint of its arm"
            expected = f"less than {far.longest:.3g} m"
            raise InputError(problem, key="behaviour.goal_m", value=list(options.goal_m), expected=expected)
        self._offset: Quintic
        #: of the bases
        self._station: Quintic
        self._path: Quintic
        self._still: Quintic
        #: where the object is placed so that it is at the goal, and how often it was
        self._aim, self._placed = self._goal, 0
        #: since when the hands are closed, the object is at the goal, a grip slips
        self._closed_since = self._there_since = self._slips_since = math.inf
        #: ticks in a row in which the gauges show no contact
        self._loose_ticks = 0

    def _write(self, tick: TickSymbols) -> TickResults:
        """Hands follow the grips by the filtered motion of the object; conditions; motions, and error of the object."""
        options, held, n = self._options, self._held, self._held.n_memory
        q, u, memory = held.filtered(tick.state_q, tick.state_u, tick.memory[:n])
        grips, estimate = held.motions(q, u), held.motions(tick.state_q, tick.state_u)
        follows, goal, part, limits = ca.vertsplit(tick.numbers, [0, 1, 4, 5, 7])
        task = ca.SX(tick.task)
        for i, hand in enumerate(held.hands):
            at = self._targets.motion(hand)
            own = [2 * i, 2 * i + 1]
            task[at] += ca.if_else(follows, ca.vertcat(grips.x[own], grips.v[own], grips.drift[own]), ca.SX.zeros(6))
        off = tick.memory[n:]
        off = off + part * (tick.state_q[held.own] - goal - off)

        miss, speed = _longest(estimate.hands - grips.x), _longest(estimate.hand_rates - grips.v)
        conditions = ca.vertcat(
            held.is_out_of_reach(tick.state_q, grips.x),
            ca.logic_and(miss < options.close_m, speed < options.close_m_s),
            ca.logic_and(ca.norm_2(off[:2]) < limits[0], ca.fabs(off[2]) < limits[1]),
            _longest(estimate.hands - estimate.x) > options.lost_m,
            ca.logic_not(held.pushes(tick.state_q, tick.gauges)),
            held.slips(tick.state_q, tick.gauges),
        )
        distances = ca.vertcat(*held.distances(tick.state_q, grips.x))
        seen = ca.vertcat(estimate.hands, estimate.hand_rates, grips.x, grips.v, grips.outward, off, distances)
        return TickResults(tick.q, tick.u, tick.a, task, ca.vertcat(memory, off), conditions, seen)

    # Free arms: the hands follow the grips at an offset

    def enter_reach(self, now: Instant) -> None:
        self._station = staying(now, self._bases)
        self._plan_offset(now, self._options.reach_s, self._options.before_m)

    def leave_reach(self, now: Instant) -> str | None:
        if self.conditions["out_of_reach"]:
            return "halt"
        return "close_in" if now.since >= self._options.reach_s else None

    def plan_reach(self, now: Instant) -> TaskPlan:
        return self._plan_hands(self._offset, follows=1.0)

    def enter_close_in(self, now: Instant) -> None:
        self._plan_offset(now, self._options.close_in_s, 0.0)

    def leave_close_in(self, now: Instant) -> str | None:
        if self.conditions["out_of_reach"]:
            return "halt"
        return "grip" if now.since >= self._options.close_in_s else None

    plan_close_in = plan_grip = plan_reach

    def leave_grip(self, now: Instant) -> str | None:
        if self.conditions["near"] and self._closed_since == math.inf:
            self.gripping, self._closed_since = frozenset(self._options.contacts), now.t
        self.sleep(self._closed_since + self._options.grip_s, awaited=("near", "out_of_reach"))
        if now.holding >= {*self._options.contacts}:
            return "carry"
        missed = _lasts(self._closed_since, now.t, self._options.grip_s)
        return "halt" if missed or self.conditions["out_of_reach"] else None

    # The object in hand

    def enter_carry(self, now: Instant) -> None:
        self._loose_ticks = 0
        self._slips_since = math.inf
        self._plan_object(now, self._options.carry_s)

    def leave_carry(self, now: Instant) -> str | None:
        self._watch(now, self._path.end_s)
        return self._lost(now) or ("place" if now.since >= self._options.carry_s else None)

    def plan_carry(self, now: Instant) -> TaskPlan:
        plan = self._new_plan()
        plan.follow(self._object, self._path, _OBJECT)
        return plan

    def enter_place(self, now: Instant) -> None:
        if self._placed:
            self._plan_object(now, self._options.settle_s)
        self._placed += 1
        self._there_since = math.inf
        self._begin_error(now, self._aim)

    def leave_place(self, now: Instant) -> str | None:
        self._there_since = _since(self._there_since, self.conditions["there"], now.t)
        self._watch(now, self._there_since + self._options.settle_s, "there")
        lasts = _lasts(self._there_since, now.t, self._options.settle_s)
        return self._lost(now) or (("keep" if self._options.keeps else "settle") if lasts else None)

    def plan_place(self, now: Instant) -> TaskPlan:
        limits = self._options.place_m, self._options.place_rad
        return self._judging(self.plan_carry(now), self._aim, self._options.settle_s, limits)

    def leave_keep(self, now: Instant) -> str | None:
        self._watch(now, math.inf)
        return self._lost(now)

    def plan_keep(self, now: Instant) -> TaskPlan:
        plan = self.plan_carry(now)
        plan.done = True
        return plan

    # The hands open and move away

    def enter_settle(self, now: Instant) -> None:
        self._still = staying(now, self._joints)
        self._station = staying(now, self._bases)  # a base that goes on to its goal would take the object along
        self._begin_error(now, self._goal)
        self.sleep(now.t + self._options.still_s)

    def _has_lost(self, now: Instant) -> bool:
        """Whether a hand does not hold: it says so, its gauges show no contact, or it is not at its grip."""
        self._loose_ticks = self._loose_ticks + 1 if self.conditions["loose"] else 0
        is_loose = self._loose_ticks > _LOOSE_TICKS
        return not now.holding >= {*self._options.contacts} or is_loose or self.conditions["away"]

    def leave_settle(self, now: Instant) -> str | None:
        if not now.holding >= {*self._options.contacts}:
            return "halt"
        if now.since < self._options.still_s:
            return None
        if self.conditions["there"]:
            return "release"
        self._aim = self._aim - self._seen[1] / 2  # a part of the error is chance
        return "place" if self._placed < self._options.tries else "halt"

    def plan_settle(self, now: Instant) -> TaskPlan:
        limits = self._options.release_m, self._options.release_rad
        return self._judging(self.plan_release(now), self._goal, self._options.still_s, limits)

    def enter_release(self, now: Instant) -> None:
        self.gripping = frozenset()
        self.sleep(math.inf)

    def leave_release(self, now: Instant) -> str | None:
        return None if now.holding else "retreat"

    def plan_release(self, now: Instant) -> TaskPlan:
        plan = self._new_plan()
        plan.follow(self._joints, self._still, _JOINT)
        return plan

    def enter_retreat(self, now: Instant) -> None:
        x, v, *_, outward = self._motions()
        away = x + self._options.before_m * outward
        self._path = Quintic.to_rest(now.t, self._options.retreat_s, x, v, away)
        self._lead_bases(now, self._options.retreat_s)
        self.sleep(self._path.end_s)

    def leave_retreat(self, now: Instant) -> str | None:
        return "rest" if now.since >= self._options.retreat_s else None

    def plan_retreat(self, now: Instant) -> TaskPlan:
        return self._plan_hands(self._path, follows=0.0)

    def enter_rest(self, now: Instant) -> None:
        self._still = staying(now, self._joints)
        self.sleep(math.inf)

    def plan_rest(self, now: Instant) -> TaskPlan:
        plan = self.plan_release(now)
        plan.done = True
        return plan

    # Aborts

    def enter_stop(self, now: Instant) -> None:
        x, v = now.state.q[self._object], now.state.u[self._object]
        self._path = Quintic.speed_change(now.t, self._options.stop_s, x, v, np.zeros(3))
        self._stop_bases(now)
        self.sleep(self._path.end_s)

    def leave_stop(self, now: Instant) -> str | None:
        held = now.holding >= {*self._options.contacts}
        return "halt" if not held or now.since >= self._options.stop_s else None

    plan_stop = plan_carry

    def enter_halt(self, now: Instant) -> None:
        self.gripping = frozenset()
        q, u = now.state.q[self._joints], now.state.u[self._joints]
        self._still = Quintic.speed_change(now.t, self._options.stop_s, q, u, np.zeros(len(u)))
        self._stop_bases(now)
        self.sleep(self._still.end_s)

    def plan_halt(self, now: Instant) -> TaskPlan:
        plan = self.plan_release(now)
        plan.done = now.since >= self._options.stop_s
        if plan.done:
            self.sleep(math.inf)
        return plan

    # Parts of these

    def _lost(self, now: Instant) -> str | None:
        """Where to go with a grip that is lost or slips."""
        if self._has_lost(now):
            return "halt"
        self._slips_since = _since(self._slips_since, self.conditions["slips"], now.t)
        return "stop" if _lasts(self._slips_since, now.t, self._options.slip_s) else None

    def _watch(self, now: Instant, until: float, *also: str) -> None:
        """Sleep with the object in hand; without contact by the gauges every tick counts."""
        slips = _since(self._slips_since, self.conditions["slips"], now.t) + self._options.slip_s
        until = now.t if self.conditions["loose"] else min(until, slips)
        self.sleep(until, awaited=("away", "loose", "slips", *also))

    def _begin_error(self, now: Instant, goal: Array) -> None:
        """Begin the filter of the error of the object."""
        self.memory[-3:] = now.state.q[self._object] - goal

    def _judging(self, plan: TaskPlan, goal: Array, duration: float, limits: tuple[float, float]) -> TaskPlan:
        """The plan, with the filtered error of the object from a goal and its limits [m, rad]."""
        plan.more[1:] = *goal, 2 * self.model.bed.loop.period_s / duration, *limits
        return plan

    def _plan_object(self, now: Instant, duration: float) -> None:
        """From its motion of now to rest where it is to be placed; the bases from theirs to their goals."""
        q, u = now.state.q[self._object], now.state.u[self._object]
        self._path = Quintic.to_rest(now.t, duration, q, u, self._aim)
        self._lead_bases(now, duration)

    def _lead_bases(self, now: Instant, duration: float) -> None:
        x, v, _ = self._station.at(now.t)
        self._station = Quintic.to_rest(now.t, duration, x, v, self._base_goal)

    def _stop_bases(self, now: Instant) -> None:
        x, v, _ = self._station.at(now.t)
        self._station = Quintic.speed_change(now.t, self._options.stop_s, x, v, np.zeros(len(v)))

    @property
    def _seen(self) -> tuple[Array, Array, Array]:
        """Motions of hands and grips, filtered error of the object, distance of each grip from its arm."""
        n = len(self._held.hands)
        motions, error, distances = np.split(self.seen, [10 * n, 10 * n + 3])
        return motions, error, distances

    def _motions(self) -> tuple[Array, ...]:
        """Positions of all hands and their velocities; those of the grips; axes away from the object."""
        return tuple(np.split(self._seen[0], 5))

    def _new_plan(self) -> TaskPlan:
        """The bases along their paths."""
        plan = self.new_plan()
        plan.follow(self._bases, self._station, _BASE)
        return plan

    def _plan_offset(self, now: Instant, duration: float, before: float) -> None:
        """From the offsets of now to places this far before the grips."""
        x, v, grip_x, grip_v, outward = self._motions()
        self._offset = Quintic.to_rest(now.t, duration, x - grip_x, v - grip_v, before * outward)
        self.sleep(self._offset.end_s, awaited=("out_of_reach",))

    def _plan_hands(self, path: Quintic, follows: float) -> TaskPlan:
        """Hands along a path, which may be relative to their grips."""
        plan = self._new_plan()
        plan.more[0] = follows
        for i, hand in enumerate(self._held.hands):
            plan.aim(hand, path, _HAND, of=(2 * i, 2 * i + 1))
        return plan


def _base_goals(options: PickAndPlace.Options, vehicles: list[str]) -> Array:
    """Poses of the bases one after the other."""
    for name in options.bases:
        if name not in vehicles:
            problem = f"'{name}' is no vehicle that holds the object"
            raise InputError(problem, key=f"behaviour.bases.{name}", expected=one_of(name, vehicles))
    for name in vehicles:
        if name not in options.bases:
            raise InputError.missing(f"behaviour.bases.{name}", "goal_m and goal_rad of its base")
    goals = [options.bases[name] for name in vehicles]
    return np.array([x for goal in goals for x in (*goal.goal_m, goal.goal_rad)])


def _since(since: float, holds: bool, t: float) -> float:
    """Since when a condition holds without a break; infinite: it does not."""
    return min(since, t) if holds else math.inf


def _lasts(since: float, t: float, duration: float) -> bool:
    return t - since + SAME_TIME_S >= duration


def _longest(vectors: ca.SX) -> ca.SX:
    """Length of the longest of vectors in the plane, one after the other."""
    longest = ca.SX(0)
    for x in ca.vertsplit(vectors, 2):
        longest = ca.fmax(longest, ca.norm_2(x))
    return longest
