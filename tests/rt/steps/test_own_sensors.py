"""A user's sensors with models of their own: compiled as a whole, equal to the bit, replayed, refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.model import ControlModel
from granite.kernels.c_compiler import find_compiler
from granite.rt.compiled_run import parts_in_python
from granite.rt.run import Run
from tests.support.compiled_ticks import rows_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_sensor.py"
SENSORS = {"devices.gyro": {"kind": f"{EXAMPLE}:Gyro"}, "devices.laser": {"kind": f"{EXAMPLE}:RangeFinder"}}


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="compiled steps need a C compiler")
def test_a_gyro_and_a_range_finder_of_ones_own_are_compiled_recorded_and_replayed(tmp_path: Path) -> None:
    bed = granite.load("free-flyer", {**SENSORS, "loop.duration_s": 0.6})
    assert parts_in_python(Run(bed)) == []
    rows, _, run = rows_of(bed, compiled=True)
    expected, _, _ = rows_of(bed, compiled=False)
    kept = np.ones(run.channels.width, dtype=bool)
    kept[run.channels.columns("/timing", "steps")] = False
    np.testing.assert_array_equal(rows.view(np.uint64)[:, kept], expected.view(np.uint64)[:, kept])
    assert granite.replay(granite.simulate(bed, tmp_path / "run.mcap")).first is None


_WRONG = """
import casadi as ca
import granite


class Wrong(granite.Device):
    role = "sensor"

    def signals(self, bed):
        return (granite.Coordinate("value", "m"),)

    def measurement(self, motion):
        x, y = motion.q[0], motion.q[1]
        return {}
"""


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            "granite.Measurement(motion.q[:2], (1e-3, 1e-3))",
            "gives 2 x 1 values and 2 deviations, expected a column of 1",
        ),
        ("granite.Measurement(x, (1e-3, 1e-3))", "gives 1 x 1 values and 2 deviations"),
        (
            "granite.Measurement(x + ca.sum1(a := ca.SX.sym('a', 2)), (1e-3,), acceleration=a)",
            "other accelerations, expected a column of three symbols",
        ),
        ("granite.Measurement(ca.log(-1 - x * x), (1e-3,))", "not finite, expected a smooth function"),
        ("granite.Measurement(x, (float('nan'),))", "a deviation of its model is negative or not finite"),
        (
            "granite.Measurement(x + ca.SX.sym('z'), (1e-3,))",
            "has the symbol 'z', expected symbols of `q` and `u` alone",
        ),
        ("granite.Measurement(x, (1e-3,), angles=(1,))", "names a row beyond its 1"),
        ("granite.Measurement(ca.SX(2.0), (1e-3,))", "is a constant, so nothing determines its values, expected one"),
        ("x", "gives a SX, expected a granite.Measurement"),
        ("granite.Measurement(x, 1e-3)", "noise of its model is 0.001, expected a tuple"),
        ("granite.Measurement(ca.MX.sym('x'), (1e-3,))", "of type MX, expected an expression of `q` and `u`"),
    ],
)
def test_a_model_that_can_not_be_used_is_refused_in_one_sentence(model: str, said: str, tmp_path: Path) -> None:
    """By the estimator, and by the simulation, which a testbed with another estimator has alone."""
    (tmp_path / "wrong.py").write_text(_WRONG.format(model))
    bed = granite.load("free-flyer", {"devices.wrong": {"kind": f"{tmp_path}/wrong.py:Wrong"}})
    for use in (lambda: KalmanEstimator(KalmanEstimator.Options(kind="kalman"), ControlModel(bed)), lambda: Run(bed)):
        with pytest.raises(InputError, match=r"devices\.wrong") as refused:
            use()
        assert said in str(refused.value)
