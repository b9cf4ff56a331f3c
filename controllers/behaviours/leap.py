"""LEAP: the vehicle pushes off one bar, turns in flight on its wheel, and catches another bar; no thruster is needed.
With thrusters, errors of the release are corrected in mid-course, and they brake beside the arms after the catch.

Stanford report of 1987, sections 5.1 to 5.5: ten states, which the report does not list; these are ours. Hands are
pinned while they hold, so the degrees of freedom change from 4 (two hands) to 6 (one) to 8 (none) and back. In flight
the mass centre moves straight on, whatever the arms do: the flight is planned from its velocity, and planned again in
`midcourse` and `reach`. The hands are then led to the bar in world axes, so that errors of the release become other
angles of the arms, not misses.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

import numpy as np

from granite.config.devices.momentum_wheel import rate_limits
from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.behaviours.hands import hands_of
from granite.controllers.behaviours.leap_options import LeapOptions, given_coordinates, refuse_unreachable
from granite.controllers.behaviours.state_machine import Instant, StateMachine
from granite.controllers.behaviours.target_kinematics import TargetKinematics
from granite.controllers.behaviours.task_plan import TaskPlan
from granite.controllers.behaviours.tasks import CENTRE
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic

#: weights of the tasks: an error of acceleration of 1 m/s^2 or rad/s^2 counts by its square root
_BASE, _HEADING, _JOINT, _WHEEL, _HAND, _CENTRE = 1.0, 1.0, 1.0, 1e-4, 100.0, 10.0
#: how often the bars in hand are looked at [s]
_LOOKS_S = 0.1
#: ticks over which the rate of a hand is a mean
_MEAN_TICKS = 3
#: for how long both hands hold between two steps along the bar: closing shakes the arm [s]
_BOTH_S = 0.3
#: the thrusters rest for so long at the end of a state: a pulse that began is over by then [s]
_PULSES_END_S = 0.5


class Leap(StateMachine):
    """The leap of one floating module with hands."""

    class Options(LeapOptions):
        """Those of the leap."""

    def __init__(self, options: LeapOptions, model: ControlModel) -> None:
        super().__init__(options, model)
        bed, layout = model.bed, model.layout
        self._options = options
        names = {key: tuple(n for group in getattr(options, key) for n in group) for key in ("release", "catch")}
        self._from = hands_of(model, "behaviour.release", names["release"])
        self._to = hands_of(model, "behaviour.catch", names["catch"])
        crawled = hands_of(model, "behaviour.crawl", tuple(step.close for step in options.crawl))
        self._hands = {**self._from, **self._to, **crawled}
        self._targets = TargetKinematics(model)
        module = next(m for m in model.floating if m in bed.controlled)
        self._base = [*range(layout.root_q(module).start, layout.root_q(module).stop)]
        self._wheels = [model.driven[i] for i in rate_limits(bed)]
        if not self._wheels:
            raise InputError.missing("devices", "a momentum_wheel, because the vehicle turns on one")
        still = np.zeros(len(self._wheels))
        self._wheels_at_rest = Quintic.to_rest(0.0, 1.0, still, still, still)
        self._arms = [i for i in model.driven if i not in self._wheels]
        keys = [c.key for c in layout.positions]
        self._folded = given_coordinates(options.folded, keys, "behaviour.folded")
        self._crouched = given_coordinates(options.crouched, [keys[i] for i in self._base], "behaviour.crouched")
        self._middle = np.mean([hand.position for hand in self._to.values()], axis=0)
        self._aimed_velocity = np.array(options.velocity_m_s)
        #: when thrusters are to end in this state [s], and whether they have
        self._thrust_until, self._coasts = np.inf, False
        refuse_unreachable(options, self._from, self._to)
        #: groups that were let go, and steps along the bar
        self._group = self._step = 0
        self._distance = 0.0
        self._catch_at = 0.0
        #: of the hands that are to close [m/s]
        self._mean_rates: dict[str, Array] = {}
        #: since when both hands hold between two steps [s]
        self._both_since = np.inf

    # With both hands at a bar: base and wheel

    def enter_hold(self, now: Instant) -> None:
        self.sleep(now.t + self._options.hold_s, _LOOKS_S)

    def plan_hold(self, now: Instant) -> TaskPlan:
        """Nothing moves by itself."""
        return self.new_plan()

    def leave_hold(self, now: Instant) -> str | None:
        return self._unless_lost(now, "crouch", self._options.hold_s)

    def enter_crouch(self, now: Instant) -> None:
        start, rest = now.state.q[self._base], np.zeros(3)
        goal = start.copy()
        for i, value in self._crouched.items():
            goal[i] = value
        self._path = Quintic.to_rest(now.t, self._options.crouch_s, start, rest, goal)
        self._still = _slowed(now)
        self.sleep(self._path.end_s, _LOOKS_S)

    def leave_crouch(self, now: Instant) -> str | None:
        return self._unless_lost(now, "push", self._options.crouch_s)

    def enter_push(self, now: Instant) -> None:
        x, v, _ = self._path.at(now.t)
        after = np.array([*self._options.velocity_m_s, 0.0])
        self._path = Quintic.speed_change(now.t, self._options.push_s, x, v, after)
        self.sleep(self._path.end_s, _LOOKS_S)

    def leave_push(self, now: Instant) -> str | None:
        return self._unless_lost(now, "release", self._options.push_s)

    def plan_crouch(self, now: Instant) -> TaskPlan:
        """Follow the path of the base, wheel at rest."""
        plan = self.new_plan()
        plan.follow(self._base, self._path, _BASE)
        if len(now.holding) > 1:
            plan.follow_rate(self._wheels, self._wheels_at_rest, _WHEEL)
        else:  # the wheel turns the base, because one pinned hand can't
            self._rest_free_arms(now, (), plan)
        return plan

    plan_push = plan_crouch

    # Letting go, and flight

    def enter_release(self, now: Instant) -> None:
        group = self._options.release[self._group]
        self.gripping = self.gripping.difference(group)
        self._group += 1
        centre, heading = self._targets(now.state)[CENTRE], self._base[2]
        self._centre = Quintic.speed_change(now.t, 1.0, centre.x, centre.v, centre.v)
        self._distance = float(
            np.linalg.norm(centre.x - np.mean([hand.position for hand in self._from.values()], axis=0))
        )
        self._still = _slowed(now)
        self._heading = float(self._path.at(now.t)[0][2])
        self._turn = Quintic.to_rest(now.t, 1.0, now.state.q[[heading]], np.zeros(1), now.state.q[[heading]])
        self.sleep(now.t + self._options.group_s)

    def leave_release(self, now: Instant) -> str | None:
        if now.holding & frozenset(name for group in self._options.release[: self._group] for name in group):
            return None  # not open yet
        if self._group == len(self._options.release):
            return "fold"
        return "release" if now.since >= self._options.group_s else None

    def plan_release(self, now: Instant) -> TaskPlan:
        """One hand still holds: the mass centre coasts, so that the pin has no force."""
        return self._one_handed(now, {})

    def enter_fold(self, now: Instant) -> None:
        q = now.state.q.copy()
        for i, angle in self._folded.items():
            q[i] = angle
        self._arm_path = Quintic.to_rest(
            now.t, self._options.fold_s, now.state.q[self._arms], now.state.u[self._arms], q[self._arms]
        )
        centre = self._targets(now.state)[CENTRE]
        speed = float(np.linalg.norm(centre.v))
        self._direction = centre.v / max(speed, 1e-6)
        self._distance = self._options.catch_distance_m or self._distance
        self._began, self._catch_at, self._released = now.t, self._predict(now), centre.x
        self._plan_turn(now.t, (now.state.q[self._base[2]], now.state.u[self._base[2]]))
        self.sleep(self._arm_path.end_s)

    def leave_fold(self, now: Instant) -> str | None:
        return "turn" if now.since >= self._options.fold_s else None

    def enter_turn(self, now: Instant) -> None:
        self.sleep((self._began + self._catch_at) / 2)

    def leave_turn(self, now: Instant) -> str | None:
        return "midcourse" if now.t >= (self._began + self._catch_at) / 2 else None

    def enter_midcourse(self, now: Instant) -> None:
        self.enter_coast(now)
        room = self._catch_at - self._options.reach_s - _PULSES_END_S - now.t
        self._corrects = self._may_thrust() and room > _PULSES_END_S
        if self._corrects:
            duration, centre = min(self._options.correct_s, room), self._targets(now.state)[CENTRE]
            after = self._corrected_velocity(centre.x, centre.v, self._catch_at - now.t, duration)
            self._centre = Quintic.speed_change(now.t, duration, centre.x, centre.v, after)
            self._thrust_until, self._coasts = now.t + duration, False
            self.sleep(self._thrust_until)

    def leave_midcourse(self, now: Instant) -> str | None:
        if not self._corrects:
            return self.leave_coast(now)
        if now.t >= self._thrust_until and not self._coasts:
            self._coasts = True  # for the rest of the state, so that the last pulse ends in it
            self.sleep(self._thrust_until + _PULSES_END_S)
        return "coast" if now.t >= self._thrust_until + _PULSES_END_S else None

    def plan_midcourse(self, now: Instant) -> TaskPlan:
        """As in `fold`, the mass centre along its correction."""
        plan = self.plan_fold(now)
        if not self._corrects or self._coasts:
            plan.coast()
        else:
            plan.aim(CENTRE, self._centre, _CENTRE)
        return plan

    def enter_coast(self, now: Instant) -> None:
        if self.name == "coast":  # after a correction
            velocity = self._targets(now.state)[CENTRE].v
            self._direction = velocity / max(float(np.linalg.norm(velocity)), 1e-6)
        self._catch_at = self._predict(now)
        heading, rate, _ = self._turn.at(now.t)
        self._plan_turn(now.t, (float(heading[0]), float(rate[0])), self._turn.at(now.t)[2])
        self.sleep(self._catch_at - self._options.reach_s)

    def leave_coast(self, now: Instant) -> str | None:
        return "reach" if now.t >= self._catch_at - self._options.reach_s else None

    def plan_fold(self, now: Instant) -> TaskPlan:
        """Arms by their joints, heading by the wheel."""
        plan = self.new_plan()
        plan.follow(self._arms, self._arm_path, _JOINT)
        plan.follow(self._base[2:], self._turn, _HEADING)
        return plan

    plan_turn = plan_coast = plan_fold

    # Reaching and catching

    def enter_reach(self, now: Instant) -> None:
        self._catch_at = max(self._predict(now), now.t + 0.5 * self._options.reach_s)
        targets = self._targets(now.state)
        self._hand_paths = {
            name: Quintic.to_rest(now.t, self._catch_at - now.t, *targets[hand.target], hand.position)
            for name, hand in self._to.items()
        }
        self._still = _slowed(now)
        self.sleep(self._catch_at)

    def leave_reach(self, now: Instant) -> str | None:
        return "catch" if now.t >= self._catch_at else None

    def plan_reach(self, now: Instant) -> TaskPlan:
        """Hands in world axes, heading by the wheel."""
        plan = self.new_plan()
        self._lead_hands(now, plan, self._hand_paths)
        plan.follow(self._base[2:], self._turn, _HEADING)
        return plan

    plan_catch = plan_reach

    def leave_catch(self, now: Instant) -> str | None:
        self._close(now, self._options.catch[0])
        caught = now.holding & self._to.keys()
        if caught == self._to.keys():
            return "settle"
        return "recover" if caught >= frozenset(self._options.catch[0]) or (caught and now.since > 0.3) else None

    def enter_recover(self, now: Instant) -> None:
        targets = self._targets(now.state)
        centre = targets[CENTRE]
        self._centre = Quintic.speed_change(now.t, self._options.settle_s, centre.x, centre.v, np.zeros(2))
        missing = [name for name in self._to if name not in now.holding]
        self._hand_paths = {
            name: Quintic.to_rest(
                now.t, self._options.group_s, *targets[self._to[name].target], self._to[name].position
            )
            for name in missing
        }
        self.sleep(now.t + self._options.group_s)

    def leave_recover(self, now: Instant) -> str | None:
        if now.since >= self._options.group_s:
            self._close(now, tuple(self._hand_paths))
        held = self._held(now)
        if not held:
            return "float"
        return "settle" if held >= self._to.keys() else None

    def plan_recover(self, now: Instant) -> TaskPlan:
        """Brake with the hand that holds, lead the other to the bar."""
        return self._one_handed(now, self._hand_paths)

    def enter_settle(self, now: Instant) -> None:
        state, centre = now.state, self._targets(now.state)[CENTRE]
        x, v = state.q[self._base], state.u[self._base]
        after, goal = np.zeros(3), x + self._options.settle_s * v / 2
        goal[2] = self._heading_at_rest()
        self._path = Quintic(now.t, self._options.settle_s, (x, v, after), (goal, after, after))
        self._centre = Quintic.speed_change(now.t, self._options.settle_s, centre.x, centre.v, np.zeros(2))
        wheels = state.u[self._wheels]
        self._turn = self._path_of_heading(goal[2], now)
        self._unload = Quintic.to_rest(
            now.t, self._options.settle_s, wheels, np.zeros(len(wheels)), np.zeros(len(wheels))
        )
        self._still = _slowed(now)
        self._thrust_until, self._coasts = now.t + self._options.settle_s, not self._may_thrust()
        self.sleep(now.t + self._options.settle_s + 1.0, _LOOKS_S)

    def leave_settle(self, now: Instant) -> str | None:
        if not self._held(now):
            return "float"
        if now.t >= self._thrust_until and not self._coasts:
            self._coasts = True  # for the rest of the state, so that the last pulse ends in it
        if now.since < self._options.settle_s + 1.0:
            return None
        is_left = self.name == "settle" and self._step < len(self._options.crawl)
        return "crawl" if is_left and len(now.holding) > 1 else "rest"

    def plan_settle(self, now: Instant) -> TaskPlan:
        """Two hands: base to rest and wheel unloaded; one hand: mass centre to rest, momentum stays in the wheel."""
        if len(now.holding) < 2:
            plan = self._one_handed(now, {})
        else:
            plan = self.plan_crouch(now)
            plan.follow_rate(self._wheels, self._unload, _WHEEL)
        if self._coasts:
            plan.coast()
        return plan

    def enter_rest(self, now: Instant) -> None:
        self.sleep(np.inf, _LOOKS_S)

    def leave_rest(self, now: Instant) -> str | None:
        return None if self._held(now) else "float"

    def plan_rest(self, now: Instant) -> TaskPlan:
        """As at the end of `settle`."""
        plan = self.plan_settle(now)
        plan.done = True
        return plan

    # Along the bar

    def enter_crawl(self, now: Instant) -> None:
        step, targets = self._options.crawl[self._step], self._targets(now.state)
        self.gripping = self.gripping.difference({step.open})
        hand = self._hands[step.close]
        self._hand_paths = {
            step.close: Quintic.to_rest(
                now.t, self._options.crawl_s, targets[hand.target].x, np.zeros(2), hand.position
            )
        }
        centre = targets[CENTRE].x
        self._centre = Quintic.to_rest(now.t, 1.0, centre, np.zeros(2), centre)
        self._turn = self._path_of_heading(self._heading_at_rest(), now)
        self.sleep(now.t + self._options.crawl_s)

    def leave_crawl(self, now: Instant) -> str | None:
        step = self._options.crawl[self._step]
        if not now.holding:
            return "float"
        if now.since >= self._options.crawl_s:
            self._close(now, (step.close,))
        if step.close not in now.holding:
            return None
        self._both_since = min(self._both_since, now.t)
        if now.t < self._both_since + _BOTH_S:
            return None
        self._both_since = np.inf
        self._step += 1
        return "crawl" if self._step < len(self._options.crawl) else "settle"

    plan_crawl = plan_recover

    # Aborts

    def enter_stop(self, now: Instant) -> None:
        self.gripping = now.holding
        self._heading = float(now.state.q[self._base[2]]) - self._options.turn_rad
        self.enter_settle(now)

    leave_stop, plan_stop = leave_settle, plan_settle

    def enter_float(self, now: Instant) -> None:
        self.gripping = frozenset()
        q, u = now.state.q[self._arms], now.state.u[self._arms]
        self._arm_path = Quintic.to_rest(now.t, 1.0, q, u, q + 0.5 * u)
        self.sleep(np.inf)

    def plan_float(self, now: Instant) -> TaskPlan:
        """Arms to rest, nothing else."""
        plan = self.new_plan()
        plan.follow(self._arms, self._arm_path, _JOINT)
        return plan

    # Parts of these

    def _may_thrust(self) -> bool:
        """Whether thrusters may fire in this state."""
        return self.tasks.has_thrusters and self._notes[self.name].thrusters

    def _corrected_velocity(self, x: Array, v: Array, left_s: float, duration: float) -> Array:
        """Of the mass centre after a correction, so that it is at the catch where an exact release leads to."""
        along = self._aimed_velocity / np.linalg.norm(self._aimed_velocity)
        way = float((self._middle - self._released) @ along) - self._distance
        after: Array = (self._released + way * along - x - duration * v / 2) / (left_s - duration / 2)
        return after

    def _held(self, now: Instant) -> frozenset[str]:
        """The hands that report to hold and are at their bars, by the estimate; the others are opened."""
        targets = self._targets(now.state)
        away = {
            name
            for name in now.holding & self._hands.keys()
            if np.linalg.norm(targets[self._hands[name].target].x - self._hands[name].position) > self._options.lost_m
        }
        self.gripping = self.gripping - away
        return now.holding - away

    def _unless_lost(self, now: Instant, following: str, after_s: float) -> str | None:
        commanded = self.gripping
        if self._held(now) < commanded:
            return "float"
        return following if now.since >= after_s else None

    def _one_handed(self, now: Instant, hand_paths: dict[str, Quintic]) -> TaskPlan:
        """Mass centre along its path, heading by the wheel, free hands along their paths or their arms at rest."""
        plan = self.new_plan()
        plan.aim(CENTRE, self._centre, _CENTRE)
        plan.follow(self._base[2:], self._turn, _HEADING)
        self._lead_hands(now, plan, hand_paths)
        return plan

    def _lead_hands(self, now: Instant, plan: TaskPlan, hand_paths: dict[str, Quintic]) -> None:
        """Hands along their paths; the arms of the others rest."""
        for name, path in hand_paths.items():
            plan.aim(self._hands[name].target, path, _HAND)
        self._rest_free_arms(now, tuple(hand_paths), plan)

    def _rest_free_arms(self, now: Instant, led: tuple[str, ...], plan: TaskPlan) -> None:
        """Arms whose hands neither hold nor are led come to rest."""
        busy = {hand.joints for hand in self._hands.values() if hand.contact in now.holding or hand.contact in led}
        joints = [i for i in self._arms if not any(i in arm for arm in busy)]
        plan.follow(joints, self._still, _JOINT, of=joints)

    def _predict(self, now: Instant) -> float:
        """When the mass centre will be at its distance from the bar [s]."""
        centre = self._targets(now.state)[CENTRE]
        left = float((self._middle - centre.x) @ self._direction) - self._distance
        return now.t + max(left, 0.0) / max(float(centre.v @ self._direction), 1e-3)

    def _plan_turn(self, t: float, start: tuple[float, float], acceleration: Array | None = None) -> None:
        rest, (heading, rate) = np.zeros(1), start
        first = np.array([heading]), np.array([rate]), rest if acceleration is None else acceleration
        self._turn = Quintic(t, max(self._catch_at - t, 1.0), first, (np.array([self._heading_at_rest()]), rest, rest))

    def _path_of_heading(self, goal: float, now: Instant) -> Quintic:
        """From the heading of now to rest at the goal."""
        i = [self._base[2]]
        return Quintic.to_rest(now.t, 1.0, now.state.q[i], now.state.u[i], np.array([goal]))

    def _heading_at_rest(self) -> float:
        """After the turn [rad]."""
        return self._heading + self._options.turn_rad

    def _close(self, now: Instant, group: tuple[str, ...]) -> None:
        """Close the hands of a group when all of them are slow at their grips, in the mean of a few ticks: in a single
        one the noise of the rates may hide a motion.
        """
        targets = self._targets(now.state)
        is_ready = True
        for name in (name for name in group if name not in self.gripping):
            x, v = targets[self._hands[name].target]
            mean = self._mean_rates.get(name, v)
            mean = self._mean_rates[name] = mean + (v - mean) / _MEAN_TICKS
            is_near = np.linalg.norm(x - self._hands[name].position) < self._options.close_m
            is_ready = bool(is_ready and is_near and np.linalg.norm(mean) < self._options.close_m_s)
        if is_ready:
            self.gripping = self.gripping.union(group)


def _slowed(now: Instant) -> Quintic:
    """All coordinates to rest in half a second."""
    q, u = now.state.q, now.state.u
    return Quintic.speed_change(now.t, 0.5, q, u, np.zeros(len(u)))
