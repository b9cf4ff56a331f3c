"""How a case ended, from its log and its screen alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.responses import FAULTS
from granite.config.run_modes import RequestKind, RunMode
from granite.logs.log import Log
from tests.rt.fault_matrix.cases import DOUBTED, Case

#: speed of a base that is at rest, with the ripple of its thrusters [m/s]
STILL = 0.006


class FaultEnding(NamedTuple):
    """What became of a fault."""

    noticed_by: str
    after_s: float  #: from the fault until it was noticed
    response: str
    complete_s: float  #: from then until the response was complete
    is_safe: bool  #: outputs at rest after the end, and staying so
    complaint: str  #: what is not as declared; empty where all is

    def __str__(self) -> str:
        return f"{self.noticed_by} after {self.after_s:.3f} s, {self.response} in {self.complete_s:.3f} s"


def judge(case: Case, log: Log, screen: str, at_s: float, is_safe: bool) -> FaultEnding:
    """Compare the end of a case with what is declared."""
    assert log.summary is not None
    ended, text = log.summary["ended"], log.summary["text"]
    name, t = _notice(log, case.noticed_by, at_s)
    if not name:
        return FaultEnding(ended, log.summary["ended_at_s"] - at_s, "", 0.0, is_safe, f"not noticed; {ended}: {text}")
    after = t - at_s if case.at_s else 0.0
    response, complete = _response(log, name, t)
    # While the model is doubted, the fault may break the limit of another check.
    follows = name == DOUBTED and response == f"ended by {ended}" and ended in case.noticed_by
    response, declared = (_declared(log, ended) if follows else response), _declared(log, ended if follows else name)
    wrong = []
    if after > case.within_s:
        wrong.append(f"noticed after {after:.3f} s")
    if response != declared:
        wrong.append(f"response {response}, not {declared}; {ended}: {text}")
    if complete > case.complete_after(name):
        wrong.append(f"response took {complete:.3f} s")
    if not is_safe:
        wrong.append("outputs are not safe")
    if not _is_in_log(log, name):
        wrong.append("not in the log's events")
    if not _is_on_screen(log, name, screen):
        wrong.append("not on screen")
    return FaultEnding(name, after, response, complete, is_safe, "; ".join(wrong))


def _notice(log: Log, names: tuple[str, ...], at: float) -> tuple[str, float]:
    """The first reason of these from a time on, and when."""
    t, notices = log.t, []
    verdict, operation = log["/verdict"]["reason"], log["/operation"]
    asked = np.where(operation["request"] == RequestKind.REPORT, operation["argument"], 0)
    since = t >= at - 1e-9
    for name in names:
        if name == "link_trouble":
            notices += [(event["t_s"], name) for event in log.events if event["name"] == name and event["t_s"] >= at]
            continue
        reason = Reason[name.upper()]
        rows = np.flatnonzero(since & ((verdict == reason) | (asked == reason) | (operation["cause"] == reason)))
        if len(rows):
            notices.append((float(t[rows[0]]), name))
        elif log.summary is not None and log.summary["ended"] == name and log.summary["ended_at_s"] >= at - 0.01:
            notices.append((log.summary["ended_at_s"], name))
    first = min(notices, default=(0.0, ""))
    return first[1], first[0]


def _declared(log: Log, name: str) -> str:
    if name in FAULTS:
        return log.bed.safety.answer(name).response
    if name in ("operator_hold", "operator_float"):
        return name.removeprefix("operator_")
    return "stop_at_once" if name.upper() in Reason.__members__ and Reason[name.upper()].stops else "goes on"


def _response(log: Log, name: str, noticed: float) -> tuple[str, float]:
    """What the run did, and how long after the notice it was complete [s]."""
    assert log.summary is not None
    t, modes, ended = log.t, log["/operation"]["mode"], log.summary["ended"]
    after = t >= noticed - 1e-9
    if RunMode.HOLDING in modes[after]:
        if name == DOUBTED:  # a warning at first
            return "hold", float(t[after & (modes == RunMode.HOLDING)][0] - noticed)
        speed = _speed(log)
        moving = t[after & (speed >= STILL)]
        return "hold", float(moving[-1] - noticed) if len(moving) else 0.0
    if RunMode.FLOATING in modes[after]:
        thrust = log.rows[:, log.channels.columns("/verdict", "thrust")]
        opened = t[after & thrust.any(axis=1)]
        return "float", float(opened[-1] - noticed) if len(opened) else 0.0
    if ended == "completed":
        return ("warn" if name in FAULTS else "goes on"), 0.0
    if ended != name:
        return f"ended by {ended}", log.summary["ended_at_s"] - noticed
    braked = RunMode.STOPPING in modes[after] and _speed(log)[-1] < STILL
    return ("stop" if braked else "stop_at_once"), max(log.summary["ended_at_s"] - noticed, 0.0)


def _speed(log: Log) -> Array:
    velocity = log.rows[:, log.channels.columns("/truth", "u")]
    speed: Array = np.linalg.norm(velocity[:, :2], axis=1)
    return speed


def _is_in_log(log: Log, name: str) -> bool:
    """By its name, or in the words of a report or a mode."""
    if name == "link_trouble":
        return any(event["name"] == name for event in log.events)
    words = Reason[name.upper()].text
    return any(event["name"] == name or words in event["text"] for event in log.events)


def _is_on_screen(log: Log, name: str, screen: str) -> bool:
    """By its name or its words, however the lines were broken."""
    shown = "".join(screen.split())
    if name == "link_trouble":
        counts = next(event["text"] for event in log.events if event["name"] == name).partition(": ")[2]
        return counts.split()[0] in shown
    return name in shown or "".join(Reason[name.upper()].text.split()) in shown
