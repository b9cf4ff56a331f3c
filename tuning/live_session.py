"""Tuning a running loop by hand: bounded steps of its gains, undo, and two sets of gains on the same manoeuvre.

Everything goes through the operator channel, so every step is bounded by the loop too, ramped, and in its log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from granite.config.errors import InputError, one_of
from granite.config.expected_modes import POSSIBLE_IN
from granite.config.run_modes import Reply, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.controllers.behaviours.resuming import SETTLING_S
from granite.logs.log import read_log
from granite.tuning.manoeuvre import last_manoeuvre
from granite.tuning.measures import Measures, chosen_goals, metric_units

#: largest step, up or down by this factor
LARGEST_STEP = 2.0
_PERCENT = re.compile(r"([+-]\d{1,3}(?:\.\d*)?)\s*%")
#: time between two looks at the run, and at its log [s]
_LOOK_S, _READ_S = 0.25, 1.5
#: how long a robot may take to come to rest [s]
_REST_S = 60.0


class OperatorClient(Protocol):
    """The operator channel."""

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Send a command; the answer."""


class GainStep(NamedTuple):
    """A change of one gain."""

    gain: str
    before: float
    after: float


class GainComparison(NamedTuple):
    """Two sets of gains on the same manoeuvre."""

    gains: tuple[GainStep, ...]  #: that differ: before is A, after is B
    measures: tuple[tuple[str, str, float, float], ...]  #: name, unit, with A, with B
    seconds: tuple[float, float]  #: lengths of both manoeuvres


class LiveSession:
    """The gains of a running loop; A is the set to compare with, at first the one that was found.

    Parameters
    ----------
    operator
        A connection to the run.
    bed
        The testbed that should run there.
    metrics
        Expressions to compare by; none: those of the testbed's tuning table, or the usual ones.

    Raises
    ------
    InputError
        Where another testbed runs there, the law has no gains, or there is no such metric.
    """

    def __init__(self, operator: OperatorClient, bed: Testbed, metrics: Sequence[str] = ()) -> None:
        goals, band = chosen_goals(bed, metrics)
        self._measures = Measures(bed, goals, band)
        self._bed = bed
        self._ask = operator.ask
        units = metric_units(bed)
        self._goals = [(text, units.get(text, "")) for _, text in goals]
        answer = self._ask("gains")
        if answer["bed"] != bed.name:
            raise InputError(f"the run is of testbed '{answer['bed']}'", expected=f"one of '{bed.name}'")
        if not answer["gains"]:
            raise InputError("the law has no gain that may change in a run", file=bed.name)
        self._log: str | None = answer["log"]
        self._steps: list[GainStep] = []
        self.a = self.values()

    def gains(self) -> list[dict[str, Any]]:
        """Each gain: name, unit, value, lower, upper and meaning."""
        gains: list[dict[str, Any]] = self._ask("gains")["gains"]
        return gains

    def values(self) -> dict[str, float]:
        """The gains as they are."""
        return {gain["name"]: gain["value"] for gain in self.gains()}

    def step(self, gain: str, to: str) -> GainStep:
        """Change a gain, by a part such as `+10 %`, or to a number.

        Raises
        ------
        InputError
            Where there is no such gain, or the step is too large or no step; the loop refuses what is out of bounds.
        """
        values = self.values()
        if gain not in values:
            raise InputError("the law has no such gain", key="gain", value=gain, expected=one_of(gain, values))
        before = values[gain]
        try:
            part = _PERCENT.fullmatch(to.strip())
            after = before * (1 + float(part[1]) / 100) if part else float(to)
        except ValueError:
            raise InputError(key=gain, value=to, expected="a step such as +10% or -5%, or a number") from None
        least, most = sorted((before / LARGEST_STEP, before * LARGEST_STEP))
        if not least <= after <= most:  # also NaN
            raise InputError(key=gain, value=to, expected=f"{least:g} to {most:g} in one step from {before:g}")
        self._set(gain, after)
        self._steps.append(GainStep(gain, before, after))
        return self._steps[-1]

    def undo(self) -> GainStep:
        """Take the last step back."""
        if not self._steps:
            raise InputError("no step to undo")
        gain, before, after = self._steps[-1]
        self._set(gain, before)
        self._steps.pop()
        return GainStep(gain, after, before)

    def mark(self) -> None:
        """From now on, A is the present set."""
        self.a = self.values()

    def compare(
        self, seconds: float | None = None, report: Callable[[str], None] = lambda sentence: None
    ) -> GainComparison:
        """Run the manoeuvre with A, then with the present set B, which stays in force.

        Parameters
        ----------
        seconds
            How much of the manoeuvre; None: until the behaviour is done.
        report
            Called with a sentence at the beginning of each part.

        Raises
        ------
        InputError
            Where A and B are the same, the manoeuvre can't be repeated or does not end, or the log can't be read here.
        """
        a, b = self.a, self.values()
        gains = tuple(GainStep(name, a[name], b[name]) for name in b if a[name] != b[name])
        if not gains:
            raise InputError("A and B have the same gains", expected="a step since the last mark")
        if seconds is None and not self._planned_s():
            raise InputError(
                "the behaviour is never done", key="ab", expected="how many seconds to compare, as in ab 20"
            )
        if self._log is None or not Path(self._log).is_file():
            expected = "to be on the machine of the loop"
            raise InputError(f"the log of the run, '{self._log}', is not here", key="ab", expected=expected)
        try:
            manoeuvres = []
            for name, values in (("A", a), ("B", b)):
                self._put(values)
                report(f"{name}: back to the first pose, then the manoeuvre")
                manoeuvres.append(self._manoeuvre(seconds))
        finally:
            self._put(b)
        (first, t_a), (second, t_b) = manoeuvres
        measures = tuple((*goal, x, y) for goal, x, y in zip(self._goals, first, second, strict=True))
        return GainComparison(gains, measures, (t_a, t_b))

    def _manoeuvre(self, seconds: float | None) -> tuple[list[float], float]:
        """The measures of the manoeuvre with the present gains, and its length [s]; the robot holds after it."""
        if self._ask("status")["mode"] == "running":
            self._do("hold")
        before = self._ask("status")["t_s"]
        self._restart()
        began = self._ask("status")["t_s"]
        due = began + SETTLING_S + (self._planned_s() if seconds is None else seconds)
        while True:
            time.sleep(_LOOK_S)
            status = self._ask("status")
            if status["mode"] != "running":
                because = f" by {status['cause']}" if "cause" in status else ""
                raise InputError(f"the manoeuvre did not end, the run is {status['mode']}{because}")
            if status["t_s"] < due:
                continue
            if manoeuvre := last_manoeuvre(read_log(str(self._log)), seconds, before):
                self._do("hold")
                return self._measures.values(manoeuvre), float(manoeuvre.t[-1] - manoeuvre.t[0])
            due = status["t_s"] + _READ_S

    def _planned_s(self) -> float:
        """How long the waypoints take; zero of other behaviours, and without any."""
        return float(sum(point.duration_s + point.hold_s for point in getattr(self._bed.behaviour, "waypoints", ())))

    def _put(self, values: dict[str, float]) -> None:
        now = self.values()
        for name, value in values.items():
            if now[name] != value:
                self._set(name, value)

    def _set(self, gain: str, value: float) -> None:
        self._do("set_gain", gain=gain, value=value)

    def _restart(self) -> None:
        """Restart once the robot rests. The loop logs every refusal as a warning, so it is not asked before."""
        until = time.monotonic() + _REST_S
        while True:
            status, is_late = self._ask("status"), time.monotonic() > until
            moves = RunMode[status["mode"].upper()] in POSSIBLE_IN[RequestKind.RESTART] and not status["at_rest"]
            if is_late or not moves:
                answer = self._ask("restart")
                if answer["ok"]:
                    return
                if is_late or answer["text"] != Reply.NOT_AT_REST.text:  # it may move again since the status
                    raise InputError(f"restart was {answer['text']}")
            time.sleep(_LOOK_S)

    def _do(self, command: str, **more: Any) -> None:
        """Ask the loop; a refusal raises."""
        answer = self._ask(command, **more)
        if not answer["ok"]:
            raise InputError(f"{command.replace('_', ' ')} was {answer['text']}")
