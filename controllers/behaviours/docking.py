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

import numpy as np
from pydantic import Field

from granite.config.base import Angle, NotNegative, Positive
from granite.config.behaviour import StateNote
from granite.config.contacts import Contact
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.records import Array, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.state_machine import Action, Instant, OneContactOptions, StateMachine
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.planar_motion import PlanarMotion
from granite.controllers.trajectories.quintic import Quintic

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
        super().__init__(options, model)
        self._options, bed, layout = options, model.bed, model.layout
        contact = next(c for c in bed.contacts if c.name == options.contact)
        chaser, other = _docked_modules(contact, bed)
        self._port, self._other_port = _port(chaser, str(contact.first.point)), _port(other, str(contact.second.point))
        self._base, self._other = (
            [*range(layout.root_q(module).start, layout.root_q(module).stop)] for module in (chaser, other)
        )
        #: all others stay where they are
        self._still = [i for i in range(model.n) if i not in (*self._base, *self._other)]
        self._pose: Array
        #: of the chaser's port relative to the other port, and of the other base
        self._relative: Quintic
        self._path: Quintic
        self._aligned_since: float | None = None
        self._closed_since: float | None = None
        self._attempts = 0
        #: pose and rate of the chaser's port relative to the other port, by the estimate of this tick
        self._seen: tuple[Array, Array]

    def observe(self, state: State) -> None:
        """Where the ports are."""
        bases = (PlanarMotion(state.q[own], state.u[own], np.zeros(3)) for own in (self._base, self._other))
        port, other = (base.carries(port) for base, port in zip(bases, (self._port, self._other_port), strict=True))
        self._seen = port.seen_from(other)

    # Apart: the chaser follows the other port, which holds its station

    def enter_approach(self, now: Instant) -> None:
        self._pose = now.state.q.copy()
        self._stay(now)
        self._lead(now, self._options.approach_s, -self._options.corridor_m)

    def leave_approach(self, now: Instant) -> str | None:
        if self._seen[0][0] > 0:  # a straight way to the entrance would lead through the other one
            return "halt"
        return "align" if now.since >= self._options.approach_s else None

    def act_approach(self, now: Instant) -> Action:
        state, relative = now.state, PlanarMotion(*self._relative.at(now.t))
        seen = PlanarMotion(state.q[self._other], state.u[self._other], np.zeros(3))
        return self._action(now, PlanarMotion(*self._path.at(now.t)), seen, relative)

    act_align = act_close_in = act_capture = act_back_off = act_approach

    def enter_align(self, now: Instant) -> None:
        self._aligned_since = None

    def leave_align(self, now: Instant) -> str | None:
        off = self._seen[0] + np.array([self._options.corridor_m, 0.0, 0.0])
        is_aligned = math.hypot(*off[:2]) < self._options.align_m and abs(off[2]) < self._options.align_rad
        if not is_aligned or self._aligned_since is None:
            self._aligned_since = now.t if is_aligned else None
            return None
        return "close_in" if now.t - self._aligned_since >= self._options.align_s else None

    def enter_close_in(self, now: Instant) -> None:
        self._attempts += 1
        self._lead(now, self._options.close_in_s, 0.0)

    def leave_close_in(self, now: Instant) -> str | None:
        if self._is_beside():
            return "back_off"
        return "capture" if now.since >= self._options.close_in_s else None

    def enter_capture(self, now: Instant) -> None:
        self._closed_since = None

    def leave_capture(self, now: Instant) -> str | None:
        off, rate = self._seen
        is_near = math.hypot(*off[:2]) < self._options.close_m and abs(off[2]) < self._options.close_rad
        if self._closed_since is None and is_near and math.hypot(*rate[:2]) < self._options.close_m_s:
            self.gripping, self._closed_since = frozenset({self._options.contact}), now.t
        if self._options.contact in now.holding:
            return "settle"
        missed = self._closed_since is not None and now.t - self._closed_since > self._options.grip_s
        return "back_off" if missed or self._is_beside() else None

    def enter_back_off(self, now: Instant) -> None:
        self.gripping = frozenset()
        self._stay(now)
        self._lead(now, self._options.back_off_s, -self._options.corridor_m)

    def leave_back_off(self, now: Instant) -> str | None:
        if now.since < self._options.back_off_s:
            return None
        return "align" if self._attempts < self._options.attempts else "halt"

    # Docked: one motion of both

    def enter_settle(self, now: Instant) -> None:
        self._stay(now)

    def leave_settle(self, now: Instant) -> str | None:
        return self._lost(now) or ("fly" if now.since >= self._options.settle_s else None)

    def act_settle(self, now: Instant) -> Action:
        path = PlanarMotion(*self._path.at(now.t))
        return self._action(now, path, path, PlanarMotion.fixed(0.0, 0.0, 0.0))

    act_fly = act_hold = act_undock = act_settle

    def enter_fly(self, now: Instant) -> None:
        here, goal = self._path.at(now.t)[0], self._path.at(now.t)[0].copy()
        if self._options.goal_m is not None:
            goal[:2] = self._options.goal_m
        if self._options.goal_rad is not None:
            goal[2] = self._options.goal_rad
        self._path = Quintic.to_rest(now.t, self._options.fly_s, here, np.zeros(3), goal)

    def leave_fly(self, now: Instant) -> str | None:
        return self._lost(now) or ("hold" if now.since >= self._options.fly_s else None)

    def leave_hold(self, now: Instant) -> str | None:
        return self._lost(now) or ("undock" if now.since >= self._options.hold_s else None)

    def enter_undock(self, now: Instant) -> None:
        self.gripping = frozenset()

    def leave_undock(self, now: Instant) -> str | None:
        return None if now.holding else "separate"

    # Apart again

    def enter_separate(self, now: Instant) -> None:
        self._lead(now, self._options.back_off_s, -self._options.corridor_m)

    def leave_separate(self, now: Instant) -> str | None:
        return "rest" if now.since >= self._options.back_off_s else None

    act_separate = act_approach

    def enter_rest(self, now: Instant) -> None:
        self._rest_of_all(now)

    def act_rest(self, now: Instant) -> Action:
        q, u, a = self._path.at(now.t)
        return Action(q, u, a, self._task(), done=now.t >= self._path.end_s)

    def enter_halt(self, now: Instant) -> None:
        self.gripping = frozenset()
        self._rest_of_all(now)

    act_halt = act_rest

    # Parts of these

    def _rest_of_all(self, now: Instant) -> None:
        """From the motion of now to rest; afterwards the paths are of all coordinates."""
        q, u = now.state.q, now.state.u
        self._path = Quintic.speed_change(now.t, self._options.settle_s, q, u, np.zeros(len(u)))

    def _stay(self, now: Instant) -> None:
        """The other base comes to rest and stays there."""
        q, u = now.state.q[self._other], now.state.u[self._other]
        self._path = Quintic.speed_change(now.t, self._options.settle_s, q, u, np.zeros(3))

    def _lead(self, now: Instant, duration: float, x: float) -> None:
        """Lead the port from its motion of now to a distance before the other."""
        pose, rate = self._seen
        self._relative = Quintic.to_rest(now.t, duration, pose, rate, np.array([x, 0.0, 0.0]))

    def _is_beside(self) -> bool:
        """Whether the port is outside the corridor."""
        off, _ = self._seen
        return bool(abs(off[1]) > self._options.beside_m or abs(off[2]) > self._options.beside_rad)

    def _lost(self, now: Instant) -> str | None:
        is_away = math.hypot(*self._seen[0][:2]) > self._options.lost_m
        return "back_off" if is_away or self._options.contact not in now.holding else None

    def _task(self) -> Array:
        task = self.tasks.nothing(self.code)
        for i in range(self.model.n):
            self.tasks.weigh(task, i, 1.0)
        return task

    def _action(self, now: Instant, path: PlanarMotion, carrier: PlanarMotion, relative: PlanarMotion) -> Action:
        """The other base follows its path, the chaser the port of the carrier at a relative pose, and joints stay."""
        q, u, a = self._pose.copy(), np.zeros(self.model.n), np.zeros(self.model.n)
        base = carrier.carries(self._other_port).carries(relative).carries(self._port.inverse())
        turns = 2 * math.pi * round((now.state.q[self._base[2]] - base.q[2]) / (2 * math.pi))
        q[self._base], u[self._base], a[self._base] = base.q + np.array([0.0, 0.0, turns]), base.u, base.a
        q[self._other], u[self._other], a[self._other] = path
        return Action(q, u, a, self._task())


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
