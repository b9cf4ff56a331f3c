"""`granite show --states`: the state machine of a behaviour as a table and as a diagram."""

from __future__ import annotations

from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite


def test_show_draws_the_states_of_a_state_machine(granite: Call) -> None:
    said = granite("show", "leap", "--states")
    assert said.code == 0
    assert "stateDiagram-v2" in said.out
    assert "midcourse --> reach: reach_s before the catch" in said.out
    assert "catch --> float: after 1 s" in said.out
    names = [note["name"] for note in granite("show", "leap", "--states", "--json").json]
    assert names[:4] == ["hold", "crouch", "push", "release"]
    changed = granite("show", "leap", "--states", "--set", "behaviour.timeout_s.catch=2").out
    assert "catch --> float: after 2 s" in changed


def test_show_refuses_to_draw_a_behaviour_without_states(granite: Call) -> None:
    assert "it has no states" in sentence_of(granite("show", "free-flyer", "--states"))
