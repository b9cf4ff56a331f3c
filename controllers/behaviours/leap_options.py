"""States and options of the leap from bar to bar; the machine itself is in `leap.py`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, Name, Positive, Table
from granite.config.behaviour import Groups, StateNote
from granite.config.errors import InputError, one_of
from granite.controllers.behaviours.hands import Hand
from granite.controllers.behaviours.state_machine import StateMachine

_LOST = "a hand has lost the bar"
#: states in which thrusters may fire: for corrections in mid-course, and for braking (report, section 5.2)
_WITH_THRUSTERS = ("midcourse", "settle")
STATES = tuple(note._replace(thrusters=note.name in _WITH_THRUSTERS) for note in (
    StateNote("hold", "holds the bar while the estimate settles", {"crouch": "after hold_s", "float": _LOST}),
    StateNote("crouch", "draws the base to the bar", {"push": "after crouch_s", "float": _LOST}),
    StateNote("push", "accelerates the base away from the bar", {"release": "after push_s", "float": _LOST}),
    StateNote(
        "release", "lets go, hand after hand", {"release": "a group is open", "fold": "all hands are open"}, 2.0, "stop"
    ),
    StateNote("fold", "folds the arms and begins to turn on the wheel", {"turn": "arms folded"}, 10.0, "float"),
    StateNote("turn", "turns", {"midcourse": "half of the flight is over"}, 60.0, "float"),
    StateNote(
        "midcourse", "plans turn and catch again; thrusters correct the flight",
        {"coast": "corrected", "reach": "reach_s before the catch"}, 60.0, "float",
    ),
    StateNote("coast", "flies on after a correction", {"reach": "reach_s before the catch"}, 60.0, "float"),
    StateNote("reach", "leads the hands to the bar", {"catch": "at the time of the catch"}, 10.0, "float"),
    StateNote(
        "catch", "holds the hands at the bar and closes the first of them",
        {"settle": "all hands hold", "recover": "some hands hold"}, 1.0, "float",
    ),
    StateNote(
        "recover", "brakes with one hand and leads the other to the bar",
        {"settle": "all hands hold", "float": "no hand holds"}, 4.0, "settle",
    ),
    StateNote(
        "settle", "brakes, and unloads the wheel where two hands hold",
        {"crawl": "at rest, and there are steps", "rest": "at rest", "float": "no hand holds"}, 20.0, "rest",
    ),
    StateNote(
        "crawl", "moves one hand along the bar while the other holds",
        {"crawl": "it holds, and there are steps", "settle": "it holds", "float": "no hand holds"}, 8.0, "settle",
    ),
    StateNote("rest", "holds the bar; the behaviour is done", {"float": "no hand holds"}),
    StateNote(
        "stop", "brakes at the bar, because letting go failed",
        {"rest": "at rest", "float": "no hand holds"}, 20.0, "float",
    ),
    StateNote("float", "floats with the arms at rest, after a miss or a lost bar", {}, fails=True),
))  # fmt: skip


class CrawlStep(Table):
    """One hand moves from a contact to another one."""

    open: Name  #: contact that is let go
    close: Name  #: contact that takes hold next


class LeapOptions(StateMachine.Options):
    """When, how fast, and which hands."""

    machine: ClassVar[tuple[StateNote, ...]] = STATES
    #: groups of contacts that are let go one after the other; all are closed at the start
    release: Groups = Field(min_length=1)
    #: groups of contacts that take hold one after the other
    catch: Groups = Field(min_length=1)
    #: of the base when it leaves the bar
    velocity_m_s: tuple[float, float]
    turn_rad: Angle = np.pi  #: angle by which the vehicle turns in flight
    #: arms in flight, by coordinate key; others keep their angles
    folded: dict[str, float] = Field(default_factory=dict)
    #: base before the push, by coordinate key; others keep their value
    crouched: dict[str, float] = Field(default_factory=dict)
    #: of the mass centre from the middle of the caught grips, along the flight; none: as at the release
    catch_distance_m: Positive | None = None
    hold_s: Positive = 1.0  #: time at rest before the crouch
    crouch_s: Positive = 3.0  #: time of the crouch
    push_s: Positive = 4.0  #: time of the push
    #: between groups that let go, and between groups that take hold
    group_s: Positive = 0.2
    fold_s: Positive = 2.0  #: time in which the arms fold
    correct_s: Positive = 3.0  #: time in which thrusters correct the flight, where there are any
    reach_s: Positive = 2.5  #: time in which the arms reach for the grips
    settle_s: Positive = 4.0  #: time in which the vehicle brakes after the catch
    #: along the bar, when the vehicle has settled
    crawl: tuple[CrawlStep, ...] = ()
    crawl_s: Positive = 2.0  #: time of one step of the crawl
    #: a hand closes where it is nearer to its grip and slower, by the estimate
    close_m: Positive = 1.5e-3
    close_m_s: Positive = 2e-3  #: relative speed below which a hand closes
    #: a hand further from its bar, by the estimate, does not hold it, whatever it reports
    lost_m: Positive = 0.02

    @model_validator(mode="before")
    @classmethod
    def _sets_follow_from_the_hands(cls, content: Any) -> Any:
        """The contact sets on the way, in their order."""
        if not isinstance(content, dict) or not {"release", "catch"} <= content.keys():
            return content
        try:
            release, catch = ([list(group) for group in content[key]] for key in ("release", "catch"))
            steps = [(step["open"], step["close"]) for step in content.get("crawl", ())]
        except (TypeError, KeyError):
            return content  # refused below with its key
        sets = [[name for group in release[i:] for name in group] for i in range(len(release) + 1)]
        sets += [[name for group in catch[: i + 1] for name in group] for i in range(len(catch))]
        for opened, closed in steps:
            sets.append([name for name in sets[-1] if name != opened])
            sets.append([*sets[-1], closed])
        return {**content, "contact_sets": tuple(map(tuple, sets))}


def given_coordinates(values: dict[str, float], keys: list[str], where: str) -> dict[int, float]:
    """The values by the index of their coordinate; `InputError` where there is none."""
    for key in values:
        if key not in keys:
            raise InputError("no such coordinate", key=f"{where}.{key}", value=values[key], expected=one_of(key, keys))
    return {keys.index(key): value for key, value in values.items()}


def refuse_unreachable(options: LeapOptions, start: dict[str, Hand], end: dict[str, Hand]) -> None:
    """Refuse a velocity that does not lead to the bar, or hands that could not meet their grips there."""
    velocity = np.array(options.velocity_m_s)
    speed = float(np.linalg.norm(velocity))
    way = np.mean([h.position for h in end.values()], axis=0) - np.mean([h.position for h in start.values()], axis=0)
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
