"""A request in the wrong mode is refused with the mode and with what to do."""

import pytest

from granite.config.expected_modes import POSSIBLE_IN, answer_text
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RequestKind, RunMode
from tests.support.scripted_operator import scripted


def refused(ask: RequestKind, mode: RunMode, cause: Reason = Reason.PASSED) -> str:
    return answer_text(ask, Reply.NOT_IN_THIS_MODE, mode, cause)


@pytest.mark.parametrize(
    ("ask", "mode", "cause", "said"),
    [
        (RequestKind.START, RunMode.DISARMED, Reason.PASSED, "the run is disarmed, expected arm first"),
        (RequestKind.RESTART, RunMode.RUNNING, Reason.PASSED, "the run is running, expected hold first"),
        (RequestKind.ARM, RunMode.RUNNING, Reason.PASSED, "the run is running, expected disarmed"),
        (RequestKind.RESET, RunMode.ARMED, Reason.PASSED, "the run is armed, expected holding or floating"),
        (
            RequestKind.START,
            RunMode.STOPPING,
            Reason.OPERATOR_STOP,
            "because the operator stopped the run, expected a new run",
        ),
        (RequestKind.START, RunMode.HOLDING, Reason.BASE_TOO_FAST, "or safety.base_rate_rad_s, expected reset first"),
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
    asked = {
        0.0: RequestKind.ATTACH,
        1.0: RequestKind.START,
        1.5: RequestKind.ARM,
        2.0: RequestKind.START,
        2.5: RequestKind.RESTART,
        2.6: RequestKind.HOLD,
    }
    done = scripted({**asked, 6.0: RequestKind.RESTART}, "loop.duration_s=8")
    replies = [(ask, reply) for ask, reply, _ in done.script.answers]
    assert (RequestKind.START, Reply.NOT_IN_THIS_MODE) in replies
    assert (RequestKind.RESTART, Reply.NOT_IN_THIS_MODE) in replies
    assert replies[3] == (RequestKind.START, Reply.DONE)
    assert replies[-1] == (RequestKind.RESTART, Reply.DONE)


@pytest.mark.parametrize("reply", [reply for reply in Reply if reply is not Reply.NOT_IN_THIS_MODE])
def test_other_answers_are_as_they_are(reply):
    assert answer_text(RequestKind.START, reply, RunMode.HOLDING, Reason.PASSED) == reply.text
