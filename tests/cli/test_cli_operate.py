"""`granite operate`, as a person calls it."""

import io
import re
import subprocess
import sys

import pytest

from granite.cli.endings import STOPPED
from granite.cli.operator_commands import OPERATOR_COMMANDS, message_of, plain_form
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RequestKind, RunMode
from tests.support.command_line import granite as granite
from tests.support.command_line import sentence_of
from tests.support.operator_clients import channel as channel
from tests.support.operator_clients import free_address
from tests.support.operator_clients import no_patience as no_patience


@pytest.fixture(autouse=True)
def keys(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANITE_KEYS", str(tmp_path / "keys"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fly"], "no such command"),
        (["hold", "now"], "'now' after it"),
        (["set-gain", "elbow_stiffness"], "expected set-gain GAIN NUMBER"),
        (["set-gain", "elbow_stiffness", "much"], "expected set-gain GAIN NUMBER"),
        (["go"], "expected go KEY=NUMBER .. [--duration SECONDS]"),
        (["go", "base_x_m=far"], "expected go KEY=NUMBER .. [--duration SECONDS]"),
        (["go", "base_x_m=2", "--duration", "long"], "expected go KEY=NUMBER .. [--duration SECONDS]"),
        (["jog", "base_x"], "expected jog NAME RATE"),
        (["follow", "nowhere.csv"], "follow = "),
        (["lease", "pass"], "expected lease take, release, or pass NAME"),
        (["new-key"], "no name"),
        (["new-key", "Bob"], "a name in lower case"),
        (["status"], "no run with --operator has made its keys in '"),
    ],
    ids=str,
)
def test_what_can_not_be_sent_is_refused_in_one_sentence(granite, words, said):
    assert said in sentence_of(granite("operate", *words))


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["stop"], {"words": ["stop"]}),
        (["stop", "--key", "ann", "--address", "tcp://x:1", "--json"],
         {"words": ["stop"], "key": "ann", "address": "tcp://x:1", "as_json": True}),
        ([], {"words": []}),
        (["stop", "--help"], None),
        (["jog", "base_x", "-0.05"], {"words": ["jog", "base_x", "-0.05"]}),
        (["go", "base_x_m=2", "--duration", "20"], {"words": ["go", "base_x_m=2", "--duration", "20"]}),
        (["stop", "--key=ann"], {"words": ["stop"], "key": "ann"}),
        (["stop", "--keys=ann"], None),
        (["stop", "--key"], None),
        (["stop", "--key", "--json"], None),
    ],
    ids=str,
)  # fmt: skip
def test_only_the_plain_form_is_read_without_the_command_line(words, arguments):
    assert plain_form(words) == arguments


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("go base_x_m=2.0 base_heading_rad=-1.57", {"target": {"base_x_m": 2.0, "base_heading_rad": -1.57}}),
        ("go base_x_m=2.0 --duration=20", {"target": {"base_x_m": 2.0}, "duration_s": 20.0}),
        ("jog base_x -0.05 elbow 0.1", {"rates": {"base_x": -0.05, "elbow": 0.1}}),
        ("lease", {"action": "take"}),
        ("lease pass ann", {"action": "pass", "to": "ann"}),
    ],
)
def test_a_goal_is_one_message(words, message):
    do = words.split()[0]
    assert message_of(words.split()) == {"do": do, **message}
    assert message_of(["grip", "left"]) == {"do": "act", "action": "grip left"}


def test_other_forms_of_a_command_are_read_by_the_command_line(granite):
    assert "Usage: granite operate" in granite("operate", "stop", "--help").out
    assert "no such command" in sentence_of(granite("operate", "--", "fly"))


def test_a_command_imports_the_channel_and_nothing_slow(tmp_path):
    words = [sys.executable, "-X", "importtime", "-m", "granite.cli", "operate", "emergency-stop"]
    said = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path).stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in said.splitlines() if "|" in line}
    assert "no run with --operator has made its keys" in said
    assert "zmq" in imported
    assert not imported & {"numpy", "pydantic", "typer", "rich", "casadi", "matplotlib", "scipy", "mcap"}


def test_a_new_key_is_made_and_names_its_file(granite, tmp_path):
    assert "ann.secret" in granite("operate", "new-key", "ann").out
    assert (tmp_path / "keys" / "operators" / "ann.public").exists()


def test_a_person_without_a_key_reads_how_to_make_one(granite, channel, monkeypatch):
    monkeypatch.setenv("GRANITE_KEYS", str(channel[1]))
    said = sentence_of(granite("operate", "status", "--key", "ann"))
    assert re.search(r"no key 'ann\.secret' in '.*': make it by granite operate new-key ann, or", said)


def test_an_operator_without_real_time_is_refused(granite):
    assert "expected --realtime with it" in sentence_of(granite("sim", "free-flyer", "--operator"))


def test_commands_and_the_prompt_talk_to_the_loop(granite, channel, monkeypatch):
    loop, folder, address = channel
    monkeypatch.setenv("GRANITE_KEYS", str(folder))
    loop.asked.clear()
    assert granite("operate", "hold", "--address", address).code == 0
    assert granite("operate", "gains", "--address", address, "--json").json["gains"][0]["name"] == "base_x_stiffness"
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("fly\nset-gain elbow_stiffness 120\n\nset-gain elbow_stiffness 1e9\nquit\n")
    )
    said = granite("operate", "--address", address, "--key", "second").out
    assert "no such command" in said
    assert "expected 25 to 400 1/s2" in said
    assert "elbow_stiffness 100 -> 120" in said
    assert "-> 1e+09" not in said
    assert [request.ask for request in loop.asked] == [RequestKind.HOLD, RequestKind.SET_GAIN]
    assert loop.asked[-1].value == 120.0


@pytest.mark.parametrize("word", ["help", "?"])
def test_the_prompt_lists_its_commands_with_a_line_each(granite, channel, monkeypatch, word):
    _, folder, address = channel
    monkeypatch.setenv("GRANITE_KEYS", str(folder))
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{word}\nquit\n"))
    said = granite("operate", "--address", address, "--key", "second").out.replace("granite> ", "\n")
    listed = {line.split()[0] for line in said.splitlines() if len(line.split()) > 2}
    assert {*OPERATOR_COMMANDS, "help", "quit"} - {"new-key"} <= listed
    assert "no such command" not in said


def test_a_command_in_the_wrong_mode_is_refused_with_the_mode_and_what_to_do(granite, channel, monkeypatch):
    loop, folder, address = channel
    monkeypatch.setenv("GRANITE_KEYS", str(folder))
    monkeypatch.setattr(loop, "answer", (Reply.NOT_IN_THIS_MODE, RunMode.DISARMED, Reason.PASSED))
    said = "start is refused: the run is disarmed, expected arm first"
    assert said in sentence_of(granite("operate", "start", "--address", address), STOPPED)
    monkeypatch.setattr("sys.stdin", io.StringIO("start\nquit\n"))
    assert said in granite("operate", "--address", address, "--key", "second").out


@pytest.mark.usefixtures("no_patience")
def test_where_nobody_listens_that_is_said(granite, channel, monkeypatch):
    monkeypatch.setenv("GRANITE_KEYS", str(channel[1]))
    assert "no answer from" in sentence_of(granite("operate", "status", "--address", free_address()))
