"""A request in the wrong mode is refused with the mode and with what to do."""

import pytest

from granite.config.expected_modes import POSSIBLE_IN, answer_text
from granite.config.reasons import Reason
from granite.config.run_modes import Ask, Reply, RunMode
from tests.support.scripted_operator import scripted


def refused(ask: Ask, mode: RunMode, cause: Reason = Reason.PASSED) -> str:
    return answer_text(ask, Reply.NOT_IN_THIS_MODE, mode, cause)


@pytest.mark.parametrize(
    ("ask", "mode", "cause", "said"),
    [
        (Ask.START, RunMode.DISARMED, Reason.PASSED, "the run is disarmed, expected arm first"),
        (Ask.RESTART, RunMode.RUNNING, Reason.PASSED, "the run is running, expected hold first"),
        (Ask.ARM, RunMode.RUNNING, Reason.PASSED, "the run is running, expected disarmed"),
        (Ask.RESET, RunMode.ARMED, Reason.PASSED, "the run is armed, expected holding or floating"),
        (Ask.START, RunMode.STOPPING, Reason.OPERATOR_STOP, "because the operator stopped the run, expected a new run"),
        (Ask.START, RunMode.HOLDING, Reason.BASE_TOO_FAST, "or safety.base_rate_rad_s, expected reset first"),
    ],
)
def test_a_refusal_names_the_mode_its_cause_and_what_to_do(ask, mode, cause, said):
    assert refused(ask, mode, cause).endswith(said)


@pytest.mark.parametrize("ask", POSSIBLE_IN)
@pytest.mark.parametrize("mode", RunMode)
def test_every_refusal_names_a_command_or_a_mode(ask, mode):
    expected = refused(ask, mode).partition("expected ")[2]
    assert expected.endswith((" first", "a new run")) or RunMode[expected.split()[-1].upper()] in POSSIBLE_IN[ask]


def test_the_command_that_a_refusal_names_leads_on():
    asked = {0.0: Ask.ATTACH, 1.0: Ask.START, 1.5: Ask.ARM, 2.0: Ask.START, 2.5: Ask.RESTART, 2.6: Ask.HOLD}
    done = scripted({**asked, 6.0: Ask.RESTART}, "loop.duration_s=8")
    replies = [(ask, reply) for ask, reply, _ in done.script.answers]
    assert (Ask.START, Reply.NOT_IN_THIS_MODE) in replies
    assert (Ask.RESTART, Reply.NOT_IN_THIS_MODE) in replies
    assert replies[3] == (Ask.START, Reply.DONE)
    assert replies[-1] == (Ask.RESTART, Reply.DONE)


@pytest.mark.parametrize("reply", [reply for reply in Reply if reply is not Reply.NOT_IN_THIS_MODE])
def test_other_answers_are_as_they_are(reply):
    assert answer_text(Ask.START, reply, RunMode.HOLDING, Reason.PASSED) == reply.text
