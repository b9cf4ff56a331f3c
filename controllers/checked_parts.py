"""A user's own part in the tick: it can't change its arguments, and its result has the right type and size.

Compiled functions take the bytes of arrays, so that an array of another type would be read as other numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.own_code import WrongResultError
from granite.config.records import Array, Demand, Reference, Sample, State


class CheckedPart:
    """Calls the verb of a part and checks the record that it returns.

    Parameters
    ----------
    part, verb, kind
        The part, its method, and what the testbed calls it.
    record
        The record that it must return; None: an array.
    sizes
        Numbers in each array of the record, or in the array.
    """

    def __init__(self, part: Any, verb: str, kind: str, record: type | None, sizes: dict[str, int]) -> None:
        self._part, self._call, self._kind, self._record, self._sizes = part, getattr(part, verb), kind, record, sizes
        #: the user's own
        self.method = getattr(part, "method", self._call)
        setattr(self, verb, self._checked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def _checked(self, *arguments: Any) -> Any:
        for argument in arguments:
            for value in argument if isinstance(argument, tuple) else (argument,):
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)
        result = self._call(*arguments)
        if self._record is None:
            return self._array("the result", result, self._sizes[""])
        if not isinstance(result, self._record):
            raise self._wrong(f"returned {type(result).__name__}, expected {self._record.__name__}")
        checked: Any = result
        return checked._replace(**{n: self._array(n, getattr(result, n), size) for n, size in self._sizes.items()})

    def _array(self, name: str, values: Any, size: int) -> Array:
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong(f"gave {name} that is no array of numbers, expected shape ({size},)") from error
        if array.shape != (size,):
            raise self._wrong(f"gave {name} of shape {array.shape}, expected ({size},)")
        return array

    def _wrong(self, what: str) -> WrongResultError:
        return WrongResultError(f"'{self._kind}' {what}", self.method)


def checked_estimator(
    part: Any,
    kind: str,
    n_q: int,
    n_u: int,
    n_sensors: int,
    n_signals: int,
    n_t: int,
    n_supply: int = 0,
    grips: int | None = None,
) -> Any:
    """An estimator whose states are checked; `grips` is the index of that device among the actuators."""
    sizes = {"q": n_q, "u": n_u, "deviation": n_u, "ages": n_sensors}
    return CheckedPart(
        _Consistency(part, n_signals, n_u, n_t, n_supply, grips),
        "estimate",
        kind,
        State,
        {**sizes, "innovation": n_signals, "correction": n_u, "disturbance": n_u, "faults": n_t}
        | {"rate_deviation": n_u, "bias": n_signals, "supply": n_supply},
    )


class _Consistency:
    """An estimator that may leave out the deviation of its state: then the guard does not check it.

    What the grips hold is what they report.
    """

    def __init__(self, estimator: Any, n_signals: int, n_u: int, n_t: int, n_supply: int, grips: int | None) -> None:
        self._estimator, self._grips, self.method = estimator, grips, estimator.estimate
        self._left_out = {
            "innovation": np.full(n_signals, np.nan),
            "correction": np.full(n_u, np.nan),
            "disturbance": np.zeros(n_u),
            "faults": np.zeros(n_t),
            "rate_deviation": np.full(n_u, np.nan),
            "bias": np.full(n_signals, np.nan),
            "supply": np.ones(n_supply),
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)

    def estimate(self, sample: Sample) -> State:
        """The state of the estimator, with NaN for what it leaves out, and no disturbance or fault."""
        state: State = self._estimator.estimate(sample)
        if isinstance(state, State):
            left_out = self._left_out.items()
            absent: dict[str, Any] = {name: value for name, value in left_out if not len(getattr(state, name))}
            if self._grips is not None:
                absent["holding"] = np.nan_to_num(sample.applied[self._grips].values)
            state = state._replace(**absent)
        return state


def checked_behaviour(part: Any, kind: str, n_q: int, n_u: int, direct: list[int], n_task: int = 0) -> Any:
    """A behaviour whose references are checked."""
    sizes = {"q": n_q, "u": n_u, "a": n_u, "task": n_task}
    return _DirectSetpoints(CheckedPart(part, "decide", kind, Reference, sizes), kind, direct)


def checked_law(part: Any, kind: str, n_u: int, n_wrench: int) -> Any:
    """A law whose demands are checked."""
    sizes = {"acceleration": n_u, "force": n_u, "wrench": n_wrench}
    checked = CheckedPart(part, "control", kind, Demand, sizes)
    return CheckedPart(checked, "control_ahead", kind, Demand, sizes) if hasattr(part, "control_ahead") else checked


class _DirectSetpoints:
    """A behaviour whose set points are checked as well."""

    def __init__(self, behaviour: CheckedPart, kind: str, sizes: list[int]) -> None:
        self._behaviour, self._kind, self._sizes = behaviour, kind, sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behaviour, name)

    def decide(self, state: State) -> Reference:
        """The reference of the behaviour."""
        reference: Reference = self._behaviour.decide(state)
        if not reference.direct:
            return reference
        direct = tuple(np.array(values, dtype=np.float64) for values in reference.direct)
        if [values.shape for values in direct] != [(size,) for size in self._sizes]:
            given = [values.shape for values in direct]
            sentence = f"'{self._kind}' gave set points of shapes {given}, expected sizes {self._sizes}"
            raise WrongResultError(sentence, self._behaviour.method)
        return reference._replace(direct=direct)
