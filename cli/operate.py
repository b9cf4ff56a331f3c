"""`granite operate`: arm, start, hold, float, stop and tune a running loop, by commands or at a prompt."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from granite.cli.arguments import AsJson
from granite.cli.endings import STOPPED, end
from granite.cli.screen import out, print_json
from granite.config.errors import InputError, one_of
from granite.config.operator_channel import OperatorTable

_PROMPT = "granite> "
#: of a command in the list of `help`
_NAME_WIDTH = 16
_NEW_KEY = "new-key"
#: commands to the run, as they are listed by `help`
_TO_THE_RUN = {
    "status": "what the run does",
    "gains": "the gains of the law, with their values and bounds",
    "arm": "a disarmed run holds its pose",
    "start": "the behaviour runs, or goes on",
    "restart": "the behaviour begins again",
    "hold": "brakes to rest, then holds the pose",
    "float": "closes the valves and damps the joints",
    "stop": "brakes to rest, then the run ends",
    "reset": "clears the fault of a hold or a float: armed",
    "set-gain": "GAIN VALUE: changes a gain within its bounds",
    "emergency-stop": "rest in the next tick; the run is over",
}
_AT_THE_PROMPT = {**_TO_THE_RUN, "help": "this list, also ?", "quit": "leave the prompt; the run goes on"}
OPERATOR_COMMANDS = (*_TO_THE_RUN, _NEW_KEY)


def operate(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help=f"{', '.join(OPERATOR_COMMANDS)}; none: a prompt"),
    ] = None,
    address: Annotated[str, typer.Option(metavar="ADDRESS", help="where the loop listens")] = OperatorTable().address,
    key: Annotated[str, typer.Option(metavar="NAME", help="whose key to use")] = "operator",
    as_json: AsJson = False,
) -> None:
    """Talk to a run that was started with --operator.

    A prompt watches: when it is gone without `quit`, the run has lost its operator and holds.
    """
    from granite.rt.operator.client import Operator
    from granite.rt.operator.keys import key_folder, new_operator

    words = command or []
    if words[:1] == [_NEW_KEY]:
        if len(words) != 2:
            raise InputError("no name", key=_NEW_KEY, expected="granite operate new-key NAME")
        folder = key_folder()
        new_operator(folder, words[1])
        out.print(f"secret key: {folder / words[1]}.secret", soft_wrap=True)
        out.print("the loop obeys it from its next run on", soft_wrap=True)
        return
    asked = message_of(words) if words else {}
    with Operator(address, key) as operator:
        if not words:
            _converse(operator)
            return
        answer = operator.ask(**asked)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
    if not answer["ok"]:
        end(f"{words[0]} is {answer['text']}", STOPPED)


def message_of(words: Sequence[str]) -> dict[str, Any]:
    """The message of a command as it was typed."""
    do, *more = words
    if do not in _TO_THE_RUN:
        raise InputError("no such command", key="command", value=do, expected=one_of(do, _TO_THE_RUN))
    if do != "set-gain":
        if more:
            raise InputError(f"'{more[0]}' after it", key="command", value=do, expected="nothing")
        return {"do": do.replace("-", "_")}
    try:
        gain, value = more
        return {"do": "set_gain", "gain": gain, "value": float(value)}
    except ValueError:
        raise InputError(key="command", value=" ".join(words), expected="set-gain GAIN NUMBER") from None


def _converse(operator: Any) -> None:
    """A prompt; it watches the run until `quit` or the end of the input."""
    operator.watch()
    print_answer(operator.ask("status"))
    out.print("help lists the commands, quit leaves the prompt")
    while True:
        try:
            words = shlex.split(input(_PROMPT))
            if words[:1] in (["quit"], ["exit"]):
                return
            if words in (["help"], ["?"]):
                for name, meaning in _AT_THE_PROMPT.items():
                    out.print(f"{name:<{_NAME_WIDTH}}{meaning}", soft_wrap=True)
            elif words:
                answer = operator.ask(**message_of(words))
                if not answer["ok"]:
                    out.print(f"{words[0]} is {answer['text']}", soft_wrap=True)
                print_answer(answer)
        except EOFError:
            return
        except ValueError as error:  # bad input too: the prompt goes on
            out.print(f"granite: {error}", soft_wrap=True)


def print_answer(answer: dict[str, Any]) -> None:
    """The gains in an answer, and the status of the run."""
    for gain in answer.get("gains", ()):
        bounds = f"{gain['lower']:g} to {gain['upper']:g} {gain['unit']}"
        out.print(f"{gain['name']} = {gain['value']:g} ({bounds}): {gain['meaning']}", soft_wrap=True)
    if answer["ok"]:
        because = f" by {answer['cause']}" if "cause" in answer else ""
        out.print(f"{answer['bed']}: {answer['mode']}{because} at {answer['t_s']:.1f} s", soft_wrap=True)
