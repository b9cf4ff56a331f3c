"""Commands of an operator to a running loop, typed as `granite operate COMMAND` or at its prompt.

An emergency stop should not wait for the import of a command line with all its options. So nothing is imported here
but the channel, and a command in its plain form is read here as well (`plain_form`).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from granite.cli.endings import DONE, STOPPED, end, one_sentence
from granite.cli.lines import print_json, say
from granite.config.errors import InputError, one_of
from granite.config.operator_address import ADDRESS
from granite.rt.process.posix_signals import interrupting

_PROMPT = "granite> "
#: of a command in the list of `help`
_NAME_WIDTH = 16
_NEW_KEY = "new-key"
#: the first word of what behaviours offer by name
_ACTIONS = {
    "grip": "CONTACT: closes it",
    "release": "CONTACT: opens it",
    "carry": "carries what it holds",
    "catch": "catches the object",
    "leap": "leaps",
}
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
    "goals": "the coordinates that goals may name, and what the behaviour offers",
    "go": "KEY=VALUE .. [--duration S] [--plan]: goes to a pose, around zones by a planned path",
    "jog": "NAME RATE ..: moves coordinates for a short time",
    "follow": "FILE: follows the path of a CSV file",
    **{action: f"{meaning}, where the behaviour offers it" for action, meaning in _ACTIONS.items()},
    "lease": "take, release or pass NAME: who has the controls",
    "emergency-stop": "rest in the next tick; the run is over",
}
#: commands that move the robot by hand until they are left
_BY_HAND = {"keys": "moves the robot by keys", "gamepad": "[DEVICE]: moves it by a gamepad, with a dead-man button"}
_AT_THE_PROMPT = {**_TO_THE_RUN, **_BY_HAND, "help": "this list, also ?", "quit": "leave the prompt; the run goes on"}
OPERATOR_COMMANDS = (*_TO_THE_RUN, *_BY_HAND, _NEW_KEY)
#: the key that is used unless another one is named
KEY = "operator"
_DURATION, _PLAN = "--duration", "--plan"
_OPTIONS = {"--address": "address", "--key": "key"}


def plain_form(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of `talk` in what was typed; None where it has another form, such as --help."""
    arguments: dict[str, Any] = {"words": []}
    rest = iter(words)
    for word in rest:
        option, is_given, value = word.partition("=")
        if option in _OPTIONS:
            arguments[_OPTIONS[option]] = value = value if is_given else next(rest, "-")
            if value.startswith("-"):
                return None
        elif word == "--json":
            arguments["as_json"] = True
        elif option == _DURATION:
            arguments["words"] += [_DURATION, value if is_given else next(rest, "")]
        elif word == _PLAN:
            arguments["words"].append(word)
        elif word.startswith("-") and not _is_number(word):
            return None
        else:
            arguments["words"].append(word)
    return arguments


def run_plain(arguments: dict[str, Any]) -> NoReturn:
    """`granite operate` with these arguments, as a process."""
    with interrupting(), one_sentence():
        talk(**arguments)
    sys.exit(DONE)


def talk(words: Sequence[str], address: str = ADDRESS, key: str = KEY, as_json: bool = False) -> None:
    """Send the command that was typed to the run and print the answer; without a command, prompt for commands."""
    from granite.rt.operator.client import Operator
    from granite.rt.operator.keys import key_folder, new_operator

    if words and words[0] == _NEW_KEY:
        if len(words) != 2:
            raise InputError("no name", key=_NEW_KEY, expected="granite operate new-key NAME")
        folder = key_folder()
        new_operator(folder, words[1])
        say(f"secret key: {folder / words[1]}.secret")
        say("the loop obeys it from its next run on")
        return
    by_hand = bool(words) and words[0] in _BY_HAND
    asked = message_of(words) if words and not by_hand else {}
    with Operator(address, key) as operator:
        if not words:
            _converse(operator)
            return
        if by_hand:
            operator.watch()
            _drive(operator, words)
            return
        before = _gain(operator, asked)
        answer = _asked(operator, asked)
    if as_json:
        print_json(answer)
    else:
        _print_change(asked, before, answer)
        print_answer(answer)
    if not answer["ok"]:
        end(f"{words[0]} is {answer['text']}", STOPPED)


def message_of(words: Sequence[str]) -> dict[str, Any]:
    """The message of a command as it was typed."""
    do, *more = words
    if do not in _TO_THE_RUN:
        raise InputError("no such command", key="command", value=do, expected=one_of(do, _TO_THE_RUN))
    if do in _MESSAGES:
        return _MESSAGES[do](words)
    if do in _ACTIONS:
        return {"do": "act", "action": " ".join(words)}
    if do != "set-gain":
        if more:
            raise InputError(f"'{more[0]}' after it", key="command", value=do, expected="nothing")
        return {"do": do.replace("-", "_")}
    try:
        gain, value = more
        return {"do": "set_gain", "gain": gain, "value": float(value)}
    except ValueError:
        raise InputError(key="command", value=" ".join(words), expected="set-gain GAIN NUMBER") from None


def _go(words: Sequence[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"do": "go", "target": {}}
    rest = iter(words[1:])
    try:
        for word in rest:
            key, is_given, value = word.partition("=")
            if key == _DURATION:
                message["duration_s"] = float(value if is_given else next(rest, ""))
            elif word == _PLAN:
                message["plan"] = True
            else:
                message["target"][key] = float(value)
    except ValueError:
        message["target"] = {}
    if not message["target"]:
        raise InputError(
            key="command", value=" ".join(words), expected=f"go KEY=NUMBER .. [{_DURATION} SECONDS] [{_PLAN}]"
        )
    return message


def _jog(words: Sequence[str]) -> dict[str, Any]:
    names, rates = words[1::2], words[2::2]
    if not rates or len(names) != len(rates) or not all(map(_is_number, rates)):
        raise InputError(key="command", value=" ".join(words), expected="jog NAME RATE, such as jog base_x 0.05")
    return {"do": "jog", "rates": dict(zip(names, map(float, rates), strict=True))}


def _follow(words: Sequence[str]) -> dict[str, Any]:
    if len(words) != 2:
        raise InputError(key="command", value=" ".join(words), expected="follow FILE.csv")
    from granite.controllers.behaviours.path_samples import read_csv

    try:
        samples = read_csv(words[1], None)
    except InputError as refusal:
        raise InputError(refusal.problem, key="follow", value=words[1], expected=refusal.expected) from None
    return {"do": "follow", "columns": {column.key: list(column.values) for column in samples.columns}}


def _lease(words: Sequence[str]) -> dict[str, Any]:
    action, *to = words[1:] or ["take"]
    if action not in ("take", "release", "pass") or len(to) != (action == "pass"):
        raise InputError(key="command", value=" ".join(words), expected="lease take, release, or pass NAME")
    return {"do": "lease", "action": action, **({"to": to[0]} if to else {})}


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


_MESSAGES: dict[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "go": _go,
    "jog": _jog,
    "follow": _follow,
    "lease": _lease,
}


def _asked(operator: Any, message: dict[str, Any]) -> dict[str, Any]:
    """The answer to a message; a path takes as many ticks as it has samples, and longer to be planned."""
    if message["do"] == "follow":
        answer: dict[str, Any] = operator.follow(message["columns"])
    elif message["do"] == "go":
        answer = operator.go(**{key: value for key, value in message.items() if key != "do"})
    else:
        answer = operator.ask(**message)
    return answer


def _converse(operator: Any) -> None:
    """A prompt; it watches the run until `quit` or the end of the input."""
    operator.watch()
    print_answer(operator.ask("status"))
    say("help lists the commands, quit leaves the prompt")
    while True:
        try:
            words = shlex.split(input(_PROMPT))
            if words[:1] in (["quit"], ["exit"]):
                return
            if words in (["help"], ["?"]):
                for name, meaning in _AT_THE_PROMPT.items():
                    say(f"{name:<{_NAME_WIDTH}}{meaning}")
            elif words and words[0] in _BY_HAND:
                _drive(operator, words)
            elif words:
                asked = message_of(words)
                before = _gain(operator, asked)
                answer = _asked(operator, asked)
                _print_change(asked, before, answer)
                if not answer["ok"]:
                    say(f"{words[0]} is {answer['text']}")
                print_answer(answer)
        except EOFError:
            return
        except ValueError as error:  # bad input too: the prompt goes on
            say(f"granite: {error}")


def _drive(operator: Any, words: Sequence[str]) -> None:
    from granite.cli.driving import drive_by_gamepad, drive_by_keyboard

    if len(words) > (2 if words[0] == "gamepad" else 1):
        raise InputError(f"'{words[-1]}' after it", key="command", value=words[0], expected="nothing")
    if words[0] == "keys":
        drive_by_keyboard(operator)
    else:
        drive_by_gamepad(operator, words[1] if words[1:] else None)


def _gain(operator: Any, asked: dict[str, Any]) -> float | None:
    """The value of the gain that a message is about to set."""
    if asked.get("do") != "set_gain":
        return None
    gains = operator.ask("gains").get("gains", ())
    return next((gain["value"] for gain in gains if gain["name"] == asked["gain"]), None)


def _print_change(asked: dict[str, Any], before: float | None, answer: dict[str, Any]) -> None:
    if before is not None and answer["ok"]:
        say(f"{asked['gain']} {before:g} -> {asked['value']:g}")


def print_answer(answer: dict[str, Any]) -> None:
    """The gains in an answer, and the status of the run."""
    for gain in answer.get("gains", ()):
        bounds = f"{gain['lower']:g} to {gain['upper']:g} {gain['unit']}"
        say(f"{gain['name']} = {gain['value']:g} ({bounds}): {gain['meaning']}")
    for coordinate in answer.get("coordinates", ()):
        value = "" if coordinate["value"] is None else f" = {coordinate['value']:.4g}"
        say(f"{coordinate['key']}{value}")
    for action in answer.get("actions", ()):
        say(action)
    if "duration_s" in answer:
        impulse = f" with {answer['impulse_n_s']:.3g} N s" if "impulse_n_s" in answer else ""
        say(f"there in {answer['duration_s']:.3g} s{impulse}")
    if answer["ok"]:
        because = f" by {answer['cause']}" if "cause" in answer else ""
        controls = f", {answer['lease']['holder']} has the controls" if "lease" in answer else ""
        say(f"{answer['bed']}: {answer['mode']}{because} at {answer['t_s']:.1f} s{controls}")
