"""`granite tune BED --live`: tune a running loop at a prompt, through the operator channel."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from granite.cli.operator_commands import OPERATOR_COMMANDS, message_of, print_answer
from granite.cli.screen import out
from granite.config.errors import InputError
from granite.config.testbed import Testbed

if TYPE_CHECKING:
    from granite.rt.operator.client import Operator
    from granite.tuning.live_session import LiveSession

_PROMPT = "tune> "
_HELP = """\
GAIN +10%, GAIN -5%, GAIN 20   change a gain, at most by half or to the double
undo                           take the last step back
gains                          all gains: in A, now, bounds
mark                           A is the present set from now on
ab, ab SECONDS                 the manoeuvre with A, then with B, the present set
arm, start, hold, restart, ... commands of granite operate
quit                           leave; the run goes on with the present gains"""


def tune_live(bed: Testbed, address: str, key: str, metrics: Sequence[str]) -> None:
    """A prompt; it watches the run as that of `granite operate` does.

    Raises
    ------
    InputError
        Where nobody answers, or another testbed runs there.
    """
    from granite.rt.operator.client import Operator
    from granite.tuning.live_session import LiveSession
    from granite.tuning.report.tables import gain_table
    from granite.views.table import put

    with Operator(address, key) as operator:
        session = LiveSession(operator, bed, metrics)
        operator.watch()
        put(out, [gain_table(session.gains(), session.a)])
        print_answer(operator.ask("status"))
        out.print(_HELP, markup=False)
        while True:
            try:
                words = input(_PROMPT).split()
                if words[:1] in (["quit"], ["exit"]):
                    return
                if words:
                    _do(session, operator, words)
            except EOFError:
                return
            except KeyboardInterrupt:  # of a comparison: the robot holds, the prompt goes on
                with contextlib.suppress(InputError):
                    print_answer(operator.ask("hold"))
            except InputError as error:
                out.print(f"granite: {error}", soft_wrap=True, markup=False)


def _do(session: LiveSession, operator: Operator, words: list[str]) -> None:
    """One line of the prompt."""
    from granite.tuning.report.tables import compared_tables, gain_table
    from granite.views.table import put

    word, more = words[0], words[1:]
    if word in ("help", "?"):
        out.print(_HELP, markup=False)
    elif word == "gains" and not more:
        put(out, [gain_table(session.gains(), session.a)])
    elif word == "undo" and not more:
        _print_step(session.undo())
    elif word == "mark" and not more:
        session.mark()
        out.print("A is the present set")
    elif word == "ab":
        comparison = session.compare(_seconds(more), lambda sentence: out.print(sentence, soft_wrap=True))
        put(out, compared_tables(comparison))
    elif word in OPERATOR_COMMANDS and word != "new-key":
        answer = operator.ask(**message_of(words))
        if not answer["ok"]:
            out.print(f"{word} is {answer['text']}", soft_wrap=True)
        print_answer(answer)
    elif more:
        _print_step(session.step(word, " ".join(more)))
    else:
        raise InputError("no such command", key="command", value=word, expected="GAIN +10%, or one of those of help")


def _seconds(words: list[str]) -> float | None:
    """The length of a manoeuvre as it was typed."""
    if not words:
        return None
    try:
        (word,) = words
        if 0.0 < (seconds := float(word)) <= 3600.0:
            return seconds
    except ValueError:
        pass
    raise InputError(key="ab", value=" ".join(words), expected="nothing, or seconds up to 3600")


def _print_step(step: Any) -> None:
    out.print(f"{step.gain}: {step.before:.5g} -> {step.after:.5g}", soft_wrap=True, markup=False)
