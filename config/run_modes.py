"""Modes of the supervisor, requests to it, and its answers: one number each, the same in log and operator channel."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from granite.config.operator_address import ADDRESS
from granite.config.reasons import Reason, WordedCode

#: numbers of the answer to a goal before those of the request in `Operation.goal`: limit, and the part of it
GOAL_ANSWER = 2


class RunMode(WordedCode):
    """Which controllers run."""

    RUNNING = 0, "the behaviour runs"  #: behaviour and law of the testbed
    HOLDING = 1, "the robot brakes to rest and holds its pose"
    FLOATING = 2, "the robot floats: valves closed, joints damped"
    STOPPING = 3, "the robot brakes to rest before the run ends"
    STOPPED = 4, "the actuators rest and the run ends"  #: at rest; the run ends with this tick
    DISARMED = 5, "the actuators rest until an operator arms"
    ARMED = 6, "the robot holds its pose until an operator starts"


class RequestKind(IntEnum):
    """A request to the supervisor. They are inputs of the tick and stand in the log."""

    NOTHING = 0
    ATTACH = 1  #: an operator is needed: the run begins disarmed
    ARM = 2
    START = 3
    HOLD = 4
    FLOAT = 5
    STOP = 6
    RESET = 7
    SET_GAIN = 8
    EMERGENCY_STOP = 9
    REPORT = 10  #: a fault that was noticed outside the tick; its reason is the argument
    RESTART = 11  #: the behaviour begins again
    GO = 12  #: to a pose: its coordinates are the numbers, the duration is the value
    JOG = 13  #: coordinates move with rates, the numbers, for a short time
    KNOT = 14  #: of a path that is to be followed: its number is the argument, its time the value
    FOLLOW = 15  #: the path through the last knots, whose count is the argument; the value is the time to the first
    ACT = 16  #: something that the behaviour offers by name
    LEASE = 17  #: an operator, the argument, has the controls; 0: nobody


class Reply(WordedCode):
    """The answer to a request."""

    NONE = 0, "nothing was asked"
    DONE = 1, "done"
    NOT_IN_THIS_MODE = 2, "refused: not possible in this mode"
    NOT_READY = 3, "refused: a sensor has not reported yet, or a fault was noticed within the last half second"
    NOT_AT_REST = 4, "refused: the robot is not at rest yet"
    NOT_CLEARABLE = 5, "refused: nobody may clear this fault; stop, and begin a new run"
    NO_SUCH_GAIN = 6, "refused: the law has no such gain"
    OUT_OF_BOUNDS = 7, "refused: the gain is outside its bounds"
    NOT_POSSIBLE = 8, "refused: this testbed has no controller that could do it"
    NOT_REPEATABLE = 9, "refused: this behaviour can't begin again, only go on by start"
    NO_SUCH_GOAL = 10, "refused: no goal that this behaviour could have"
    NOT_FEASIBLE = 11, "refused: the path is not possible"
    NO_SUCH_CONTACTS = 12, "refused: behaviour.contact_sets has no such set of closed contacts"
    NOT_IN_CONTROL = 13, "refused: another operator has the controls, expected lease take first"
    TAKES_NO_GOALS = 14, "refused: the behaviour of this testbed takes no goals, expected 'on_demand'"


class Request(NamedTuple):
    """What someone asks of the supervisor."""

    ask: RequestKind
    sender: int = 0  #: number of the key, from 1 on; 0: keyboard, or Granite itself; -n: client n of the live view
    argument: int = 0  #: index of a gain, or the reason of a reported fault
    value: float = 0.0  #: of a gain
    number: int = 0  #: by which its answer is found
    numbers: tuple[float, ...] = ()  #: of a goal: a pose with NaN for what stays, rates, or q, u, a of a knot


NO_REQUEST = Request(RequestKind.NOTHING)


def waiting_sentence(address: str) -> str:
    """What an operator has to do first, for a run that listens at this address."""
    where = "" if address == ADDRESS else f" --address {address}"
    return f"{RunMode.DISARMED.text}, by granite operate arm{where}"


def sentence_of(mode: RunMode, cause: Reason) -> str:
    """What the robot does, and why."""
    return f"{mode.text}, because {cause.text}" if cause else mode.text
