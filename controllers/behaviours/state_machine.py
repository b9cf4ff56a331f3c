"""Behaviours as explicit state machines: named states, conditions of change, time-outs and aborts.

A machine is a class with a table of its states (`Options.machine`) and methods by the name of a state:

    enter_NAME(now)             optional: at the tick in which the state is entered
    leave_NAME(now) -> name     optional: the next state, or None to stay
    act_NAME(now) -> Action     the reference of this tick; without it everything floats
    plan_NAME(now) -> TaskPlan  instead of `act_NAME`: the reference as polynomials of time, for the ticks to come

A state that lasts longer than its time-out is left for `on_timeout`. Everything follows from the states of the
estimate and from what was planned at entries, so a replay decides the same.

A state with a plan may `sleep`: until then its conditions are looked at only when the grips report something else, or
when one of those that it names has changed. These ticks are one function, compiled as every function of named numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Name, Positive
from granite.config.behaviour import Behaviour, StateNote
from granite.config.coordinates import Coordinate
from granite.config.devices.grips import Grips
from granite.config.errors import InputError, one_of
from granite.config.records import NOTHING, Array, Reference, State
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.behaviours.task_plan import TaskPlan, TickForm, plan_size, tick_kernel
from granite.controllers.behaviours.tasks import TaskLayout
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicBehaviour, record_sizes
from granite.controllers.trajectories.quintic import Quintic
from granite.kernels.compiled_form import CompiledForm


class Instant(NamedTuple):
    """The estimate, and where the machine is."""

    state: State
    t: float  #: [s]
    since: float  #: time in this state [s]
    holding: frozenset[str]  #: contacts that the grips report as closed


class Action(NamedTuple):
    """The reference of a tick and its tasks."""

    q: Array
    u: Array
    a: Array
    task: Array
    done: bool = False


class StateMachine:
    """The run of a machine; a behaviour is a subclass with its own states.

    Parameters
    ----------
    options
        Its table.
    model
        The controller's model, whose law follows tasks.
    tick
        What its ticks have beside the polynomials of its plans.

    Raises
    ------
    InputError
        Where the law follows no tasks, or the table names a state that the machine does not have.
    """

    class Options(Behaviour):
        """Time-outs that differ from those of the machine."""

        machine: ClassVar[tuple[StateNote, ...]] = ()
        #: by state [s]
        timeout_s: dict[str, Positive] = Field(default_factory=dict)
        #: states that are entered only after an operator has asked for it, by the name of the request
        waits_for: dict[str, Name] = Field(default_factory=dict)
        #: states in which thrusters may fire; none: those of the machine
        thrusters_in: tuple[Name, ...] | None = None
        #: filled in, so that a log has the names of the states in the order of their codes
        state_names: tuple[str, ...] = ()

        @model_validator(mode="before")
        @classmethod
        def _states_are_named(cls, content: Any) -> Any:
            names = tuple(note.name for note in cls.machine)
            return {**content, "state_names": names} if isinstance(content, dict) else content

        def states(self) -> tuple[StateNote, ...]:
            """The states with the time-outs and permissions in force."""
            return tuple(
                note._replace(
                    timeout_s=self.timeout_s.get(note.name, note.timeout_s),
                    thrusters=note.thrusters if self.thrusters_in is None else note.name in self.thrusters_in,
                )
                for note in self.machine
            )

        def actions(self, bed: Testbed) -> tuple[str, ...]:
            """What it waits for."""
            return tuple(dict.fromkeys(self.waits_for.values()))

        def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
            """The code of the state, and the tasks."""
            return TaskLayout(bed).coordinates

    def __init__(self, options: Options, model: ControlModel, tick: TickForm | None = None) -> None:
        bed, tick = model.bed, tick or TickForm()
        if not bed.control.law.follows_tasks:
            law = bed.control.law.kind
            raise InputError(
                f"'{options.kind}' gives tasks", key="controller.law.kind", value=law, expected="a law in task space"
            )
        self.model, self.tasks = model, TaskLayout(bed)
        self._notes = {note.name: note for note in options.states()}
        self._codes = {name: code for code, name in enumerate(self._notes)}
        _refuse_unknown_states(self, options)
        #: the request that each of these states needs, all requests by their number, and those that were made
        self._waits_for, self._actions = dict(options.waits_for), options.actions(bed)
        self._asked: set[str] = set()
        #: contacts that are to be closed; a method of a state may change it
        self.gripping: frozenset[str] = frozenset(bed.contact_sets[0]) if bed.switches else frozenset()
        self._grips = bed.grips
        self._direct = [
            (isinstance(device, Grips), np.zeros(len(device.signals(bed)))) for device in bed.direct_actuators.values()
        ]
        #: contacts to be closed with the set points for them, and reports of the grips with what they hold
        self._last_setpoints: tuple[frozenset[str] | None, tuple[Array, ...]] = None, ()
        self._last_report: tuple[bytes | None, frozenset[str]] = None, frozenset()
        self._rest: Array = np.zeros(model.n)
        self.name = next(iter(self._notes))
        self._entered: float | None = None
        #: of the state; None where it acts in every tick
        self._plan: TaskPlan | None = None
        self._asleep_until = -math.inf
        #: while it is asleep, how often and when next its conditions are looked at [s]
        self._looks_s = self._looks_at = math.inf
        #: conditions of the tick for which a state waits while it is asleep
        self._awaited: tuple[str, ...] = ()
        #: conditions of the tick by name, and what else it sees, when they were last looked at
        self.conditions = dict.fromkeys(tick.conditions, False)
        self.seen = NOTHING
        self._tick, self._numbers = _tick_part(bed, self.tasks, tick, np.concatenate([NOTHING, *self._setpoints()]))
        self._more_numbers = tick.numbers
        #: all of these before the first state
        self._start: dict[str, Any] = {}

    def compiled_form(self) -> CompiledForm:
        """The ticks between two looks at the conditions in C."""
        return self._tick.form()

    def restart(self) -> None:
        """Back to the start, for another run."""
        vars(self).update(_copied(self._start))

    def ask(self, reference: Reference, request: Request) -> tuple[Reply, tuple[int, float]]:
        """Enter the state that waits for a request, once the machine gets there."""
        if request.ask is not RequestKind.ACT or not self._actions:
            return Reply.TAKES_NO_GOALS, (0, 0.0)
        if not 0 <= request.argument < len(self._actions):
            return Reply.NO_SUCH_GOAL, (0, 0.0)
        self._asked.add(self._actions[request.argument])
        return Reply.DONE, (0, 0.0)

    @property
    def code(self) -> int:
        """Number of the state."""
        return self._codes[self.name]

    def decide(self, state: State) -> Reference:
        """Change state as often as conditions hold, then act, or follow the plan."""
        outputs, action = self._tick.evaluate(state=state), None
        if outputs["python_needed"].item(0):
            if not state.ready:
                q, task = np.nan_to_num(state.q), self.tasks.nothing(self.code)
                return Reference(state.t, q, self._rest, self._rest, False, self._setpoints(), task)
            now = self._look(state, outputs)
            if self._plan is None:
                action = self._call("act", now) or self.float(now)
                self.tasks.permit_thrusters(action[3], self._notes[self.name].thrusters)
            else:
                outputs = self._tick.evaluate(state=state)
        reference: Reference = self._tick.finish(outputs, state=state)
        if action is None:
            return reference
        q, u, a, task, done = action
        return Reference(state.t, q, u, a, done, self._setpoints(), task)

    def _look(self, state: State, outputs: dict[str, Array]) -> Instant:
        """Change state as often as conditions hold, and plan; returns where the machine is then."""
        holds = outputs["python_conditions"].tolist()
        self.conditions = {name: value > 0 for name, value in zip(self.conditions, holds, strict=True)}
        self.seen = outputs["python_seen"].copy()
        if self._entered is None:
            self._start = _copied(vars(self))
            self._enter(self.name, state)
        now = self._changed(state)
        self._looks_at = state.t + self._looks_s
        numbers, plan = self._numbers, self._call("plan", now)
        self._plan = plan
        numbers["wakes_at"][0] = -math.inf if plan is None else self._wakes_at
        if plan is not None:
            numbers["report"][:] = np.frombuffer(self._last_report[0] or b"")
            numbers["expected"][:] = [
                holds[i] if name in self._awaited else math.nan for i, name in enumerate(self.conditions)
            ]
            numbers["plan"][:], numbers["done"][0] = plan.numbers, plan.done
            numbers["setpoints"][:] = np.concatenate([NOTHING, *self._setpoints()])
        return now

    @property
    def memory(self) -> Array:
        """What the function of the tick remembers from tick to tick."""
        return self._numbers["own"]

    def sleep(self, until: float, looks_s: float = math.inf, awaited: tuple[str, ...] = ()) -> None:
        """Of a state that is entered or left: nothing but the grips and its time-out changes it before this time [s].

        With `looks_s` its conditions are looked at that often meanwhile; with `awaited` when one of these has changed.
        """
        self._asleep_until, self._looks_s, self._awaited = until, looks_s, awaited

    def new_plan(self) -> TaskPlan:
        """A plan without a task, of the present state."""
        return TaskPlan(self.tasks, self.code, self._more_numbers, self._notes[self.name].thrusters)

    @property
    def _wakes_at(self) -> float:
        """Asleep or not, a state ends at its time-out [s]."""
        timeout = self._notes[self.name].timeout_s
        times_out = math.inf if timeout is None else (self._entered or 0.0) + timeout
        return min(self._asleep_until, self._looks_at, times_out)

    def _changed(self, state: State) -> Instant:
        """Change state as often as conditions hold; returns where the machine is then."""
        now = self._moment(state)
        for _ in self._notes:  # no more than all states in one tick
            following = self._call("leave", now)
            note = self._notes[self.name]
            if following in self._waits_for and self._waits_for[following] not in self._asked:
                break
            if following is None and note.timeout_s is not None and now.since > note.timeout_s:
                following = note.on_timeout
            if following is None:
                break
            self._enter(following, state)
            now = self._moment(state)
        return now

    def float(self, now: Instant) -> Action:
        """No torque: everything floats."""
        return Action(now.state.q, now.state.u, self._rest, self.tasks.nothing(self.code))

    def _moment(self, state: State) -> Instant:
        entered = state.t if self._entered is None else self._entered
        reported = state.holding.tobytes()
        if reported != self._last_report[0]:
            held = (name for name, held in zip(self._grips, state.holding.tolist(), strict=True) if held)
            self._last_report = reported, frozenset(held)
        return Instant(state, state.t, state.t - entered, self._last_report[1])

    def _enter(self, name: str, state: State) -> None:
        if name not in self._notes:
            raise KeyError(f"state '{self.name}' leads to '{name}', which the machine does not have")
        self._asked.discard(self._waits_for.get(name, ""))
        self.name, self._entered = name, state.t
        self.sleep(-math.inf)
        self._call("enter", self._moment(state))

    def _call(self, verb: str, now: Instant) -> Any:
        method = getattr(self, f"{verb}_{self.name}", None)
        return method(now) if method else None

    def _setpoints(self) -> tuple[Array, ...]:
        if self.gripping != self._last_setpoints[0]:
            grips = np.array([float(name in self.gripping) for name in self._grips])
            self._last_setpoints = self.gripping, tuple(grips if is_grips else zero for is_grips, zero in self._direct)
        return self._last_setpoints[1]


class OneContactOptions(StateMachine.Options):
    """Of a machine that closes and opens one contact."""

    contact: Name  #: name of the contact

    @model_validator(mode="before")
    @classmethod
    def _sets_follow_from_the_contact(cls, content: Any) -> Any:
        """Open, then closed."""
        if not isinstance(content, dict) or not isinstance(content.get("contact"), str):
            return content
        return {**content, "contact_sets": ((), (content["contact"],))}


def staying(now: Instant, coordinates: Sequence[int] | None = None) -> Quintic:
    """All coordinates, or these, where they are."""
    q = now.state.q if coordinates is None else now.state.q[[*coordinates]]
    return Quintic.to_rest(now.t, 1.0, q, np.zeros(len(q)), q)


def _tick_part(
    bed: Testbed, tasks: TaskLayout, tick: TickForm, setpoints: Array
) -> tuple[SymbolicBehaviour, dict[str, Array]]:
    """The ticks between two looks at the conditions, and their memory, which is set at every look."""
    every = {name: sum(size) if isinstance(size, tuple) else size for name, size in record_sizes(bed).items()}
    read = "state_t", "state_ready", "state_q", "state_u", "state_holding", "state_gauges", "reference_direct"
    memory = {
        "wakes_at": np.full(1, -math.inf),
        "report": np.zeros(len(bed.grips)),
        "expected": np.full(len(tick.conditions), math.nan),
        "plan": np.zeros(plan_size(tasks) + tick.numbers),
        "done": np.zeros(1),
        "setpoints": setpoints,
        "own": np.zeros(tick.memory),
    }
    part = SymbolicBehaviour(bed, tick_kernel(tasks, {name: every[name] for name in read}, tick), memory=memory)
    return part, part.memory


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """What a state may change in place is copied."""
    kinds = (list, dict, set, np.ndarray)
    return {
        name: copy(value) if isinstance(value, kinds) else value
        for name, value in attributes.items()
        if name != "_start"
    }


def _refuse_unknown_states(machine: StateMachine, options: StateMachine.Options) -> None:
    names = [note.name for note in options.machine]
    if not names:
        raise InputError("its machine has no states", key="behaviour.kind", value=options.kind)
    for note in options.machine:
        for other in (*note.leads_to, *([note.on_timeout] if note.on_timeout else [])):
            if other not in names:
                problem = f"state '{note.name}' leads to '{other}'"
                raise InputError(problem, key="behaviour.kind", value=options.kind, expected=one_of(other, names))
    for name, seconds in options.timeout_s.items():
        if name not in names:
            key = f"behaviour.timeout_s.{name}"
            raise InputError("no such state", key=key, value=seconds, expected=one_of(name, names))
    for name, action in options.waits_for.items():
        if name not in names:
            key = f"behaviour.waits_for.{name}"
            raise InputError("no such state", key=key, value=action, expected=one_of(name, names))
    for name in options.thrusters_in or ():
        if name not in names:
            raise InputError("no such state", key="behaviour.thrusters_in", value=name, expected=one_of(name, names))
    if options.thrusters_in is not None and not machine.tasks.has_thrusters:
        value = list(options.thrusters_in)
        raise InputError("no device of thrusters", key="behaviour.thrusters_in", value=value, expected="no such key")
    for word in dir(machine):
        verb, _, name = word.partition("_")
        if verb in ("enter", "leave", "act", "plan") and name and name not in names:
            problem = f"method '{word}' is of no state"
            raise InputError(problem, key="behaviour.kind", value=options.kind, expected=one_of(name, names))
