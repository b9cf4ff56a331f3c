"""Catch: a hand takes hold of an object that drifts and turns, while the base is in transit.

The base is brought to its transit velocity by thrusters and then coasts, so that no valve disturbs the hand. The hand
follows the grip of the object as it is estimated, at an offset that a fifth-order polynomial brings to zero. With the
object in hand, the base brakes to rest and the arm stays as it is; so it does after a miss.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.base import Positive
from granite.config.behaviour import StateNote
from granite.config.contacts import Side
from granite.config.errors import InputError
from granite.config.records import Array, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.hands import arm_of
from granite.controllers.behaviours.state_machine import Action, Instant, OneContactOptions, StateMachine
from granite.controllers.behaviours.target_kinematics import TargetKinematics
from granite.controllers.behaviours.task_plan import TaskPlan
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic
from granite.kernels.compilation import compile_once

#: weights of the tasks
_BASE, _JOINT, _HAND = 1.0, 1.0, 100.0

#: in which time the arms come to rest after the catch [s]
_ARM_STOPS_S = 0.5
#: speed of the shoulder about the base, and error of the estimated speeds, in transit [m/s]
_SLACK_M_S = 0.02
#: how often the object in hand is looked at [s]
_LOOKS_S = 0.25
_AWAY = "the hand reports to hold, but the object is not there"

STATES = (
    StateNote("accelerate", "brings the base to its transit velocity", {"transit": "after accelerate_s"}),
    StateNote("transit", "coasts until the object is near", {"reach": "the grip is within reach_m"}, 60.0, "missed"),
    StateNote("reach", "leads the hand to the grip of the object", {"catch": "after reach_s"}, 20.0, "missed"),
    StateNote("catch", "follows the grip and closes the hand", {"stop": "the hand holds"}, 1.5, "missed"),
    StateNote("stop", "brings base and arms to rest", {"rest": "after stop_s", "missed": _AWAY}),
    StateNote("rest", "holds the base and the arms; the behaviour is done", {"missed": _AWAY}),
    StateNote("missed", "the hand is empty: it opens, the base comes to rest", {}, fails=True),
)


class CatchObject(StateMachine):
    """One hand and one object."""

    class Options(OneContactOptions):
        """When; the contact joins a point of a controlled module to a point of a known object."""

        machine: ClassVar[tuple[StateNote, ...]] = STATES
        #: of the base in transit
        velocity_m_s: tuple[float, float]
        accelerate_s: Positive = 4.0  #: time in which the base gains that velocity
        #: from the first joint of the arm to the grip
        reach_m: Positive = 0.5
        reach_s: Positive = 2.5  #: time in which the arm reaches for the grip
        stop_s: Positive = 6.0  #: time in which base and arms stop with the object
        #: the hand closes where it is nearer to the grip and slower relative to it, by the estimate
        close_m: Positive = 1.5e-3
        close_m_s: Positive = 2e-3  #: relative speed below which the hand closes
        #: a grip that is further from its hand, by the estimate, is not held, whatever the hand reports
        lost_m: Positive = 0.02

    def __init__(self, options: Options, model: ControlModel) -> None:
        super().__init__(options, model)
        self._options, self._targets, layout = options, TargetKinematics(model), model.layout
        hand, held = _sides(options, model.bed)
        module = model.bed.module(hand.module)
        self._hand = f"{hand.module}_{hand.point}"
        self._base = [*range(layout.root_q(module).start, layout.root_q(module).stop)]
        self._arms = [i for i in range(layout.q[module.name].start, layout.q[module.name].stop) if i not in self._base]
        joints, shoulder_m, longest = arm_of(module, str(hand.point))
        own = {layout.joint_q(layout.name(module, joint)) for joint in joints}
        self._others = [i for i in self._arms if i not in own]
        if options.reach_m >= longest:
            straight = f"less than {longest:g}, the length of the straight arm"
            raise InputError(key="behaviour.reach_m", value=options.reach_m, expected=straight)

        def write() -> list[ca.Function]:
            grip = model.point(held.module, str(held.point))
            shoulder = model.trees[module.name].point(module.root.name, tuple(shoulder_m))
            # The object floats freely: its own acceleration is the drift.
            motion = [grip.position[:2], grip.velocity[:2], grip.drift[:2], shoulder.position[:2]]
            return [ca.Function("grip", [model.q, model.u], [ca.densify(ca.vertcat(*motion))])]

        key = model.bed.fingerprint and f"{model.bed.fingerprint} {options.contact}"
        self._grip = compile_once("grip", key, write)["grip"].run

    # The base moves, the arms stay

    def enter_accelerate(self, now: Instant) -> None:
        after = np.array([*self._options.velocity_m_s, 0.0])
        self._path = Quintic.speed_change(
            now.t, self._options.accelerate_s, now.state.q[self._base], np.zeros(3), after
        )
        self._still = _staying(now)
        self.sleep(now.t + self._options.accelerate_s)

    def leave_accelerate(self, now: Instant) -> str | None:
        return "transit" if now.since >= self._options.accelerate_s else None

    def plan_accelerate(self, now: Instant) -> TaskPlan:
        """Base along its path, arms as they are."""
        plan = self.new_plan()
        plan.follow(self._base, self._path, _BASE)
        plan.follow(self._arms, self._still, _JOINT, of=self._arms)
        return plan

    def leave_transit(self, now: Instant) -> str | None:
        x, v, _, shoulder = self._seen(now.state)
        left = float(np.linalg.norm(x - shoulder)) - self._options.reach_m
        # Not earlier, even if both were twice as fast as they are: the ticks until then need no look.
        speed = float(np.linalg.norm(v)) + float(np.linalg.norm(now.state.u[self._base[:2]])) + _SLACK_M_S
        self.sleep(np.inf, left / (2 * speed))
        return "reach" if left < 0 else None

    plan_transit = plan_accelerate

    # The hand moves, the base coasts

    def enter_reach(self, now: Instant) -> None:
        x, v, _, _ = self._seen(now.state)
        hand = self._targets(now.state)[self._hand]
        self._offset = Quintic.to_rest(now.t, self._options.reach_s, hand.x - x, hand.v - v, np.zeros(2))

    def leave_reach(self, now: Instant) -> str | None:
        return "catch" if now.since >= self._options.reach_s else None

    def act_reach(self, now: Instant) -> Action:
        """The hand at its offset from the grip, the other arm as it is."""
        q, u, task = now.state.q.copy(), now.state.u.copy(), self.tasks.nothing(self.code)
        x, v, drift, _ = self._seen(now.state)
        offset, rate, acceleration = self._offset.at(now.t)
        self.tasks.aim(task, self._hand, x + offset, v + rate, drift + acceleration, _HAND)
        q[self._others], u[self._others] = self._still.at(now.t)[0][self._others], 0.0
        for i in self._others:
            self.tasks.weigh(task, i, _JOINT)
        return Action(q, u, np.zeros(len(u)), task)

    act_catch = act_reach

    def leave_catch(self, now: Instant) -> str | None:
        x, v, _, _ = self._seen(now.state)
        hand = self._targets(now.state)[self._hand]
        miss, speed = np.linalg.norm(hand.x - x), np.linalg.norm(hand.v - v)
        if miss < self._options.close_m and speed < self._options.close_m_s:
            self.gripping = self.gripping | {self._options.contact}
        return "stop" if self._options.contact in now.holding else None

    # The base stops

    def enter_stop(self, now: Instant) -> None:
        q, u = now.state.q, now.state.u
        self._path = Quintic.speed_change(now.t, self._options.stop_s, q[self._base], u[self._base], np.zeros(3))
        # A reference at rest at once would be a step of the torque, as large as the load in hand.
        self._still = Quintic.speed_change(now.t, _ARM_STOPS_S, q, u, np.zeros(len(u)))
        self.sleep(now.t + self._options.stop_s, _LOOKS_S)

    def leave_stop(self, now: Instant) -> str | None:
        if self._is_away(now):
            return "missed"
        return "rest" if now.since >= self._options.stop_s else None

    plan_stop = plan_accelerate

    def enter_rest(self, now: Instant) -> None:
        self.sleep(np.inf, _LOOKS_S)

    def leave_rest(self, now: Instant) -> str | None:
        return "missed" if self._is_away(now) else None

    def plan_rest(self, now: Instant) -> TaskPlan:
        """As at the end of `stop`."""
        plan = self.plan_accelerate(now)
        plan.done = True
        return plan

    def enter_missed(self, now: Instant) -> None:
        self.gripping = self.gripping - {self._options.contact}
        self.enter_stop(now)
        self.sleep(np.inf)

    plan_missed = plan_rest

    # Parts of these

    def _is_away(self, now: Instant) -> bool:
        """Whether the object is not in hand."""
        away = np.linalg.norm(self._targets(now.state)[self._hand].x - self._seen(now.state)[0])
        return self._options.contact not in now.holding or bool(away > self._options.lost_m)

    def _seen(self, state: State) -> Array:
        """Position, velocity and drift of the grip, position of the shoulder; each x and y."""
        return self._grip((state.q, state.u)).reshape(4, 2)


def _staying(now: Instant) -> Quintic:
    """All coordinates where they are."""
    q = now.state.q
    return Quintic.to_rest(now.t, 1.0, q, np.zeros(len(q)), q)


def _sides(options: CatchObject.Options, bed: Testbed) -> tuple[Side, Side]:
    """The side of the hand and that of the object."""
    contact = next(c for c in bed.contacts if c.name == options.contact)
    controlled = [module.name for module in bed.controlled]
    sides = sorted((contact.first, contact.second), key=lambda side: side.module not in controlled)
    known = [module.name for module in bed.known.modules if module.name not in controlled]
    if sides[0].module not in controlled or sides[1].module not in known:
        raise InputError(
            f"it joins '{sides[0].module}' and '{sides[1].module}'", key="behaviour.contact", value=options.contact,
            expected="a point of a controlled module and a point of one of controller.objects",
        )  # fmt: skip
    if bed.module(sides[0].module).base != "floating":
        raise InputError(key="behaviour.contact", value=options.contact, expected="a hand of a module that floats")
    return sides[0], sides[1]
