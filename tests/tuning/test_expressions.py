"""Expressions: numbers of a run from metrics and signals, and nothing else."""

import warnings

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.tuning.expressions import Expression, Names

NAMES = Names(("pulses", "rms_error.base_x"), ("truth.base_x_m", "reference.base_x_m"))
T = np.linspace(0.0, 2.0, 201)
SIGNALS = {"truth.base_x_m": np.sin(T), "reference.base_x_m": 0.5 * T}


def value(text: str) -> float:
    return Expression(text, NAMES).value({"pulses": 12.0, "rms_error.base_x": 0.5}.__getitem__, SIGNALS.__getitem__, T)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pulses", 12.0),
        ("-pulses / 4 + 2 ** 3", 5.0),
        ("rms_error.base_x * pulses", 6.0),
        ("max(reference.base_x_m)", 1.0),
        ("min(-reference.base_x_m)", -1.0),
        ("last(truth.base_x_m)", np.sin(2.0)),
        ("mean(reference.base_x_m)", 0.5),
        ("integral(truth.base_x_m)", 1 - np.cos(2.0)),
        ("variation(reference.base_x_m)", 1.0),
        ("max(abs(truth.base_x_m - reference.base_x_m)) - larger(pulses, 13)", np.abs(np.sin(T) - T / 2).max() - 13),
        ("rms(hypot(truth.base_x_m, 0))", np.sqrt(np.mean(np.sin(T) ** 2))),
    ],
)
def test_a_number_is_made_of_metrics_and_signals(text: str, expected: float):
    assert value(text) == pytest.approx(expected, rel=1e-4)


def test_what_is_checked_is_also_evaluated_deep_in_a_program():
    deepest = Expression("abs(" * 99 + "-pulses" + ")" * 99, NAMES)

    def below(frames: int) -> float:
        return below(frames - 1) if frames else deepest.value(lambda _: 12.0, SIGNALS.__getitem__, T)

    assert below(500) == 12.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pulse", "no metric or signal 'pulse', expected .*did you mean 'pulses'"),
        ("rms(truth.base_z_m)", r"no metric or signal 'truth.base_z_m', expected truth.base_x_m"),
        ("truth.base_x_m", "a signal over time, expected one number for a run: rms, mean"),
        ("mean(pulses)", "'mean' of a number, expected of a signal over time"),
        ("median(truth.base_x_m)", "no function 'median', expected one of"),
        ("hypot(1)", "'hypot' of 1 values, expected 2"),
        ("pulses +", "not an expression, expected numbers"),
        ("__import__('os').system('ls')", "is not allowed"),
        ("[pulses][0]", "is not allowed"),
        ("pulses if pulses else 1", "is not allowed"),
        ("'text'", "is not allowed"),
        ("1" * 2000, "2000 letters"),
        ("pulses + 1" + "0" * 400, r"a number is too large, expected numbers of at most 1.8e\+308"),
        ("pulses + 1e400", "a number is too large"),
        ("-" * 980 + "pulses", "nested too deeply, expected at most 100 operations inside each other"),
        ("-" * 101 + "pulses", "nested too deeply"),
        ("f(a=" * 120 + "1" + ")" * 120, "nested too deeply"),
        ("a" + ".a" * 400, "nested too deeply"),
    ],
)
def test_what_is_no_expression_is_refused_in_one_sentence(text: str, words: str):
    with pytest.raises(InputError, match=words):
        Expression(text, NAMES)


def test_python_does_not_warn_of_an_expression_on_the_terminal():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("1if pulses else 0", "0in pulses", "1or 2"):
            with pytest.raises(InputError):
                Expression(text, NAMES)
