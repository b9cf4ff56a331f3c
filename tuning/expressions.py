"""An expression over the log of a run: metrics by name, signals as `topic.signal`, and a few functions of time.

    propellant_n_s
    rms_error.base_x + 0.1 * largest_error_rad
    rms(truth.base_x_m - reference.base_x_m)
    integral(abs(applied.motors_shoulder_torque_nm))

It is parsed as Python, and only what is listed here is allowed in it.
"""

from __future__ import annotations

import ast
import operator
import sys
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.records import Array

#: functions that make one number of a signal; `t` are the times of the ticks [s]
_OVER_TIME: dict[str, Callable[[Array, Array], float]] = {
    "rms": lambda x, t: float(np.sqrt(np.mean(np.square(x)))),
    "mean": lambda x, t: float(np.mean(x)),
    "max": lambda x, t: float(np.max(x)),
    "min": lambda x, t: float(np.min(x)),
    "last": lambda x, t: float(x[-1]),
    "integral": lambda x, t: float(np.sum(0.5 * (x[1:] + x[:-1]) * np.diff(t))),
    "variation": lambda x, t: float(np.sum(np.abs(np.diff(x)))),
}
#: functions of numbers and of signals, value by value
_PER_VALUE: dict[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs), "sqrt": (1, np.sqrt), "log": (1, np.log), "exp": (1, np.exp), "sin": (1, np.sin),
    "cos": (1, np.cos), "hypot": (2, np.hypot), "larger": (2, np.maximum), "smaller": (2, np.minimum),
}  # fmt: skip
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: np.divide, ast.Pow: np.power,
}  # fmt: skip
_FUNCTIONS = (*_OVER_TIME, *_PER_VALUE)
_ALLOWED = "numbers, + - * / **, metrics, topic.signal and the functions " + ", ".join(_FUNCTIONS)
#: of an expression that a person wrote: letters, and operations inside each other, each of which takes some frames of
#: Python's stack in every process that evaluates it
_LONGEST, _DEEPEST = 1000, 100


@dataclass(frozen=True)
class Names:
    """What an expression may speak of."""

    metrics: Collection[str]  #: such as `pulses` and `rms_error.base_x`
    signals: Collection[str]  #: such as `truth.base_x_m`


class Expression:
    """An expression that was checked; `InputError` where it is none or speaks of what is not there.

    Parameters
    ----------
    text, names
        The expression, and what it may speak of.
    of_ticks
        It has a value in every tick instead of one for a run.
    """

    def __init__(self, text: str, names: Names, of_ticks: bool = False) -> None:
        if len(text) > _LONGEST:
            raise InputError(f"{len(text)} letters", expected=f"an expression of at most {_LONGEST}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # of a number beside a word: refused or not, no more
                self._tree = ast.parse(text.strip(), mode="eval").body
        except (RecursionError, MemoryError):
            raise _too_deep() from None
        except (SyntaxError, ValueError):
            raise InputError("not an expression", expected=_ALLOWED) from None
        if _depth(self._tree) > _DEEPEST:
            raise _too_deep()
        self._names = names
        #: the metrics and signals that it needs
        self.metrics: list[str] = []
        self.signals: list[str] = []
        if self._check(self._tree) and not of_ticks:
            expected = f"one number for a run: {', '.join(_OVER_TIME)} of it"
            raise InputError("a signal over time", expected=expected)

    def value(self, metric: Callable[[str], float], signal: Callable[[str], Array], t: Array) -> float:
        """The number of a run."""
        with np.errstate(all="ignore"):  # what is not finite is refused as a result
            return float(self._value(self._tree, metric, signal, t))

    def values(self, signal: Callable[[str], Array]) -> Array:
        """Its value for each number of the signals; of an expression of ticks."""
        with np.errstate(all="ignore"):
            return np.asarray(self._value(self._tree, _no_metric, signal, np.zeros(1)))

    def _check(self, node: ast.expr) -> bool:
        """Whether the value is a signal over time; remembers what it needs."""
        match node:
            case ast.Constant(value=bool() | complex() | str() | bytes() | None):
                pass
            case ast.Constant(value=int() | float() as number):
                if number > sys.float_info.max:
                    expected = f"numbers of at most {sys.float_info.max:.2g}"
                    raise InputError("a number is too large", expected=expected)
                return False
            case ast.Name() | ast.Attribute():
                return self._check_name(_dotted(node))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._check(left) | self._check(right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._check(operand)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._check_call(name, arguments)
        raise InputError(f"'{ast.unparse(node)[:60]}' is not allowed", expected=_ALLOWED)

    def _check_name(self, name: str) -> bool:
        if name in self._names.metrics:
            self.metrics.append(name)
            return False
        if name in self._names.signals:
            self.signals.append(name)
            return True
        head, dot, _ = name.partition(".")
        near = [n for n in (*self._names.metrics, *self._names.signals) if n.startswith(f"{head}.")] if dot else []
        names = near or sorted({n.partition(".")[0] for n in (*self._names.metrics, *self._names.signals)})
        raise InputError(f"no metric or signal '{name}'", expected=one_of(name, names))

    def _check_call(self, name: str, arguments: list[ast.expr]) -> bool:
        if name not in _FUNCTIONS:
            raise InputError(f"no function '{name}'", expected=one_of(name, _FUNCTIONS))
        wanted = 1 if name in _OVER_TIME else _PER_VALUE[name][0]
        if len(arguments) != wanted:
            raise InputError(f"'{name}' of {len(arguments)} values", expected=f"{wanted}")
        over_time = [self._check(argument) for argument in arguments]
        if name in _OVER_TIME and not over_time[0]:
            raise InputError(f"'{name}' of a number", expected="of a signal over time, such as truth.base_x_m")
        return name in _PER_VALUE and any(over_time)

    def _value(self, node: ast.expr, metric: Callable[[str], float], signal: Callable[[str], Array], t: Array) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self._value(left, metric, signal, t), self._value(right, metric, signal, t))
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand, metric, signal, t)
                return -value if isinstance(op, ast.USub) else value
            case ast.Call(func=ast.Name(id=name), args=arguments):
                values = [self._value(argument, metric, signal, t) for argument in arguments]
                return _OVER_TIME[name](values[0], t) if name in _OVER_TIME else _PER_VALUE[name][1](*values)
        name = _dotted(node)
        return metric(name) if name in self._names.metrics else signal(name)


def _no_metric(name: str) -> float:
    raise KeyError(name)


def _depth(tree: ast.AST) -> int:
    """How many operations are inside each other; without recursion."""
    level, depth = [tree], -1  # a name has its context below it
    while level := [child for node in level for child in ast.iter_child_nodes(node)]:
        depth += 1
    return depth


def _too_deep() -> InputError:
    return InputError("nested too deeply", expected=f"at most {_DEEPEST} operations inside each other")


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name):
            return f"{_dotted(inner)}.{name}"
    raise InputError(f"'{ast.unparse(node)[:60]}' is not allowed", expected=_ALLOWED)
