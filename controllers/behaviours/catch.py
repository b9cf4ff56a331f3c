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
from granite.config.testbed import Testbed
from granite.controllers.behaviours.hands import arm_of
from granite.controllers.behaviours.state_machine import Instant, OneContactOptions, StateMachine, staying
from granite.controllers.behaviours.task_plan import TaskPlan, TickForm, TickResults, TickSymbols
from granite.controllers.behaviours.tasks import TaskLayout
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic

#: weights of the tasks
_BASE, _JOINT, _HAND = 1.0, 1.0, 100.0

#: in which time the arms come to rest after the catch [s]
_ARM_STOPS_S = 0.5
#: speed of the shoulder about the base, and error of the estimated speeds, in transit [m/s]
_SLACK_M_S = 0.02
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
        self._options, self._model, layout = options, model, model.layout
        self._targets, (hand, self._held) = TaskLayout(model.bed), _sides(options, model.bed)
        module = model.bed.module(hand.module)
        self._hand, self._tip = f"{hand.module}_{hand.point}", (module.name, str(hand.point))
        joints, shoulder_m, longest = arm_of(module, str(hand.point))
        self._shoulder = model.trees[module.name].point(module.root.name, tuple(shoulder_m)).position[:2]
        limits = options.model_dump_json(include={"contact", "close_m", "close_m_s", "lost_m"})
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {limits}"
        super().__init__(options, model, TickForm(key, 1, 0, ("near", "away"), self._write))
        self._base = [*range(layout.root_q(module).start, layout.root_q(module).stop)]
        self._arms = [i for i in range(layout.q[module.name].start, layout.q[module.name].stop) if i not in self._base]
        own = {layout.joint_q(layout.name(module, joint)) for joint in joints}
        self._others = [i for i in self._arms if i not in own]
        if options.reach_m >= longest:
            straight = f"less than {longest:g}, the length of the straight arm"
            raise InputError(key="behaviour.reach_m", value=options.reach_m, expected=straight)

    def _write(self, tick: TickSymbols) -> TickResults:
        """The hand may follow the grip; conditions; motions of hand and grip, and the shoulder."""
        model, options = self._model, self._options
        hand, grip = model.point(*self._tip), model.point(self._held.module, str(self._held.point))
        # The object floats freely: its own acceleration is the drift.
        parts = [grip.position, grip.velocity, grip.drift, self._shoulder, hand.position, hand.velocity]
        motions = ca.Function("motions", [model.q, model.u], [ca.densify(part[:2]) for part in parts])
        x, v, drift, shoulder, hand_x, hand_v = motions.call([tick.state_q, tick.state_u])
        task = ca.SX(tick.task)
        task[self._targets.motion(self._hand)] += ca.if_else(tick.numbers, ca.vertcat(x, v, drift), ca.SX.zeros(6))
        miss = ca.norm_2(hand_x - x)
        near = ca.logic_and(miss < options.close_m, ca.norm_2(hand_v - v) < options.close_m_s)
        conditions, seen = ca.vertcat(near, miss > options.lost_m), ca.vertcat(x, v, shoulder, hand_x, hand_v)
        return TickResults(tick.q, tick.u, tick.a, task, tick.memory, conditions, seen)

    # The base moves, the arms stay

    def enter_accelerate(self, now: Instant) -> None:
        after = np.array([*self._options.velocity_m_s, 0.0])
        self._path = Quintic.speed_change(
            now.t, self._options.accelerate_s, now.state.q[self._base], np.zeros(3), after
        )
        self._still = staying(now)
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
        x, v, shoulder, *_ = np.split(self.seen, 5)
        left = float(np.linalg.norm(x - shoulder)) - self._options.reach_m
        # Not earlier, even if both were twice as fast as they are: the ticks until then need no look.
        speed = float(np.linalg.norm(v)) + float(np.linalg.norm(now.state.u[self._base[:2]])) + _SLACK_M_S
        self.sleep(np.inf, left / (2 * speed))
        return "reach" if left < 0 else None

    plan_transit = plan_accelerate

    # The hand moves, the base coasts

    def enter_reach(self, now: Instant) -> None:
        x, v, _, hand, rate = np.split(self.seen, 5)
        self._offset = Quintic.to_rest(now.t, self._options.reach_s, hand - x, rate - v, np.zeros(2))
        self.sleep(self._offset.end_s)

    def leave_reach(self, now: Instant) -> str | None:
        return "catch" if now.since >= self._options.reach_s else None

    def plan_reach(self, now: Instant) -> TaskPlan:
        """The hand at its offset from the grip, the other arm as it is."""
        plan = self.new_plan()
        plan.more[0] = 1.0
        plan.aim(self._hand, self._offset, _HAND)
        plan.follow(self._others, self._still, _JOINT, of=self._others)
        return plan

    plan_catch = plan_reach

    def leave_catch(self, now: Instant) -> str | None:
        if self.conditions["near"]:
            self.gripping = self.gripping | {self._options.contact}
        self.sleep(np.inf, awaited=("near",))
        return "stop" if self._options.contact in now.holding else None

    # The base stops

    def enter_stop(self, now: Instant) -> None:
        q, u = now.state.q, now.state.u
        self._path = Quintic.speed_change(now.t, self._options.stop_s, q[self._base], u[self._base], np.zeros(3))
        # A reference at rest at once would be a step of the torque, as large as the load in hand.
        self._still = Quintic.speed_change(now.t, _ARM_STOPS_S, q, u, np.zeros(len(u)))
        self.sleep(now.t + self._options.stop_s, awaited=("away",))

    def leave_stop(self, now: Instant) -> str | None:
        if self._is_away(now):
            return "missed"
        return "rest" if now.since >= self._options.stop_s else None

    plan_stop = plan_accelerate

    def enter_rest(self, now: Instant) -> None:
        self.sleep(np.inf, awaited=("away",))

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
        return self._options.contact not in now.holding or self.conditions["away"]


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
