"""The supervisor: which controllers run in a tick, from requests of people and responses to faults.

It holds the mode. Requests (operator, keyboard, faults that are noticed outside the tick) are taken before a tick, one
at most; the guard's verdict is answered after it by the response of the fault table. Both are in the log,
so that a run replays bit for bit.

    RUNNING    behaviour and law of the testbed
    HOLDING    brakes to rest with bounded deceleration, then holds the pose
    FLOATING   valves closed, joints damped
    STOPPING   brakes to rest, at most for safety.braking.time_limit_s; then the run ends
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from granite.config.expected_modes import GOALS, POSSIBLE_IN
from granite.config.footprints import obstacles
from granite.config.reasons import Reason
from granite.config.records import NOTHING, Operation, Reference, State, Verdict
from granite.config.responses import FAULTS, RESPONSES, FaultReaction
from granite.config.run_modes import NO_REQUEST, Reply, Request, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import subjects
from granite.controllers.stack import Stack
from granite.rt.guard.guard import Guard
from granite.rt.supervisor.brake_watch import BrakedSpeeds, BrakeWatch, rate_noises
from granite.rt.supervisor.gain_ramp import GainRamp
from granite.rt.supervisor.goal_record import GoalRecord, Standing
from granite.rt.supervisor.lease import Lease
from granite.rt.supervisor.mode_stacks import ModeParts, ModeStacks

#: a fault that lasts is noticed in every tick; this many periods without it end it
_GAP = 1.5
#: after a fault, arming is refused for this long, and what clears itself is clear [s]
_CALM_S = 0.5
#: what a switch of controllers itself may cause, in the first tick after it
_BY_SWITCHING = (Reason.REFERENCE_JUMP, Reason.TORQUE_STEP)
#: the mode that answers a response, and how severe each mode is as a response
_MODES = {"hold": RunMode.HOLDING, "float": RunMode.FLOATING, "stop": RunMode.STOPPING, "stop_at_once": RunMode.STOPPED}
_SEVERITY = {mode: RESPONSES.index(response) for response, mode in _MODES.items()}
_RUNNING = RunMode.RUNNING
#: rates with a limit, and the modes that bring them to rest
_RATES = (Reason.JOINT_TOO_FAST, Reason.BASE_TOO_FAST)
#: what weak thrust or a wrong mass also shows, and must not end a brake: its watch does, where it drives
_LEFT_TO_THE_WATCH = (Reason.MOTION_UNEXPLAINED,)
_BRAKING = (RunMode.HOLDING, RunMode.STOPPING, RunMode.ARMED, RunMode.FLOATING)


class RequestSource(Protocol):
    """Where requests come from, beside Granite itself: the operator channel, or a log."""

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        """The next request, if there is one, given the status of the run; called in the tick, so fast."""

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        """Report the outcome of a request, and the new status of the run."""

    def name(self, sender: int) -> str:
        """Who sent it, in words."""


class Supervisor:
    """The mode of one run.

    Parameters
    ----------
    bed
        The testbed.
    stack
        Its controllers.
    guard
        Asks here whether a command passes in spite of a fault.
    source
        Where requests of operators come from.
    parts
        Controllers of the other modes; built here where none are given.
    """

    def __init__(
        self,
        bed: Testbed,
        stack: Stack,
        guard: Guard,
        source: RequestSource | None = None,
        parts: ModeParts | None = None,
    ) -> None:
        self._stacks = ModeStacks(bed, stack, parts or ModeParts(bed, stack))
        self._source, self._gap = source, _GAP * bed.loop.period_s
        self._answers: dict[Reason, FaultReaction] = {
            reason: bed.safety.answer(reason.name.lower()) for reason in Reason if reason.name.lower() in FAULTS
        }
        self._time_limit = bed.safety.braking.time_limit_s
        self._gains = GainRamp(bed, stack.law)
        #: requests of Granite itself: of the keyboard, and faults that are noticed outside the tick
        self.own: deque[Request] = deque()
        self.mode, self.cause = RunMode.RUNNING, Reason.PASSED
        #: the verdict, or the request as one, that led to the mode
        self._because: Verdict | None = None
        #: the faults of the present brake or hold in the order of their notice: the first is the cause of the others
        self.chain: list[Verdict] = []
        #: mode, cause and verdict before a fault: back there once it has cleared itself
        self._returns_to: tuple[RunMode, Reason, Verdict | None] = (RunMode.RUNNING, Reason.PASSED, None)
        #: ticks that do not count as running, because an operator is there to end them
        self.idle_ticks = 0
        self._is_attended = False
        #: the operator who ended the run, in words
        self.stopped_by = ""
        self._since = 0.0
        #: whether the next tick is the first one of its mode, and whether this one is
        self._has_switched = self._is_first_tick = False
        #: time of the behaviour when it was paused [s]
        self._behaviour_time = 0.0
        self._first_seen: dict[Reason, float] = {}
        self._last_seen: dict[Reason, float] = {}
        self._fault_at = -math.inf
        self._measured = [(bed.known.q[name], bed.known.u[name]) for name in obstacles(bed)]
        velocities = bed.known.velocities if bed.controller else ()
        possible = self._stacks.possible
        self._braked_speeds = BrakedSpeeds(self._stacks.braked, [velocity.unit for velocity in velocities], possible)
        names = [subject.name for subject in subjects(bed)]
        noises = {names.index(name): noise for name, noise in rate_noises(bed).items() if name in names}
        self._rates = [names.index(f"{velocity.name} rate") for velocity in velocities]
        bases = [i for i, velocity in enumerate(velocities) if velocity.name not in bed.joints]
        accelerations = {self._rates[i]: float(possible[i]) for i in bases if len(possible)}
        self._brake, self._brake_fails = BrakeWatch(noises, accelerations), False
        #: a brake is under way
        self._brakes = False
        #: gives the state and the reference of the last tick
        self.newest: Callable[[], tuple[State, Reference]] | None = None
        self._state: State | None = None
        self._reference: Reference | None = None
        self._request, self._reply = NO_REQUEST, Reply.NONE
        self._handlers: dict[RequestKind, Callable[[float, Request], Reply]] = {
            RequestKind.ATTACH: self._attach,
            RequestKind.ARM: self._arm,
            RequestKind.START: self._start,
            RequestKind.RESTART: self._restart,
            RequestKind.HOLD: self._hold,
            RequestKind.FLOAT: self._float,
            RequestKind.STOP: self._stop,
            RequestKind.RESET: self._reset,
            RequestKind.SET_GAIN: self._set_gain,
            RequestKind.EMERGENCY_STOP: self._emergency_stop,
            RequestKind.REPORT: self._report,
            RequestKind.LEASE: self._lease,
            **dict.fromkeys(GOALS, self._ask_for_goal),
        }
        self._goal = GoalRecord(bed)
        self._behaviour_asked = getattr(stack.behaviour, "ask", None)
        #: who has the controls, and since when [s]
        self.lease = Lease()
        guard.passes = self.passes

    # Before the controllers of a tick.

    def begin(self, t: float) -> Stack:
        """Take a request, if there is one; the controllers of this tick."""
        if self.own:
            self._take(t, self.own.popleft())
        elif self._source is not None and (request := self._source.take(t, self.mode, self.cause)):
            self._take(t, request)
        elif self._request is not NO_REQUEST:
            self._request, self._reply = NO_REQUEST, Reply.NONE
        self._is_first_tick, self._has_switched = self._has_switched, False
        if self._gains.moving:
            self._gains.advance(t)
        return self._stacks[self.mode]

    def look(self) -> None:
        """Note the newest state and reference."""
        if self.newest is not None:
            self._state, self._reference = self.newest()
            if self._measured:
                self._reference = self._with_obstacles(self._state, self._reference)

    def _with_obstacles(self, state: State, reference: Reference) -> Reference:
        """The reference with obstacles where they are, for goals and plans around them."""
        q, u = reference.q.copy(), reference.u.copy()
        for at, rates in self._measured:
            q[at], u[rates] = state.q[at], state.u[rates]
        return reference._replace(q=q, u=u)

    def _take(self, t: float, request: Request) -> None:
        self.look()
        self._goal.limit, self._goal.part = 0, 0.0
        if self.lease.keeps_out(request):
            self._request, self._reply = request, Reply.NOT_IN_CONTROL
        else:
            self._request, self._reply = request, self._handlers[request.ask](t, request)
        self.lease.note(t, request, self._reply)
        if self._source is not None:
            self._source.answer(request, self._reply, self.mode, self.cause)

    def _attach(self, t: float, request: Request) -> Reply:
        self._is_attended = True
        self._enter(t, RunMode.DISARMED)
        return Reply.DONE

    def _arm(self, t: float, request: Request) -> Reply:
        if self.mode not in POSSIBLE_IN[RequestKind.ARM]:
            return Reply.NOT_IN_THIS_MODE
        if self._state is None or not self._state.ready or t - self._fault_at < _CALM_S:
            return Reply.NOT_READY
        self._enter(t, RunMode.ARMED)
        return Reply.DONE

    def _start(self, t: float, request: Request) -> Reply:
        if (reply := self._startable()) is Reply.DONE:
            self._resume(t)
        return reply

    def _restart(self, t: float, request: Request) -> Reply:
        if (reply := self._startable()) is not Reply.DONE:
            return reply
        begin_again = getattr(self._stacks.normal.behaviour, "begin_again", None)
        if begin_again is None or (tau := begin_again(self._behaviour_time)) is None:
            return Reply.NOT_REPEATABLE
        self._behaviour_time = tau
        self._resume(t, repeats=True)
        return reply

    def _startable(self) -> Reply:
        by_request = self.cause in (Reason.PASSED, Reason.OPERATOR_HOLD, Reason.OPERATOR_FLOAT)
        if self.mode not in POSSIBLE_IN[RequestKind.START] or not by_request:
            return Reply.NOT_IN_THIS_MODE
        return Reply.DONE if self._is_at_rest() else Reply.NOT_AT_REST

    def _hold(self, t: float, request: Request) -> Reply:
        return self._switch(t, request.ask, RunMode.HOLDING, Reason.OPERATOR_HOLD)

    def _float(self, t: float, request: Request) -> Reply:
        return self._switch(t, request.ask, RunMode.FLOATING, Reason.OPERATOR_FLOAT)

    def _switch(self, t: float, ask: RequestKind, mode: RunMode, cause: Reason) -> Reply:
        if not self._stacks.can_brake:
            return Reply.NOT_POSSIBLE
        # From float to hold only where no fault asked for the float.
        faulty = self.cause in self._answers
        if self.mode not in POSSIBLE_IN[ask] or (mode is RunMode.HOLDING and faulty):
            return Reply.NOT_IN_THIS_MODE
        self._enter(t, mode, self.cause if faulty else cause)
        return Reply.DONE

    def _stop(self, t: float, request: Request) -> Reply:
        if self.mode not in (RunMode.STOPPING, RunMode.STOPPED):
            self._note_sender(request)
            self._end(t, self._verdict(t, Reason.OPERATOR_STOP))
        return Reply.DONE

    def _note_sender(self, request: Request) -> None:
        self.stopped_by = self._source.name(request.sender) if self._source else ""

    def _emergency_stop(self, t: float, request: Request) -> Reply:
        self._note_sender(request)
        self._end(t, self._verdict(t, Reason.EMERGENCY_STOP))
        return Reply.DONE

    def _reset(self, t: float, request: Request) -> Reply:
        if self.mode not in POSSIBLE_IN[RequestKind.RESET]:
            return Reply.NOT_IN_THIS_MODE
        if self.cause in self._answers and self._answers[self.cause].cleared_by == "nobody":
            return Reply.NOT_CLEARABLE
        if t - self._fault_at < _CALM_S:
            return Reply.NOT_READY
        self._enter(t, RunMode.ARMED)
        return Reply.DONE

    def _set_gain(self, t: float, request: Request) -> Reply:
        return self._gains.aim(t, request.argument, request.value)

    def _lease(self, t: float, request: Request) -> Reply:
        return self.lease.ask(t, request)

    def _ask_for_goal(self, t: float, request: Request) -> Reply:
        if self._behaviour_asked is None:
            return Reply.TAKES_NO_GOALS
        if self.mode not in POSSIBLE_IN[request.ask]:
            return Reply.NOT_IN_THIS_MODE
        if self._state is None or not self._state.ready or self._reference is None:
            return Reply.NOT_READY
        reply: Reply
        reply, (self._goal.limit, self._goal.part) = self._behaviour_asked(self._reference, request)
        return reply

    def _report(self, t: float, request: Request) -> Reply:
        reason = Reason(request.argument)
        self._fault_at = t
        self._respond(t, self._verdict(t, reason, request.value))
        return Reply.DONE

    def has_come_to_rest(self) -> bool:
        """Whether the robot rests in the present mode, so that a behaviour may start; never while one runs."""
        self.look()
        return self.mode is not RunMode.RUNNING and self._is_at_rest()

    def standing(self) -> Standing:
        """What an operator is told beside the mode: the controls, the last goal's limit, and the reference."""
        reference = self._reference
        motion = NOTHING if reference is None else np.concatenate([reference.q, reference.u, reference.a])
        return Standing(self.lease.holder, self.lease.since, self._goal.limit, self._goal.part, motion)

    # After the guard's check.

    def passes(self, reason: Reason, t: float, subject: int, value: float, limit: float) -> bool:
        """Whether a command may be written in spite of a fault: it is only reported, or already answered."""
        name, answer = reason.name.lower(), self._answers[reason]
        if reason in _RATES and self._brake.grows(t, subject, value, limit) and self.mode in _BRAKING:
            self._brake_fails = True
            return False
        if t - self._last_seen.get(reason, -math.inf) > self._gap:
            self._first_seen[reason] = t
        self._last_seen[reason] = t
        if not FAULTS[name].passes:
            return False
        if self.mode is RunMode.DISARMED or (reason in _BY_SWITCHING and self._is_first_tick):
            return True
        if answer.response == "warn" or t - self._first_seen[reason] < answer.lasting_s:
            return True
        if self.mode is RunMode.STOPPING and reason in _LEFT_TO_THE_WATCH:
            self._note(Verdict(t, self._stacks.no_command, reason, subject, value, limit, False))
            return True
        return RESPONSES.index(answer.response) <= _SEVERITY.get(self.mode, -1)

    def judge(self, t: float, verdict: Verdict) -> Verdict:
        """The verdict, with a response to its reason; `stop` only where the run must end now."""
        if self.mode is _RUNNING and not verdict.reason:
            return verdict
        if verdict.reason >= 10:
            self._fault_at = t
            self.look()
            verdict = self._answered(t, verdict)
        if self.mode is RunMode.STOPPING or self._brakes:
            self.look()
        if self._brakes:
            self._watch_the_brake(t, verdict)
        if self.mode is RunMode.STOPPING and (self._is_at_rest() or t - self._since >= self._time_limit):
            self.mode = RunMode.STOPPED
        if self.mode is RunMode.STOPPED and self._because is not None:
            why = self._because
            return Verdict(t, verdict.command, why.reason, why.subject, why.value, why.limit, True)
        if self.mode is not _RUNNING:
            self._wait(t)
        return verdict

    def _watch_the_brake(self, t: float, verdict: Verdict) -> None:
        """End the run where its brake drives what it should stop."""
        state, reference = self._state, self._reference
        self._brakes = state is not None and self.mode in _STANDING and not self._is_at_rest()
        if not self._brakes or state is None or reference is None:
            return
        if (i := self._braked_speeds.driven(t, state.u, reference.u)) is not None:
            speed = float(state.u[i])
            self._end(t, Verdict(t, verdict.command, Reason.BRAKE_FAILS, self._rates[i], speed, math.nan, True))

    def operation(self, t: float, mode: RunMode, verdict: Verdict) -> Operation:
        """What the log has of it; `mode` is that of the tick."""
        request, reason, response = self._request, verdict.reason, 0
        if reason >= 10 and reason in self._answers:
            response = 1 + RESPONSES.index(self._answers[Reason(reason)].response)
        return Operation(
            t,
            int(request.ask),
            request.sender,
            request.argument,
            request.value,
            int(self._reply),
            int(mode),
            int(self.cause),
            response,
            self._goal.numbers(request),
            self._gains.values,
        )

    @property
    def ended_by(self) -> Verdict | None:
        """The fault that ended the run, or holds it at its end; none without a fault."""
        is_fault = self.cause in self._answers or self.mode is RunMode.STOPPED
        return self._because if is_fault else None

    def _answered(self, t: float, verdict: Verdict) -> Verdict:
        """The verdict of a fault, after the response to it."""
        if self._brake_fails:
            verdict = verdict._replace(reason=Reason.BRAKE_FAILS)
        if verdict.stop:  # the guard did not let the command pass
            self._respond(t, verdict)
        return verdict._replace(stop=False)

    def _respond(self, t: float, verdict: Verdict) -> None:
        reason = Reason(verdict.reason)
        response = self._answers[reason].response if reason in self._answers else "stop_at_once"
        if response == "warn":
            return
        mode = _MODES[response]
        # What is not milder than the present mode, and yet had to be refused, leaves nothing but the end.
        if not self._stacks.can_brake or _SEVERITY.get(self.mode, -1) >= _SEVERITY[mode]:
            mode = RunMode.STOPPED if verdict.stop or not self._stacks.can_brake else self.mode
        if mode is self.mode and not verdict.stop:
            return  # answered already, and nothing was refused
        if mode in (RunMode.STOPPING, RunMode.STOPPED):
            self._end(t, verdict, at_once=mode is RunMode.STOPPED)
        elif mode is not self.mode and self.mode is not RunMode.DISARMED:  # who is disarmed rests already
            self._returns_to = self.mode, self.cause, self._because
            self._because = verdict
            self._note(verdict)
            self._enter(t, mode, reason)

    def _note(self, verdict: Verdict) -> None:
        """Add a fault to the chain."""
        if verdict.reason not in [fault.reason for fault in self.chain]:
            self.chain.append(verdict)

    def _end(self, t: float, verdict: Verdict, at_once: bool = False) -> None:
        """Brake to rest and end the run, or end it with this tick where nothing can brake."""
        self._note(verdict)
        reason = Reason(verdict.reason)
        brakes = self.mode not in (RunMode.DISARMED, RunMode.STOPPED) and not self._is_untrusted()
        brakes = brakes and self._stacks.can_brake and self._state is not None and self._state.ready
        wanted = self._answers[reason].response in ("hold", "stop") and not at_once
        self._because = verdict
        self._enter(t, RunMode.STOPPING if wanted and brakes else RunMode.STOPPED, reason)

    def _is_untrusted(self) -> bool:
        return self.cause in self._answers and "hold" not in FAULTS[self.cause.name.lower()].possible

    def _wait(self, t: float) -> None:
        """A hold or float goes on, until its cause has cleared itself."""
        if self._is_attended:
            self.idle_ticks += 1
        answer = self._answers.get(self.cause)
        if self.mode not in (RunMode.HOLDING, RunMode.FLOATING) or answer is None or answer.cleared_by != "itself":
            return
        self.look()
        if t - self._since >= answer.ends_after_s and self._because is not None:
            self._end(t, self._because)
        elif t - self._last_seen.get(self.cause, self._since) > _CALM_S and self._is_at_rest():
            mode, cause, because = self._returns_to
            if mode is _RUNNING:
                self._resume(t)
            else:  # nobody asked for a start, or an earlier hold goes on
                self._enter(t, mode, cause)
                self._because = because

    # Modes.

    def _enter(self, t: float, mode: RunMode, cause: Reason = Reason.PASSED) -> None:
        if self.mode is RunMode.RUNNING:
            self._behaviour_time = self._stacks.behaviour_time(t)
        held = self._reference.direct if self._reference is not None else self._stacks.initial_direct
        # A hold after a hold goes on with the same pose.
        if not (self.mode in _STANDING and mode in _STANDING and self._is_at_rest()):
            self._stacks.begin(mode, held)
            self._brake.begin(t)
            self._braked_speeds.begin()
            self._brakes = mode in _STANDING
        self.mode, self.cause, self._since, self._has_switched = mode, cause, t, True

    def _resume(self, t: float, repeats: bool = False) -> None:
        assert self._reference is not None
        if not self._stacks.stay(self._reference):
            self._stacks.resume(self._behaviour_time, self._reference.q, repeats=repeats)
        self.mode, self.cause, self._since, self._because = RunMode.RUNNING, Reason.PASSED, t, None
        self.chain.clear()
        self._has_switched = True

    def _is_at_rest(self) -> bool:
        return self._state is not None and self._stacks.is_at_rest(self.mode, self._state)

    def _verdict(self, t: float, reason: Reason, value: float = math.nan) -> Verdict:
        return Verdict(t, self._stacks.no_command, reason, 0, value, math.nan, False)


#: modes in which the pose is held
_STANDING = (RunMode.HOLDING, RunMode.STOPPING, RunMode.ARMED)
