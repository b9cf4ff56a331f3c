"""The last sentence of a rehearsal says where the machine was late, whatever the fault looked like."""

from typing import Any, cast

import pytest

from granite.cli.rehearsal import _remedy
from granite.logs.run_summary import RunSummary


def summary(ended: str, late_ms: float) -> RunSummary:
    made: dict[str, Any] = {"ended": ended, "timing": {"wake_up": {"max_us": 1e3 * late_ms}}}
    return cast(RunSummary, made)


@pytest.mark.parametrize("ended", ["tracking_error", "sensor_saturated", "joint_too_fast", "sensor_stale"])
def test_a_late_machine_is_named_beside_any_fault(ended: str):
    said = _remedy(summary(ended, 80.0), 0.005, patient=False)
    assert said == "; this machine was late by up to 80 ms: --patient allows more (docs/rehearsal.md)"
    assert "close other programs" in _remedy(summary(ended, 80.0), 0.005, patient=True)


def test_a_machine_in_time_is_not_blamed():
    assert _remedy(summary("tracking_error", 3.0), 0.005, patient=False) == ""
    assert _remedy(summary("completed", 80.0), 0.005, patient=False) == ""
    assert _remedy(summary("operator_stop", 80.0), 0.005, patient=False) == ""
