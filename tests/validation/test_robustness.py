"""A plant that differs from the model: the move ends within 3 mm and 5 mrad, or the run ends by a name."""

from __future__ import annotations

import pytest

from tests.support.measurements import measured
from tests.validation.robustness import CONDITIONS, SEEDS, Condition, flights, passes, row


@pytest.mark.slow
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_the_move_ends_at_its_target_or_by_a_name(condition: Condition) -> None:
    flown = flights(condition, SEEDS)
    assert all(map(passes, flown)), row(condition, flown)
    wrong_time = condition.name.startswith("pose time")
    assert all(("pose_time_stamps" in flight.summary["guard"]) == wrong_time for flight in flown)


def test_the_table_has_every_condition() -> None:
    assert [said["difference"] for said in measured("robustness")] == [c.name for c in CONDITIONS]
