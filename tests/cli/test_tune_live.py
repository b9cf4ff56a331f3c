"""`granite tune BED --live`: gains of a running loop in bounded steps, undo, and A against B on one manoeuvre."""

import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.rt.operator.client import Operator
from granite.rt.replay import replay
from granite.tuning.live_session import GainComparison, GainStep, LiveSession
from granite.tuning.report.tables import compared_tables
from tests.support.command_line import granite as granite
from tests.support.command_line import sentence_of
from tests.support.operator_clients import Session, free_address
from tests.support.operator_clients import channel as channel
from tests.support.operator_clients import no_patience as no_patience

WAYPOINTS = "behaviour.waypoints=[{duration_s=3.0,target={base_x_m=1.01,elbow_rad=1.0}}]"


@pytest.fixture
def session(channel):
    loop, folder, address = channel
    loop.asked.clear()
    with Operator(address, "operator", folder) as operator:
        for gain, value in (("elbow_stiffness", 100.0), ("base_x_stiffness", 0.64)):
            operator.ask("set_gain", gain=gain, value=value)
        loop.asked.clear()
        yield LiveSession(operator, load("free-flyer")), loop


def test_steps_are_sent_to_the_loop_and_undone_in_turn(session):
    live, loop = session
    assert live.step("elbow_stiffness", "+25 %") == GainStep("elbow_stiffness", 100.0, 125.0)
    assert live.step("elbow_stiffness", "-10%").after == pytest.approx(112.5)
    assert live.step("base_x_stiffness", "0.5").after == 0.5
    assert live.values()["elbow_stiffness"] == pytest.approx(112.5)
    assert live.a["elbow_stiffness"] == 100.0
    back = [live.undo() for _ in range(3)]
    assert [step.after for step in back] == [0.64, 125.0, 100.0]
    assert live.values() == live.a
    with pytest.raises(InputError, match="no step to undo"):
        live.undo()
    assert [request.ask for request in loop.asked] == [RequestKind.SET_GAIN] * 6


@pytest.mark.parametrize(
    ("gain", "to", "said"),
    [
        ("elbow_stifness", "+10%", "did you mean 'elbow_stiffness'"),
        ("elbow_stiffness", "+150%", "expected 50 to 200 in one step from 100"),
        ("elbow_stiffness", "-60 %", "expected 50 to 200 in one step from 100"),
        ("elbow_stiffness", "nan", "expected 50 to 200 in one step from 100"),
        ("elbow_stiffness", "stiffer", "expected a step such as [+]10% or -5%, or a number"),
        ("elbow_stiffness", "10%", "expected a step such as"),
    ],
)
def test_a_step_that_is_none_or_too_large_never_reaches_the_loop(session, gain, to, said):
    live, loop = session
    with pytest.raises(InputError, match=said):
        live.step(gain, to)
    assert loop.asked == []


def test_the_loops_bounds_hold_for_steps_too(session):
    live, _ = session
    live.step("elbow_stiffness", "50")
    live.step("elbow_stiffness", "25")
    with pytest.raises(InputError, match=r"set gain was refused: elbow_stiffness = 20\.0: expected 25 to 400 1/s2"):
        live.step("elbow_stiffness", "20")
    assert live.undo().after == 50.0


def test_what_can_not_be_compared_says_so(session):
    live, _ = session
    with pytest.raises(InputError, match="A and B have the same gains"):
        live.compare()
    live.step("elbow_stiffness", "+5%")
    with pytest.raises(InputError, match="the log of the run, 'None', is not here"):
        live.compare()
    live.mark()
    with pytest.raises(InputError, match="A and B have the same gains"):
        live.compare()


def test_the_status_says_whether_the_robot_has_come_to_rest(channel, monkeypatch):
    loop, folder, address = channel
    with Operator(address, "operator", folder) as operator:
        assert operator.ask("hold")["at_rest"] is False
        monkeypatch.setattr(loop.link, "is_at_rest", lambda: True)
        assert operator.ask("hold")["at_rest"] is True
        assert operator.ask("status")["at_rest"] is True


class Slowing:
    """A run that comes to rest at the fourth look at its status, and stops when it is restarted."""

    def __init__(self, log: Path) -> None:
        self.asked: list[str] = []
        gain = {"name": "elbow_stiffness", "value": 100.0}
        self._gains = {"ok": True, "bed": "free-flyer", "log": str(log), "gains": [gain]}

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self.asked.append(do)
        if do == "set_gain":
            self._gains["gains"][0]["value"] = more["value"]
        restarted, at_rest = "restart" in self.asked, self.asked.count("status") > 3
        status = {"ok": at_rest or do != "restart", "mode": "stopped" if restarted else "holding", "at_rest": at_rest}
        return {"text": "", "t_s": 0.0, **status, **self._gains}


def test_a_restart_is_asked_for_once_the_robot_rests(tmp_path, monkeypatch):
    monkeypatch.setattr("granite.tuning.live_session._LOOK_S", 0.0)
    (tmp_path / "run.mcap").touch()
    run = Slowing(tmp_path / "run.mcap")
    live = LiveSession(run, load("free-flyer"))
    live.step("elbow_stiffness", "+10%")
    with pytest.raises(InputError, match="the manoeuvre did not end, the run is stopped"):
        live.compare()
    assert run.asked.count("restart") == 1
    assert run.asked[: run.asked.index("restart")].count("status") == 4


def test_a_change_beyond_percent_is_a_factor():
    pairs = (("a", 2.0, 3.0), ("b", 1.0, 268.4), ("c", 0.01, -0.5), ("d", 0.0, 1.0))
    _, measures = compared_tables(GainComparison((), tuple((name, "1", a, b) for name, a, b in pairs), (1.0, 1.0)))
    assert list(measures.columns[3].cells) == ["+50.0 %", "268 x", "-50 x", "-"]


def test_another_testbed_at_the_address_is_refused(channel):
    _, folder, address = channel
    with Operator(address, "operator", folder) as operator, pytest.raises(InputError, match="testbed 'free-flyer'"):
        LiveSession(operator, load("spot"))


def test_gains_that_the_live_view_changed_are_known_to_operators(channel):
    loop, folder, address = channel
    with Operator(address, "operator", folder) as operator:
        loop.link.answer(Request(RequestKind.SET_GAIN, -1, 4, 30.0), Reply.DONE, RunMode.RUNNING, Reason.PASSED)
        until = time.monotonic() + 60
        while operator.ask("gains")["gains"][4]["value"] != 30.0:
            assert time.monotonic() < until
        assert operator.ask("gains")["gains"][4]["name"] == "elbow_stiffness"


def test_the_prompt_shows_gains_and_takes_steps(granite, channel, monkeypatch):
    loop, folder, address = channel
    monkeypatch.setenv("GRANITE_KEYS", str(folder))
    lines = "elbow_damping +10%\nundo\nmark\nab much\nfly\nhold\nnew-key x\ngains\nquit\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    said = granite("tune", "free-flyer", "--live", "--address", address).out
    assert "elbow_damping: 20 -> 22" in said
    assert "elbow_damping: 22 -> 20" in said
    assert "A is the present set" in said
    assert 'ab = "much": expected nothing, or seconds up to 3600' in said
    assert 'command = "fly": no such command' in said
    assert loop.asked[-1].ask is RequestKind.HOLD


@pytest.mark.usefixtures("no_patience")
def test_options_that_do_not_fit_are_refused(granite, channel, monkeypatch):
    assert "expected no such option with --live" in sentence_of(granite("tune", "free-flyer", "--live", "--trials", 3))
    assert "expected --live with it" in sentence_of(granite("tune", "free-flyer", "--metric", "pulses"))
    monkeypatch.setenv("GRANITE_KEYS", str(channel[1]))
    assert "no answer from" in sentence_of(granite("tune", "free-flyer", "--live", "--address", free_address()))
    assert "no_such_thing" in sentence_of(granite("tune", "free-flyer", "--live", "--metric", "no_such_thing"))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sim", "rehearse"])
def test_two_sets_of_gains_are_compared_on_the_same_manoeuvre_of_a_running_loop(tmp_path, command):
    more = ["--set", WAYPOINTS]
    (tmp_path / "run.mcap").write_bytes(b"an earlier log of that name is not read")
    with Session(tmp_path, *more, "--overwrite", command=command) as running:
        running.do("arm", "armed")
        words = ["tune", "free-flyer", "--live", "--address", running.address, *more]
        tune = subprocess.Popen(
            [sys.executable, "-m", "granite.cli", *words],
            env={**os.environ, "GRANITE_KEYS": str(tmp_path / "keys")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        end = threading.Timer(120, tune.kill)
        end.start()
        said, _ = tune.communicate("base_x_stiffness -50%\nbase_x_stiffness -50%\nab\nundo\nab 2\nstop\nquit\n")
        end.cancel()
        log = running.finish()
    assert said.count("The same manoeuvre, 3.0 s and 3.0 s") == 1
    assert said.count("The same manoeuvre, 2.0 s and 2.0 s") == 1
    row = next(line for line in said.splitlines() if line.startswith("rms_error_m [m]"))
    a, b = map(float, row.split()[2:4])
    assert 0.0 < a < 0.02
    assert 0.0 < b < 0.05
    assert "propellant_n_s [N s]" in said
    # Every step and every restart is in the log, with the name of the key; it replays.
    texts = [event["text"] for event in log.events if event["name"] == "operator_request"]
    assert "operator 'operator' asked for set gain base_x_stiffness to 0.345: done" in texts
    assert texts.count("operator 'operator' asked for restart: done") == 4
    assert sum("asked for restart" in text for text in texts) <= 5  # it may move again between status and restart
    assert log["/operation"].base_x_stiffness_gain[-1] == pytest.approx(0.345)
    assert log.summary["ended"] == "operator_stop"
    assert replay(log).first is None
