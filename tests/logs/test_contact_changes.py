"""Changes of contacts are reported as they were: no energy twice, and nothing opens that was never closed."""

import numpy as np
import pytest

from granite.logs.contact_changes import OUT_OF_REACH, Change, ContactChanges
from granite.logs.contact_summary import ContactSummary
from granite.logs.run_summary import Metrics
from tests.support.drawn_pages import log_of
from tests.support.jointed_beds import bar_between_arms


def happened(closed: list, caught: list, lost: list) -> list[Change]:
    bed = bar_between_arms()
    truth = {"closed": closed, "caught": caught, "lost": np.reshape(lost, (-1, 1))}
    log = log_of(bed, np.zeros((len(lost), len(bed.positions))), **truth)
    summary = ContactSummary(bed, log.channels)
    summary.update(log.rows)
    changes = list(ContactChanges(bed, log.channels).look(log.rows))
    found: Metrics = {"ticks": len(log.rows)}
    summary.add_to(found)
    assert [c["energy_lost_j"] for c in found["switching"]] == [c.energy_lost for c in changes]
    return changes


def test_energy_lost_in_one_tick_is_reported_once_with_the_greatest_impulse() -> None:
    left, right = happened([[0, 0], [1, 1]], [[0, 0], [0.2, 0.5]], [0, 0.3])
    assert (left.what, right.what) == ("closed", "closed")
    assert left.energy_lost is None
    assert right.energy_lost == pytest.approx(0.3)
    assert left.sentence == "contact left_grip closed, by an impulse of 0.2 N s"
    assert right.sentence == "contact right_grip closed, an impulse of 0.5 N s took 0.3 J"


def test_a_grip_that_never_closed_does_not_open() -> None:
    changes = happened([[0, 1], [3, 1], [0, 0], [0, 0]], np.zeros((4, 2)).tolist(), [0, 0, 0, 0])
    assert [(c.contact, c.what) for c in changes] == [("left_grip", "out of reach"), ("right_grip", "opened")]


def test_a_grip_out_of_reach_may_close_later() -> None:
    (change,) = happened([[3, 0], [1, 0]], [[0, 0], [0.1, 0]], [0, 0.2])
    assert (change.contact, change.what, change.energy_lost) == ("left_grip", "closed", pytest.approx(0.2))


@pytest.mark.parametrize(
    ("what", "impulse", "words"),
    [
        ("opened", 0.0, "contact grip opened"),
        ("closed", 0.0, "contact grip closed"),
        ("closed", 0.25, "contact grip closed, an impulse of 0.25 N s took 0.0125 J"),
        ("slips", 0.0, "contact grip slips"),
        ("sticks", 0.0, "contact grip sticks"),
        ("struck", 0.25, "contact grip was struck, an impulse of 0.25 N s took 0.0125 J"),
        (OUT_OF_REACH, 0.0, "contact grip is commanded to close, but its other side is out of reach"),
    ],
)
def test_a_change_is_a_sentence(what: str, impulse: float, words: str) -> None:
    assert Change(0.1, 20, "grip", what, impulse, 0.0125).sentence == words
