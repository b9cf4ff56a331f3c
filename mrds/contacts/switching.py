"""Changes of the contact set over time: grips by command; stops, stick and slip by physics.

After every step `settle` looks for four events until there is none: an open stop touches, a slip comes to rest, a stop
pulls, static friction is exceeded (the complementarity conditions of unilateral contact and of Coulomb friction). Each
event selects another contact set. Opening leaves all velocities as they are; closing is an impulse
(`mrds.contacts.impact`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.contacts import Contact
from granite.config.errors import InputError
from granite.kernels.kernel import Array
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet, Label
from granite.mrds.contacts.events import ContactStatus, Event, EventKind
from granite.mrds.contacts.friction import JammedError, static_friction
from granite.mrds.contacts.impact import Strike, strike
from granite.mrds.contacts.momentum import FloatingMomentum
from granite.mrds.contacts.reachable import at_rest, moving, named, reachable, with_misses
from granite.mrds.contacts.system import System
from granite.mrds.contacts.watch import Watch
from granite.mrds.tolerances import (
    FRICTION_ROUNDING,
    INITIAL_SLIP,
    PULLING_FORCE,
    SAME_SPEED,
    SIMULTANEOUS_GAP,
    TOUCHING_GAP,
)

#: a grip closes if its gap is smaller [m, rad]
REACH = 1e-2
#: most status changes in one call of `settle`; in the second half of them all restitutions are zero
MOST_CHANGES = 32


#: (set in force, q, u, h) -> q and u after h, which may be negative, and the work done on the modules [J]
Move = Callable[[ContactSet, Array, Array, float], tuple[Array, Array, float]]


class _State(NamedTuple):
    q: Array
    u: Array
    events: tuple[Event, ...]
    left: float  #: the earliest time of the next event, counted back from the end of the step [s]
    work: float = 0.0  #: of the motion since the last event, less that of the motion taken back to it [J]


class Switching:
    """The contact set of a system over time. It begins with the first commanded set closed and all stops open.

    Parameters
    ----------
    system
        Modules and contacts.
    commanded
        The sets of grips that commands may close.
    rest_speed
        A stop that would bounce more slowly stays closed [m/s].
    reach
        A grip closes if its gap is smaller [m, rad].
    is_soft
        Closed grips are springs: neither pose nor velocity jumps.
    """

    def __init__(
        self,
        system: System,
        commanded: Sequence[frozenset[str]],
        *,
        rest_speed: float = 1e-3,
        reach: float = REACH,
        is_soft: bool = False,
    ) -> None:
        self._system = system
        self._commanded = tuple(commanded)
        self._rest_speed = rest_speed
        self._reach = reach
        self._is_soft = is_soft
        self._stops = {c.name for c in system.contacts.values() if kind_of(c.kind).one_sided}
        self._watch = Watch(system)
        self._momentum = FloatingMomentum(system.modules)
        self._able = frozenset(with_misses(self._commanded))
        self._reachable = reachable(system.contacts, self._commanded)
        self._sets: dict[Label, ContactSet] = {}
        first = self._commanded[0]
        self.status = {c.name: at_rest(c) if c.name in first else ContactStatus.OPEN for c in system.contacts.values()}
        self._direction: dict[str, Array] = {}
        #: work in the parts of steps after their events, less that in the parts taken back to them [J]
        self.work = 0.0

    def copy(self) -> Switching:
        """The same contacts in the same status, which change on their own from now on."""
        new = copy(self)
        new.status = self.status.copy()
        new._direction = self._direction.copy()
        return new

    @property
    def active(self) -> ContactSet:
        """The contact set in force."""
        return self._set(self.status)

    def sets(self) -> tuple[ContactSet, ...]:
        """Every set that commands and physics can reach."""
        return tuple(self._set(status) for status in self._reachable)

    def prepare(self, moves: bool = True) -> None:
        """Compile all of them now, so that nothing is compiled in the loop; their motion not where `settle` gets it."""
        for contact_set in self.sets():
            contact_set.prepare(steps=moves and bool(self._watch.contacts))
        self._watch.prepare()
        if any(self._commanded[1:]):
            self._momentum.prepare()

    def entered(self, q: ArrayLike) -> dict[str, float]:
        """The open stops whose sides penetrate each other, and the depth [m]."""
        if not self._stops:
            return {}
        pose = np.asarray(q, dtype=float)
        gap = self._watch(pose, np.zeros(self._system.n_u))[0]
        return {n: -gap[n] for n in sorted(self._stops) if self.status[n] is ContactStatus.OPEN and gap[n] < 0}

    def command(self, closed: Iterable[str], q: ArrayLike, u: ArrayLike) -> tuple[Array, Array, tuple[Event, ...]]:
        """Close these grips and open the others. The pose is projected onto their constraints, then the velocity jumps.

        Modules that float keep their momentum over both.

        Parameters
        ----------
        closed
            Names of the grips to close: a commanded set, or what a miss left of one.
        q, u
            (n_q), (n_u) state.

        Returns
        -------
        tuple[Array, Array, tuple[Event, ...]]
            q and u after, and the events. A grip that misses stays open; the others close and open all the same.

        Raises
        ------
        InputError
            Where the set is none of the commanded ones.
        """
        wanted = frozenset(closed)
        if wanted not in self._able:
            expected = "one of the sets this run was prepared for"
            raise InputError(f"command closes {named(wanted)}", expected=expected)
        pose, speed = np.array(q, dtype=float), np.array(u, dtype=float)
        trial, new, missed = self._tried(wanted, pose)
        events = [Event(name, EventKind.MISSES, np.zeros(0), 0.0) for name in missed]
        gone = [name for name, status in trial.items() if self.status[name] is not status]
        events += [Event(name, EventKind.LETS_GO, np.zeros(0), 0.0) for name in gone]
        self.status = trial
        met = [c for c in new if c.name not in missed]
        if self._is_soft:
            self.status = trial | {c.name: at_rest(c) for c in met}
            events += [Event(c.name, EventKind.TAKES_HOLD, np.zeros(1), 0.0) for c in met]
        if self._is_soft or not met:
            return pose, speed, tuple(events)
        meeting = self._set({**trial, **{c.name: at_rest(c) for c in met}})
        before, pose = pose, meeting.project(pose, speed)[0]
        speed = self._momentum.kept(meeting.contacts, meeting.mass_and_constraints(pose)[0], before, pose, speed)
        state = self._strike(_State(pose, speed, tuple(events), 0.0), dict.fromkeys((c.name for c in met), 0.0))
        return state.q, state.u, state.events

    def missing(self, closed: Iterable[str], q: ArrayLike) -> tuple[str, ...]:
        """The grips among these that would miss at this pose."""
        return self._tried(frozenset(closed), np.asarray(q, dtype=float))[2]

    def _tried(
        self, wanted: frozenset[str], q: Array
    ) -> tuple[dict[str, ContactStatus], list[Contact], tuple[str, ...]]:
        """The status with the unwanted grips open, the grips to close, and those of them that miss."""
        grips = [c for c in self._system.contacts.values() if c.name not in self._stops]
        trial = self.status | {c.name: ContactStatus.OPEN for c in grips if c.name not in wanted}
        new = [c for c in grips if c.name in wanted and self.status[c.name] is ContactStatus.OPEN]
        if not new:
            return trial, new, ()
        gaps = self._set(trial | {c.name: at_rest(c) for c in new})
        gap = gaps.errors(q, np.zeros(self._system.n_u))[0]
        return trial, new, tuple(c.name for c in new if np.abs(gap[gaps.rows[c.name]]).max(initial=0.0) > self._reach)

    def settle(
        self, q: ArrayLike, u: ArrayLike, force: ArrayLike, h: float = 0.0, move: Move | None = None
    ) -> tuple[Array, Array, tuple[Event, ...]]:
        """The state after a step and its contact events.

        Parameters
        ----------
        q, u
            (n_q), (n_u) state at the end of the step.
        force
            (n_u) generalised force [N, N m].
        h
            Length of the step [s]: the motion is taken back to the time of an impact and integrated again from there.
            With zero, the impact happens at the end of the step.
        move
            The motion under the forces of that step, whose work is added to `work`; if not given, under the constant
            `force`, without its work.

        Returns
        -------
        tuple[Array, Array, tuple[Event, ...]]
            q and u, and the events in their order.
        """
        state = _State(np.array(q, dtype=float), np.array(u, dtype=float), (), h)
        push = np.asarray(force, dtype=float)
        move = move or _held(push)
        for n in range(MOST_CHANGES):
            after = self._touched(state, move, bounces=2 * n < MOST_CHANGES)
            after = after or self._stopped(state, push, h) or self._released(state, push)
            if after is None:
                break
            state = after
        self._remember(state)
        self.work += state.work
        return state.q, state.u, state.events

    def _touched(self, state: _State, move: Move, bounces: bool) -> _State | None:
        """Impact of the stops that touched first, at the time when they did."""
        back = self._approaching(state.q, state.u, 0.0)
        if not back:
            return None
        first = max(back, key=lambda name: back[name])
        touched = self._at_touch(state, move, first, min(back[first], state.left))
        slip = self._watch(touched.q, touched.u)[1]
        together = self._approaching(touched.q, touched.u, SIMULTANEOUS_GAP)
        restitution = {}
        for name in together:
            e = self._system.contacts[name].parameters.get("restitution", 0.0) if bounces else 0.0
            restitution[name] = e if e * -slip[name][0] >= self._rest_speed else 0.0
        struck = self._strike(touched, restitution)
        if any(e == 0.0 for e in restitution.values()):
            struck = struck._replace(q=self.active.project(struck.q, struck.u)[0])
        return self._moved(struck, move, struck.left)

    def _approaching(self, q: Array, u: Array, within: float) -> dict[str, float]:
        """Open stops that approach and are closer than this [m]; how long ago they touched [s]."""
        gap, slip = self._watch(q, u)
        return {
            name: gap[name] / slip[name][0]
            for name in sorted(self._stops)
            if self.status[name] is ContactStatus.OPEN and gap[name] < within and slip[name][0] < -SAME_SPEED
        }

    def _at_touch(self, state: _State, move: Move, name: str, ago: float) -> _State:
        """The state when the stop touched, by Newton's method in time, and how long ago that was."""
        touched, before = state, ago
        for _ in range(8):
            if ago <= 0:
                return state._replace(left=0.0)
            touched, before = self._moved(state, move, -ago), ago
            gap, slip = self._watch(touched.q, touched.u)
            if abs(gap[name]) < TOUCHING_GAP or slip[name][0] >= 0:
                break
            ago = min(ago + gap[name] / slip[name][0], state.left)
        return touched._replace(left=before)

    def _strike(self, state: _State, restitution: Mapping[str, float]) -> _State:
        """Close contacts by an impulse. Stops without a part in it open first, and overloaded stuck contacts slip.

        A stop that is left out and still approaches is struck next.
        """
        contacts = self._system.contacts
        closing = dict(restitution)
        events = list(state.events)
        while True:
            slips = self._set(self.status | {name: moving(contacts[name]) for name in closing})
            sticks = self._set(self.status | {name: at_rest(contacts[name]) for name in closing})
            done = strike(slips, sticks, state.q, state.u, closing)
            lifted = [name for name in done.idle if name not in closing]
            weak = self._overloaded(done)
            closing = {name: e for name, e in closing.items() if name not in done.idle}
            if done.idle:
                self.status |= dict.fromkeys(lifted, ContactStatus.OPEN)
                events += [Event(name, EventKind.LIFTS, np.zeros(0), 0.0) for name in lifted]
            elif weak is not None:
                self.status[weak] = ContactStatus.SLIPPING
                events.append(Event(weak, EventKind.SLIPS, np.zeros(0), 0.0))
            else:
                break
        for name, e in closing.items():
            what = EventKind.BOUNCES if e > 0 else EventKind.TOUCHES if name in self._stops else EventKind.TAKES_HOLD
            events.append(Event(name, what, done.impulse[name], done.energy_lost[name]))
            if e == 0:
                self.status[name] = (at_rest if name in done.sticks else moving)(contacts[name])
        after = state._replace(u=done.u, events=tuple(events))
        self._remember(after)
        return after

    def _overloaded(self, done: Strike) -> str | None:
        """A contact that was stuck and whose static friction is exceeded by the impulse."""
        stuck = (name for name in done.impulse if self.status[name] is ContactStatus.STUCK)
        return next((name for name in stuck if not self._holds(name, done.impulse[name])), None)

    def _stopped(self, state: _State, force: Array, h: float) -> _State | None:
        """Stick where a slip has reversed, or would in the next step, if static friction can hold it.

        Else the contact is at rest for an instant, and slips in the other direction.
        """
        slip = self._watch(state.q, state.u)[1]
        ahead = self._slip_ahead(state, force, h)
        for name, status in self.status.items():
            if status is not ContactStatus.SLIPPING:
                continue
            v = slip[name][1:]
            before = self._direction.get(name, slip[name][1:])
            if v @ before > 0 and ahead[name][1:] @ v > 0:
                continue
            stuck = self._stuck(state, (name,), EventKind.STICKS)
            active = self._set(self.status | {name: ContactStatus.STUCK})
            try:
                held = active.accelerate(stuck.q, stuck.u, force).force[active.rows[name]]
            except JammedError:
                continue
            if self._holds(name, held):
                self.status[name] = ContactStatus.STUCK
                return stuck
            if v @ held[1:] > 0:
                self.status[name] = ContactStatus.STUCK
                return self._begin_to_slip(stuck, name, held)
        return None

    def _slip_ahead(self, state: _State, force: Array, h: float) -> dict[str, Array]:
        """Slip velocities one step later, by Euler's method: friction that reverses within a Runge-Kutta step would
        average out, and the contact would neither stick nor slip."""
        if ContactStatus.SLIPPING not in self.status.values():
            return {}
        try:
            u_dot = self.active.accelerate(state.q, state.u, force).acceleration
        except JammedError:
            return self._watch(state.q, state.u)[1]
        return self._watch(self.active.displaced(state.q, h * state.u), state.u + h * u_dot)[1]

    def _released(self, state: _State, force: Array) -> _State | None:
        """Open the stop that pulls most, else let the first overloaded stuck contact slip."""
        active = self.active
        try:
            motion = active.accelerate(state.q, state.u, force)
        except JammedError as jam:
            stuck = self._stuck(state, jam.contacts, EventKind.JAMS)
            self.status.update(dict.fromkeys(jam.contacts, ContactStatus.STUCK))
            return stuck
        held = {name: motion.force[rows] for name, rows in active.rows.items()}
        pull = {name: -held[name][0] for name in held if name in self._stops and held[name][0] < -PULLING_FORCE}
        if pull:
            name = max(pull, key=lambda n: pull[n])
            self.status[name] = ContactStatus.OPEN
            return state._replace(events=(*state.events, Event(name, EventKind.LIFTS, np.zeros(0), 0.0)))
        for name in held:
            if self.status[name] is ContactStatus.STUCK and not self._holds(name, held[name]):
                return self._begin_to_slip(state, name, held[name])
        return None

    def _begin_to_slip(self, state: _State, name: str, held: Array) -> _State:
        """Start to slip, in the direction opposite to the force that exceeded static friction."""
        direction, active = _unit(-held[1:], -held[1:]), self.active
        y = np.zeros(active.n_held)
        y[active.rows[name]] = [0.0, *(INITIAL_SLIP * direction)]
        u = state.u + active.correct(state.q, y)[0]
        self.status[name] = ContactStatus.SLIPPING
        self._direction[name] = direction
        return state._replace(u=u, events=(*state.events, Event(name, EventKind.SLIPS, np.zeros(0), 0.0)))

    def _stuck(self, state: _State, names: Sequence[str], what: EventKind) -> _State:
        """The state with these slips ended by an impulse."""
        active = self._set(self.status | dict.fromkeys(names, ContactStatus.STUCK))
        slip = active.errors(state.q, state.u)[1]
        y = np.zeros(active.n_held)
        for name in names:
            y[active.rows[name]] = -slip[active.rows[name]]
        change, impulse = active.correct(state.q, y)
        events = [
            Event(name, what, impulse[rows], float(-0.5 * impulse[rows] @ slip[rows]))
            for name, rows in active.rows.items()
            if name in names
        ]
        return state._replace(u=state.u + change, events=(*state.events, *events))

    def _holds(self, name: str, force: Array) -> bool:
        """Whether static friction holds a force or impulse, given with the normal first."""
        pressed = max(force[0], 0.0) if name in self._stops else abs(force[0])
        limit = static_friction(self._system.contacts[name]) * pressed
        return bool(np.linalg.norm(force[1:]) <= limit * (1 + FRICTION_ROUNDING) + PULLING_FORCE)

    def _moved(self, state: _State, move: Move, h: float) -> _State:
        """The motion over a time that may be negative; none where a contact jams, which `_released` resolves."""
        if h == 0:
            return state
        try:
            q, u, work = move(self.active, state.q, state.u, h)
        except JammedError:
            return state
        return state._replace(q=q, u=u, work=state.work + work)

    def _remember(self, state: _State) -> None:
        """Store the direction of every slip, to find when it reverses."""
        slipping = [name for name, status in self.status.items() if status is ContactStatus.SLIPPING]
        if slipping:
            slip = self._watch(state.q, state.u)[1]
            for name in slipping:
                self._direction[name] = _unit(slip[name][1:], self._direction.get(name, np.zeros(len(slip[name]) - 1)))

    def _set(self, status: Mapping[str, ContactStatus]) -> ContactSet:
        closed = tuple(name for name, s in status.items() if s is not ContactStatus.OPEN)
        label = Label(closed, frozenset(name for name, s in status.items() if s is ContactStatus.SLIPPING))
        if label not in self._sets:
            self._sets[label] = self._system.contact_set(*label)
        return self._sets[label]


def _held(force: Array) -> Move:
    """The motion under a constant generalised force, without an account of its work."""

    def move(active: ContactSet, q: Array, u: Array, h: float) -> tuple[Array, Array, float]:
        return *active.rk4(q, u, force, h), 0.0

    return move


def _unit(vector: Array, instead: Array) -> Array:
    """A vector at unit length; the other one where it is zero."""
    for v in (vector, instead):
        length = float(np.linalg.norm(v))
        if length > 0:
            return np.asarray(v / length)
    return instead
