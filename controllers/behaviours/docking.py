"""Docking: a free-flyer leads its port into that of another one, flies with it as one body, and undocks.

The chaser is the module of the contact's first side. In the pose of a closed contact the axes of both ports agree; the
chaser comes along x of the other port, from -x. Its base follows the estimated port at a pose relative to it, which
fifth-order polynomials lead to the entrance of the corridor, then along it to zero. The other one holds its station.
Outside the corridor, and where the ports do not hold, an attempt has failed: the chaser backs off and tries again.
After the last attempt both hold where they are. Docked, both bases follow one motion, and the law shares its force
among the thrusters of both.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Angle, NotNegative, Positive
from granite.config.behaviour import StateNote
from granite.config.contacts import Contact
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.testbed import Testbed
from granite.controllers.behaviours.state_machine import Instant, OneContactOptions, StateMachine, staying
from granite.controllers.behaviours.task_plan import TaskPlan, TickForm, TickResults, TickSymbols
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.planar_motion import PlanarMotion, whole_turns
from granite.controllers.trajectories.quintic import Quintic

#: the limits of its options
_LIMITS, _UNITS = ("beside", "align", "close", "lost"), ("m", "rad", "m_s")
#: what the path of the chaser's port is relative to: nothing, the other port as estimated, or on its path
_ALONE, _SEEN, _DOCKED_TO = 0.0, 1.0, 2.0
_FAILED = "the ports do not hold each other"
_DOCKED = {"back_off": _FAILED}
STATES = (
    StateNote(
        "approach", "flies to the entrance of the corridor", {"align": "after approach_s", "halt": "the port is behind"}
    ),
    StateNote("align", "waits there for a straight line", {"close_in": "aligned for align_s"}, 30.0, "halt"),
    StateNote(
        "close_in", "flies along the corridor", {"capture": "after close_in_s", "back_off": "outside the corridor"}
    ),
    StateNote(
        "capture",
        "closes the ports when they are near and slow",
        {"settle": "they hold", "back_off": "outside the corridor, or they do not hold after grip_s"},
        8.0,
        "back_off",
    ),
    StateNote(
        "back_off", "opens the ports and flies back", {"align": "after back_off_s", "halt": "it was the last attempt"}
    ),
    StateNote("settle", "docked: brings both to rest", {"fly": "after settle_s", **_DOCKED}),
    StateNote("fly", "flies both to the goal", {"hold": "after fly_s", **_DOCKED}),
    StateNote("hold", "holds both", {"undock": "after hold_s", **_DOCKED}),
    StateNote("undock", "opens the ports", {"separate": "they do not hold"}, 1.0, "halt"),
    StateNote("separate", "flies back along the corridor", {"rest": "after back_off_s"}),
    StateNote("rest", "holds both, apart; the behaviour is done", {}),
    StateNote("halt", "abort: opens the ports and holds both where they are", {}, fails=True),
)


class Docking(StateMachine):
    """Two free-flyers with a port on each base."""

    class Options(OneContactOptions):
        """The corridor, and where to fly docked; the contact joins the port of the chaser to that of the other."""

        machine: ClassVar[tuple[StateNote, ...]] = STATES
        #: goal of the docked flight: pose of the base of the other; none: both stay
        goal_m: tuple[float, float] | None = None
        goal_rad: Angle | None = None  #: heading at the goal
        approach_s: Positive = 25.0  #: time to the entrance of the corridor
        close_in_s: Positive = 12.0  #: time through the corridor
        back_off_s: Positive = 12.0  #: time back along the corridor
        settle_s: Positive = 4.0  #: time in which both come to rest, docked
        fly_s: Positive = 20.0  #: time of the docked flight
        hold_s: NotNegative = 5.0  #: time at the goal
        #: length of the corridor, and how far beside its axis and beside its direction the port may be
        corridor_m: Positive = 0.2
        beside_m: Positive = 0.015  #: largest distance from the axis of the corridor
        beside_rad: Positive = 0.04  #: largest angle from its direction
        #: at the entrance the errors must be smaller than this for `align_s`
        align_m: Positive = 4e-3
        align_rad: Positive = 0.01  #: largest angle at the entrance
        align_s: Positive = 1.0  #: time for which the errors must be that small
        #: the ports close where they are nearer, straighter and slower than this, by the estimate
        close_m: Positive = 1.2e-3
        close_rad: Positive = 2e-3  #: angle below which the ports close
        close_m_s: Positive = 4e-3  #: relative speed below which the ports close
        #: how long they may take to close
        grip_s: Positive = 0.2
        #: ports further from each other, by the estimate, do not hold, whatever they report
        lost_m: Positive = 0.02
        attempts: Annotated[int, Field(ge=1)] = 3  #: how often it may approach

    def __init__(self, options: Options, model: ControlModel) -> None:
        self._options, bed, layout = options, model.bed, model.layout
        contact = next(c for c in bed.contacts if c.name == options.contact)
        chaser, other = _docked_modules(contact, bed)
        self._port, self._other_port = _port(chaser, str(contact.first.point)), _port(other, str(contact.second.point))
        self._base, self._other = (
            [*range(layout.root_q(module).start, layout.root_q(module).stop)] for module in (chaser, other)
        )
        limits = options.model_dump_json(include={"corridor_m", *(f"{w}_{unit}" for w in _LIMITS for unit in _UNITS)})
        key = f"docking {self._base} {self._other} {self._port} {self._other_port} {limits}"
        super().__init__(
            options, model, TickForm(key, 1, 0, ("behind", "aligned", "beside", "near", "away"), self._write)
        )
        #: all others stay where they are
        self._still = [i for i in range(model.n) if i not in (*self._base, *self._other)]
        self._pose: Quintic
        #: of the chaser's port relative to the other port, and of the other base
        self._relative: Quintic
        self._path: Quintic
        self._aligned_since = self._closed_since = math.inf
        self._attempts = 0

    def _write(self, tick: TickSymbols) -> TickResults:
        """The chaser's base leads its port along its path; conditions; pose and rate of the port as estimated."""
        options, still = self._options, ca.SX.zeros(3)
        base, other = (PlanarMotion(tick.state_q[own], tick.state_u[own], still) for own in (self._base, self._other))
        pose, rate = base.carries(self._port).seen_from(other.carries(self._other_port))

        on_path = PlanarMotion(*(level[self._other] for level in (tick.q, tick.u, tick.a)))
        carrier = [ca.if_else(tick.numbers == _SEEN, *levels) for levels in zip(other, on_path, strict=True)]
        relative = PlanarMotion(*(level[self._base] for level in (tick.q, tick.u, tick.a)))
        led = PlanarMotion(*carrier).carries(self._other_port).carries(relative).carries(self._port.inverse())
        turns = ca.vertcat(0, 0, whole_turns(base.q[2] - led.q[2]))
        q, u, a = ca.SX(tick.q), ca.SX(tick.u), ca.SX(tick.a)
        for level, values in ((q, led.q + turns), (u, led.u), (a, led.a)):
            level[self._base] = ca.if_else(tick.numbers == _ALONE, level[self._base], values)

        def within(x: ca.SX, metres: float, turn: float) -> ca.SX:
            return ca.logic_and(ca.norm_2(x[:2]) < metres, ca.fabs(x[2]) < turn)

        entrance = pose + ca.DM([options.corridor_m, 0.0, 0.0])
        near = within(pose, options.close_m, options.close_rad)
        conditions = ca.vertcat(
            pose[0] > 0,
            within(entrance, options.align_m, options.align_rad),
            ca.logic_or(ca.fabs(pose[1]) > options.beside_m, ca.fabs(pose[2]) > options.beside_rad),
            ca.logic_and(near, ca.norm_2(rate[:2]) < options.close_m_s),
            ca.norm_2(pose[:2]) > options.lost_m,
        )
        return TickResults(q, u, a, tick.task, tick.memory, conditions, ca.vertcat(pose, rate))

    # Apart: the chaser follows the other port, which holds its station

    def enter_approach(self, now: Instant) -> None:
        self._pose = staying(now)
        self._stay(now)
        self._lead(now, self._options.approach_s, -self._options.corridor_m)
        self.sleep(self._relative.end_s, awaited=("behind",))

    def leave_approach(self, now: Instant) -> str | None:
        if self.conditions["behind"]:  # a straight way to the entrance would lead through the other one
            return "halt"
        return "align" if now.since >= self._options.approach_s else None

    def plan_approach(self, now: Instant) -> TaskPlan:
        return self._plan_both(_SEEN, self._relative)

    plan_align = plan_close_in = plan_capture = plan_back_off = plan_approach

    def enter_align(self, now: Instant) -> None:
        self._aligned_since = math.inf

    def leave_align(self, now: Instant) -> str | None:
        self._aligned_since = min(self._aligned_since, now.t) if self.conditions["aligned"] else math.inf
        self.sleep(self._aligned_since + self._options.align_s, awaited=("aligned",))
        return "close_in" if now.t - self._aligned_since >= self._options.align_s else None

    def enter_close_in(self, now: Instant) -> None:
        self._attempts += 1
        self._lead(now, self._options.close_in_s, 0.0)
        self.sleep(self._relative.end_s, awaited=("beside",))

    def leave_close_in(self, now: Instant) -> str | None:
        if self.conditions["beside"]:
            return "back_off"
        return "capture" if now.since >= self._options.close_in_s else None

    def enter_capture(self, now: Instant) -> None:
        self._closed_since = math.inf

    def leave_capture(self, now: Instant) -> str | None:
        if self.conditions["near"] and self._closed_since == math.inf:
            self.gripping, self._closed_since = frozenset({self._options.contact}), now.t
        self.sleep(self._closed_since + self._options.grip_s, awaited=("near", "beside"))
        if self._options.contact in now.holding:
            return "settle"
        missed = now.t - self._closed_since > self._options.grip_s
        return "back_off" if missed or self.conditions["beside"] else None

    def enter_back_off(self, now: Instant) -> None:
        self.gripping = frozenset()
        self._stay(now)
        self._lead(now, self._options.back_off_s, -self._options.corridor_m)
        self.sleep(self._relative.end_s)

    def leave_back_off(self, now: Instant) -> str | None:
        if now.since < self._options.back_off_s:
            return None
        return "align" if self._attempts < self._options.attempts else "halt"

    # Docked: one motion of both

    def enter_settle(self, now: Instant) -> None:
        self._stay(now)
        self._sleep_docked(now, self._options.settle_s)

    def leave_settle(self, now: Instant) -> str | None:
        return self._lost(now) or ("fly" if now.since >= self._options.settle_s else None)

    def plan_settle(self, now: Instant) -> TaskPlan:
        rest = np.zeros(3)
        return self._plan_both(_DOCKED_TO, Quintic.to_rest(0.0, 1.0, rest, rest, rest))

    plan_fly = plan_hold = plan_undock = plan_settle

    def enter_fly(self, now: Instant) -> None:
        here, goal = self._path.at(now.t)[0], self._path.at(now.t)[0].copy()
        if self._options.goal_m is not None:
            goal[:2] = self._options.goal_m
        if self._options.goal_rad is not None:
            goal[2] = self._options.goal_rad
        self._path = Quintic.to_rest(now.t, self._options.fly_s, here, np.zeros(3), goal)
        self._sleep_docked(now, self._options.fly_s)

    def leave_fly(self, now: Instant) -> str | None:
        return self._lost(now) or ("hold" if now.since >= self._options.fly_s else None)

    def enter_hold(self, now: Instant) -> None:
        self._sleep_docked(now, self._options.hold_s)

    def leave_hold(self, now: Instant) -> str | None:
        return self._lost(now) or ("undock" if now.since >= self._options.hold_s else None)

    def enter_undock(self, now: Instant) -> None:
        self.gripping = frozenset()
        self.sleep(math.inf)

    def leave_undock(self, now: Instant) -> str | None:
        return None if now.holding else "separate"

    # Apart again

    def enter_separate(self, now: Instant) -> None:
        self._lead(now, self._options.back_off_s, -self._options.corridor_m)
        self.sleep(self._relative.end_s)

    def leave_separate(self, now: Instant) -> str | None:
        return "rest" if now.since >= self._options.back_off_s else None

    plan_separate = plan_approach

    def enter_rest(self, now: Instant) -> None:
        """From the motion of now to rest; afterwards the path is of all coordinates."""
        q, u = now.state.q, now.state.u
        self._path = Quintic.speed_change(now.t, self._options.settle_s, q, u, np.zeros(len(u)))
        self.sleep(self._path.end_s)

    def plan_rest(self, now: Instant) -> TaskPlan:
        plan = self.new_plan()
        plan.follow(range(self.model.n), self._path, 1.0)
        plan.done = now.t >= self._path.end_s
        if plan.done:
            self.sleep(math.inf)
        return plan

    def enter_halt(self, now: Instant) -> None:
        self.gripping = frozenset()
        self.enter_rest(now)

    plan_halt = plan_rest

    # Parts of these

    def _stay(self, now: Instant) -> None:
        """The other base comes to rest and stays there."""
        q, u = now.state.q[self._other], now.state.u[self._other]
        self._path = Quintic.speed_change(now.t, self._options.settle_s, q, u, np.zeros(3))

    def _lead(self, now: Instant, duration: float, x: float) -> None:
        """Lead the port from its motion of now to a distance before the other."""
        pose, rate = np.split(self.seen, 2)
        self._relative = Quintic.to_rest(now.t, duration, pose, rate, np.array([x, 0.0, 0.0]))

    def _sleep_docked(self, now: Instant, duration: float) -> None:
        self.sleep(now.t + duration, awaited=("away",))

    def _lost(self, now: Instant) -> str | None:
        return "back_off" if self.conditions["away"] or self._options.contact not in now.holding else None

    def _plan_both(self, carrier: float, relative: Quintic) -> TaskPlan:
        """The other base follows its path, the chaser's port one relative to its carrier, and joints stay."""
        plan = self.new_plan()
        plan.more[0] = carrier
        plan.follow(self._base, relative, 1.0)
        plan.follow(self._other, self._path, 1.0)
        plan.follow(self._still, self._pose, 1.0, of=self._still)
        return plan


def _docked_modules(contact: Contact, bed: Testbed) -> tuple[Module, Module]:
    """The chaser and the other one."""
    controlled = {module.name for module in bed.controlled}
    modules = [bed.module(side.module) for side in (contact.first, contact.second) if side.module in controlled]
    floats = all(module.base == "floating" and module.dimension == "planar" for module in modules)
    if len(modules) < 2 or modules[0] is modules[1] or not floats:
        problem = f"it joins '{contact.first.module}' and '{contact.second.module}'"
        expected = "two controlled modules that float in the plane"
        raise InputError(problem, key="behaviour.contact", value=contact.name, expected=expected)
    if contact.kind != "rigid_grasp":
        problem = f"it is of kind '{contact.kind}'"
        raise InputError(problem, key="behaviour.contact", value=contact.name, expected="a rigid_grasp")
    return modules[0], modules[1]


def _port(module: Module, name: str) -> PlanarMotion:
    """The frame of a port relative to the base that it is on."""
    point = next(p for p in module.points if p.name == name)
    if point.body != module.root.name:
        problem = f"point '{name}' of '{module.name}' is on '{point.body}'"
        raise InputError(problem, key="behaviour.contact", expected="points of the bases")
    return PlanarMotion.fixed(point.position_m[0], point.position_m[1], point.rotation_rad[2])
