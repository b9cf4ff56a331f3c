"""LEAP: the vehicle pushes off one bar, turns in flight on its wheel, and catches another bar; no thruster is needed.

Stanford report of 1987, sections 5.1 to 5.5: ten states, which the report does not list; these are ours. Hands are
pinned while they hold, so the degrees of freedom change from 4 (two hands) to 6 (one) to 8 (none) and back. In flight
the mass centre moves straight on, whatever the arms do: the flight is planned from its velocity, and planned again in
`midcourse` and `reach`. The hands are then led to the bar in world axes, so that errors of the release become other
angles of the arms, not misses.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Positive
from granite.config.behaviour import Groups, StateNote
from granite.config.devices.momentum_wheel import rate_limits
from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.behaviours.hands import Hand, hands_of
from granite.controllers.behaviours.state_machine import Action, Moment, StateMachine
from granite.controllers.model import ControlModel
from granite.controllers.target_kinematics import TargetKinematics
from granite.controllers.tasks import CENTRE
from granite.controllers.trajectories.quintic import Quintic

#: weights of the tasks: an error of acceleration of 1 m/s^2 or rad/s^2 counts by its square root
_BASE, _HEADING, _JOINT, _WHEEL, _HAND, _CENTRE = 1.0, 1.0, 1.0, 1e-4, 100.0, 10.0

_LOST = "a hand has lost the bar"
STATES = (
    StateNote("hold", "holds the bar at rest", {"crouch": "after hold_s", "float": _LOST}),
    StateNote("crouch", "draws the base to the bar", {"push": "after crouch_s", "float": _LOST}),
    StateNote("push", "accelerates the base away from the bar", {"release": "after push_s", "float": _LOST}),
    StateNote(
        "release", "lets go, hand after hand", {"release": "a group is open", "fold": "all hands are open"}, 2.0, "stop"
    ),
    StateNote("fold", "folds the arms and begins to turn on the wheel", {"turn": "arms folded"}, 10.0, "float"),
    StateNote("turn", "turns", {"midcourse": "half of the flight is over"}, 60.0, "float"),
    StateNote("midcourse", "plans turn and catch again", {"reach": "reach_s before the catch"}, 60.0, "float"),
    StateNote("reach", "leads the hands to the bar", {"catch": "at the time of the catch"}, 10.0, "float"),
    StateNote(
        "catch", "holds the hands at the bar and closes the first of them",
        {"settle": "all hands hold", "recover": "some hands hold"}, 1.0, "float",
    ),
    StateNote("recover", "brakes with one hand and leads the other to the bar", {"settle": "all hands hold"}, 4.0, "settle"),
    StateNote("settle", "brakes, and unloads the wheel where two hands hold", {"rest": "at rest"}, 20.0, "rest"),
    StateNote("rest", "holds the bar; the behaviour is done", {}),
    StateNote("stop", "brakes at the bar, because letting go failed", {"rest": "at rest"}, 20.0, "float"),
    StateNote("float", "floats with the arms at rest, after a miss or a lost bar", {}),
)  # fmt: skip


class Leap(StateMachine):
    """The leap of one floating module with hands."""

    class Options(StateMachine.Options):
        """When, how fast, and which hands."""

        machine: ClassVar[tuple[StateNote, ...]] = STATES
        #: groups of contacts that are let go one after the other; all are closed at the start
        release: Groups = Field(min_length=1)
        #: groups of contacts that take hold one after the other
        catch: Groups = Field(min_length=1)
        #: of the base when it leaves the bar
        velocity_m_s: tuple[float, float]
        turn_rad: float = np.pi
        #: arms in flight, by coordinate key; others keep their angles
        folded: dict[str, float] = Field(default_factory=dict)
        #: base before the push, by coordinate key; others keep their value
        crouched: dict[str, float] = Field(default_factory=dict)
        #: of the mass centre from the middle of the caught grips, along the flight; none: as at the release
        catch_distance_m: Positive | None = None
        hold_s: Positive = 0.5
        crouch_s: Positive = 3.0
        push_s: Positive = 4.0
        #: between groups that let go, and between groups that take hold
        group_s: Positive = 0.2
        fold_s: Positive = 2.0
        reach_s: Positive = 2.5
        settle_s: Positive = 4.0
        #: a hand closes where it is nearer to its grip and slower, by the estimate
        close_m: Positive = 2e-3
        close_m_s: Positive = 4e-3

        @model_validator(mode="before")
        @classmethod
        def _sets_follow_from_the_hands(cls, content: Any) -> Any:
            """The contact sets on the way, in their order."""
            if (
                not isinstance(content, dict)
                or content.get("contact_sets")
                or not {"release", "catch"} <= content.keys()
            ):
                return content
            try:
                release, catch = ([list(group) for group in content[key]] for key in ("release", "catch"))
            except TypeError:
                return content  # refused below with its key
            held = [[name for group in release[i:] for name in group] for i in range(len(release) + 1)]
            caught = [[name for group in catch[: i + 1] for name in group] for i in range(len(catch))]
            return {**content, "contact_sets": tuple(map(tuple, (*held, *caught)))}

    def __init__(self, options: Options, model: ControlModel) -> None:
        super().__init__(options, model)
        bed, layout = model.bed, model.layout
        self._options = options
        names = {key: tuple(n for group in getattr(options, key) for n in group) for key in ("release", "catch")}
        self._from = hands_of(model, "behaviour.release", names["release"])
        self._to = hands_of(model, "behaviour.catch", names["catch"])
        self._targets = TargetKinematics(model)
        module = next(m for m in model.floating if m in bed.controlled)
        self._base = [*range(layout.root_q(module).start, layout.root_q(module).stop)]
        self._wheels = [model.driven[i] for i in rate_limits(bed)]
        if not self._wheels:
            raise InputError.missing("devices", "a momentum_wheel, because the vehicle turns on one")
        self._arms = [i for i in model.driven if i not in self._wheels]
        keys = [c.key for c in layout.positions]
        self._folded = _given(options.folded, keys, "behaviour.folded")
        self._crouched = _given(options.crouched, [keys[i] for i in self._base], "behaviour.crouched")
        self._middle = np.mean([hand.place for hand in self._to.values()], axis=0)
        _refuse_unreachable(options, self._from, self._to, bed.simulation.initial.get(f"{keys[self._base[2]]}", 0.0))
        self._group = 0
        self._distance = 0.0
        self._catch_at = 0.0

    # With both hands at a bar: base and wheel

    def enter_hold(self, now: Moment) -> None:
        q = now.state.q[self._base]
        self._path = Quintic.to_rest(now.t, 1.0, q, np.zeros(3), q)

    def leave_hold(self, now: Moment) -> str | None:
        return self._unless_lost(now, "crouch", self._options.hold_s)

    def enter_crouch(self, now: Moment) -> None:
        q = self._path.at(now.t)[0].copy()
        for i, value in self._crouched.items():
            q[self._base.index(self._base[i])] = value
        self._path = Quintic.to_rest(now.t, self._options.crouch_s, self._path.at(now.t)[0], np.zeros(3), q)

    def leave_crouch(self, now: Moment) -> str | None:
        return self._unless_lost(now, "push", self._options.crouch_s)

    def enter_push(self, now: Moment) -> None:
        x, v, _ = self._path.at(now.t)
        after = np.array([*self._options.velocity_m_s, 0.0])
        self._path = Quintic.speed_change(now.t, self._options.push_s, x, v, after)

    def leave_push(self, now: Moment) -> str | None:
        return self._unless_lost(now, "release", self._options.push_s)

    def act_hold(self, now: Moment) -> Action:
        """Follow the path of the base, wheel at rest."""
        q, u, a, task = self._blank(now)
        q[self._base], u[self._base], a[self._base] = self._path.at(now.t)
        for i in self._base:
            self.tasks.weigh(task, i, _BASE)
        self._rest_wheels(now, u, a, task)
        return Action(q, u, a, task)

    act_crouch = act_push = act_hold

    # Letting go, and flight

    def enter_release(self, now: Moment) -> None:
        group = self._options.release[self._group]
        self.gripping = self.gripping.difference(group)
        self._group += 1
        centre, heading = self._targets(now.state)[CENTRE], self._base[2]
        self._centre = Quintic.speed_change(now.t, 1.0, centre.x, centre.v, centre.v)
        self._distance = float(np.linalg.norm(centre.x - np.mean([hand.place for hand in self._from.values()], axis=0)))
        self._still = Quintic.to_rest(now.t, 0.5, now.state.q, now.state.u, now.state.q + 0.25 * now.state.u)
        self._heading = float(self._path.at(now.t)[0][2])
        self._turn = Quintic.to_rest(now.t, 1.0, now.state.q[[heading]], np.zeros(1), now.state.q[[heading]])

    def leave_release(self, now: Moment) -> str | None:
        if now.holding & frozenset(name for group in self._options.release[: self._group] for name in group):
            return None  # not open yet
        if self._group == len(self._options.release):
            return "fold"
        return "release" if now.since >= self._options.group_s else None

    def act_release(self, now: Moment) -> Action:
        """One hand still holds: the mass centre coasts, so that the pin has no force."""
        return self._one_handed(now, {})

    def enter_fold(self, now: Moment) -> None:
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
        self._began, self._catch_at = now.t, self._predict(now)
        self._plan_turn(now.t, (now.state.q[self._base[2]], now.state.u[self._base[2]]))

    def leave_fold(self, now: Moment) -> str | None:
        return "turn" if now.since >= self._options.fold_s else None

    def leave_turn(self, now: Moment) -> str | None:
        return "midcourse" if now.t >= (self._began + self._catch_at) / 2 else None

    def enter_midcourse(self, now: Moment) -> None:
        self._catch_at = self._predict(now)
        heading, rate, _ = self._turn.at(now.t)
        self._plan_turn(now.t, (float(heading[0]), float(rate[0])), self._turn.at(now.t)[2])

    def leave_midcourse(self, now: Moment) -> str | None:
        return "reach" if now.t >= self._catch_at - self._options.reach_s else None

    def act_fold(self, now: Moment) -> Action:
        """Arms by their joints, heading by the wheel."""
        q, u, a, task = self._blank(now)
        q[self._arms], u[self._arms], a[self._arms] = self._arm_path.at(now.t)
        for i in self._arms:
            self.tasks.weigh(task, i, _JOINT)
        self._follow_heading(now, q, u, a, task)
        return Action(q, u, a, task)

    act_turn = act_midcourse = act_fold

    # Reaching and catching

    def enter_reach(self, now: Moment) -> None:
        self._catch_at = max(self._predict(now), now.t + 0.5 * self._options.reach_s)
        targets = self._targets(now.state)
        self._hand_paths = {
            name: Quintic.to_rest(now.t, self._catch_at - now.t, *targets[hand.target], hand.place)
            for name, hand in self._to.items()
        }
        self._group = 0

    def leave_reach(self, now: Moment) -> str | None:
        return "catch" if now.t >= self._catch_at else None

    def act_reach(self, now: Moment) -> Action:
        """Hands in world axes, heading by the wheel."""
        q, u, a, task = self._blank(now)
        for name, path in self._hand_paths.items():
            self.tasks.aim(task, self._to[name].target, *path.at(now.t), _HAND)
        self._follow_heading(now, q, u, a, task)
        return Action(q, u, a, task)

    act_catch = act_reach

    def leave_catch(self, now: Moment) -> str | None:
        self._close(now, self._options.catch[0])
        caught = now.holding & self._to.keys()
        if caught == self._to.keys():
            return "settle"
        return "recover" if caught >= frozenset(self._options.catch[0]) or (caught and now.since > 0.3) else None

    def enter_recover(self, now: Moment) -> None:
        targets = self._targets(now.state)
        centre = targets[CENTRE]
        self._centre = Quintic.speed_change(now.t, self._options.settle_s, centre.x, centre.v, np.zeros(2))
        missing = [name for name in self._to if name not in now.holding]
        self._hand_paths = {
            name: Quintic.to_rest(now.t, self._options.group_s, *targets[self._to[name].target], self._to[name].place)
            for name in missing
        }

    def leave_recover(self, now: Moment) -> str | None:
        if now.since >= self._options.group_s:
            self._close(now, tuple(self._hand_paths))
        if not now.holding:
            return "float"
        return "settle" if now.holding >= self._to.keys() else None

    def act_recover(self, now: Moment) -> Action:
        """Brake with the hand that holds, lead the other to the bar."""
        return self._one_handed(now, self._hand_paths)

    def enter_settle(self, now: Moment) -> None:
        state, centre = now.state, self._targets(now.state)[CENTRE]
        x, v = state.q[self._base], state.u[self._base]
        after, goal = np.zeros(3), x + self._options.settle_s * v / 2
        goal[2] = self._heading_at_rest()
        self._path = Quintic(now.t, self._options.settle_s, (x, v, after), (goal, after, after))
        self._centre = Quintic.speed_change(now.t, self._options.settle_s, centre.x, centre.v, np.zeros(2))
        wheels = state.u[self._wheels]
        self._unload = Quintic.to_rest(
            now.t, self._options.settle_s, wheels, np.zeros(len(wheels)), np.zeros(len(wheels))
        )
        self._still = Quintic.to_rest(now.t, 0.5, state.q, state.u, state.q + 0.25 * state.u)
        self._still_wheels = False

    def leave_settle(self, now: Moment) -> str | None:
        if not now.holding:
            return "float"
        return "rest" if now.since >= self._options.settle_s + 1.0 else None

    def act_settle(self, now: Moment) -> Action:
        """Two hands: base to rest and wheel unloaded; one hand: mass centre to rest, momentum stays in the wheel."""
        if len(now.holding) < 2:
            return self._one_handed(now, {})
        action = self.act_hold(now)
        rate, acceleration, _ = self._unload.at(now.t)
        action.u[self._wheels], action.a[self._wheels] = rate, acceleration
        return action

    def act_rest(self, now: Moment) -> Action:
        """As at the end of `settle`."""
        return self.act_settle(now)._replace(done=True)

    # Aborts

    def enter_stop(self, now: Moment) -> None:
        self.gripping = now.holding
        self._heading, self._turn_to = float(now.state.q[self._base[2]]), 0.0
        self.enter_settle(now)

    leave_stop, act_stop = leave_settle, act_settle

    def enter_float(self, now: Moment) -> None:
        self.gripping = frozenset()
        q, u = now.state.q[self._arms], now.state.u[self._arms]
        self._arm_path = Quintic.to_rest(now.t, 1.0, q, u, q + 0.5 * u)

    def act_float(self, now: Moment) -> Action:
        """Arms to rest, nothing else."""
        q, u, a, task = self._blank(now)
        q[self._arms], u[self._arms], a[self._arms] = self._arm_path.at(now.t)
        for i in self._arms:
            self.tasks.weigh(task, i, _JOINT)
        return Action(q, u, a, task)

    # Parts of these

    def _unless_lost(self, now: Moment, following: str, after_s: float) -> str | None:
        if now.holding < self.gripping:
            return "float"
        return following if now.since >= after_s else None

    def _blank(self, now: Moment) -> tuple[Array, Array, Array, Array]:
        """The estimate as reference, and no task."""
        return now.state.q.copy(), now.state.u.copy(), np.zeros(len(now.state.u)), self.tasks.nothing(self.code)

    def _rest_wheels(self, now: Moment, u: Array, a: Array, task: Array) -> None:
        for i in self._wheels:
            u[i] = a[i] = 0.0
            self.tasks.weigh(task, i, _WHEEL)

    def _follow_heading(self, now: Moment, q: Array, u: Array, a: Array, task: Array) -> None:
        i = self._base[2]
        (q[i],), (u[i],), (a[i],) = self._turn.at(now.t)
        self.tasks.weigh(task, i, _HEADING)

    def _one_handed(self, now: Moment, hand_paths: dict[str, Quintic]) -> Action:
        """Mass centre along its path, heading by the wheel, free hands along their paths or their arms at rest."""
        q, u, a, task = self._blank(now)
        self.tasks.aim(task, CENTRE, *self._centre.at(now.t), _CENTRE)
        self._follow_heading(now, q, u, a, task)
        for name, path in hand_paths.items():
            self.tasks.aim(task, self._to[name].target, *path.at(now.t), _HAND)
        still_q, still_u, still_a = self._still.at(now.t)
        busy = {hand.joints for hand in (*self._from.values(), *self._to.values()) if hand.contact in now.holding}
        busy |= {self._to[name].joints for name in hand_paths}
        for hand in (*self._from.values(), *self._to.values()):
            if hand.joints not in busy:
                for i in hand.joints:
                    q[i], u[i], a[i] = still_q[i], still_u[i], still_a[i]
                    self.tasks.weigh(task, i, _JOINT)
        return Action(q, u, a, task)

    def _predict(self, now: Moment) -> float:
        """When the mass centre will be at its distance from the bar [s]."""
        centre = self._targets(now.state)[CENTRE]
        left = float((self._middle - centre.x) @ self._direction) - self._distance
        return now.t + max(left, 0.0) / max(float(centre.v @ self._direction), 1e-3)

    def _plan_turn(self, t: float, start: tuple[float, float], acceleration: Array | None = None) -> None:
        rest, (heading, rate) = np.zeros(1), start
        first = np.array([heading]), np.array([rate]), rest if acceleration is None else acceleration
        self._turn = Quintic(t, max(self._catch_at - t, 1.0), first, (np.array([self._heading_at_rest()]), rest, rest))

    def _heading_at_rest(self) -> float:
        """After the turn [rad]."""
        return self._heading + self._options.turn_rad

    def _close(self, now: Moment, group: tuple[str, ...]) -> None:
        """Close the hands of a group when all of them are at their grips."""
        targets = self._targets(now.state)
        for name in group:
            hand: Hand = self._to[name]
            x, v = targets[hand.target]
            near = np.linalg.norm(x - hand.place) < self._options.close_m
            if name not in self.gripping and not (near and np.linalg.norm(v) < self._options.close_m_s):
                return
        self.gripping = self.gripping.union(group)


def _given(values: dict[str, float], keys: list[str], where: str) -> dict[int, float]:
    for key in values:
        if key not in keys:
            from granite.config.errors import one_of

            raise InputError("no such coordinate", key=f"{where}.{key}", value=values[key], expected=one_of(key, keys))
    return {keys.index(key): value for key, value in values.items()}


def _refuse_unreachable(options: Leap.Options, start: dict[str, Hand], end: dict[str, Hand], heading: float) -> None:
    """Refuse a velocity that does not lead to the bar, or hands that could not meet their grips there."""
    velocity = np.array(options.velocity_m_s)
    speed = float(np.linalg.norm(velocity))
    way = np.mean([h.place for h in end.values()], axis=0) - np.mean([h.place for h in start.values()], axis=0)
    if speed == 0 or velocity @ way <= 0:
        raise InputError(
            "it does not lead to the bar of behaviour.catch", key="behaviour.velocity_m_s", value=list(velocity),
            expected=f"along {way.round(3).tolist()} m, the way between the bars",
        )  # fmt: skip
    across = abs(float(way @ np.array([-velocity[1], velocity[0]]) / speed))
    reach = min(hand.reach for hand in end.values())
    if across > reach / 2:
        raise InputError(
            f"the flight passes the bar at {across:.3g} m", key="behaviour.velocity_m_s", value=list(velocity),
            expected=f"at most {reach / 2:.3g} m, half the reach of an arm",
        )  # fmt: skip
