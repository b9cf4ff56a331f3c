"""Gains of a running loop as parameters of the live view, got and set by a client that is not ours."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granite as api
from granite.config.gains import LiveGain
from granite.config.run_modes import RequestKind
from granite.rt.replay import replay
from granite.rt.run import Run
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite
from tests.support.foxglove_client import Connection, free_port, talking
from tests.support.unhurried import LIMITS


def bed(seconds: float) -> api.Testbed:
    return api.load("free-flyer", {"loop.duration_s": seconds, **LIMITS})


def gains_of(testbed: api.Testbed) -> dict[str, LiveGain]:
    return {gain.name: gain for gain in testbed.control.law.live_gains(testbed)}


def put(client: Connection, request: str, **values: Any) -> dict[str, Any]:
    """Set parameters; the answer."""
    asked = [{"name": name, "value": value} for name, value in values.items()]
    client.send("setParameters", parameters=asked, id=request)
    return client.parameters(request)


def said(client: Connection) -> bytes:
    """All lines of the run's log that it was sent."""
    return b"\n".join(message for topic, _, message in client.messages if topic == "/log")


def test_a_client_gets_and_sets_gains_and_what_is_out_of_bounds_is_refused(tmp_path: Path):
    testbed, answers = bed(1.6), {}

    def talk(client: Connection) -> None:
        client.send("getParameters", parameterNames=[], id="all")
        answers["all"] = client.parameters("all")
        client.send("subscribeParameterUpdates", parameterNames=list(answers["all"]))
        answers["high"] = put(client, "high", elbow_stiffness=1e6)
        answers["words"] = put(client, "words", elbow_stiffness="stiff", base_x_stiffness=True)
        answers["none"] = put(client, "none", elbow_stifness=20)
        answers["long"] = put(client, "long", **{"x" * 100_000: 1.0})
        many = [{"name": "elbow_stiffness", "value": 101 + 1e-4 * i} for i in range(1000)]
        client.send("setParameters", parameters=many, id="many")
        answers["many"] = client.parameters("many")
        answers["good"] = put(client, "good", elbow_stiffness=120)  # an integer is a number

    with talking(testbed, tmp_path / "run.mcap", talk, ("/log",), 0.3, live_gains=True) as (client, summary):
        pass
    assert summary["ended"] == "completed"
    known = gains_of(testbed)
    assert answers["all"] == {name: gain.value for name, gain in known.items()}
    # What is refused keeps its value, and the client gets the reason.
    assert answers["high"] == {"elbow_stiffness": known["elbow_stiffness"].value}
    assert answers["words"] == {name: known[name].value for name in ("base_x_stiffness", "elbow_stiffness")}
    assert answers["none"] == answers["long"] == {}
    assert answers["many"] == answers["all"]
    assert answers["good"] == {"elbow_stiffness": 120.0}
    lines = said(client)
    assert b"refused: elbow_stiffness = 1000000.0: expected 25 to 400 1/s2" in lines
    assert b'refused: elbow_stiffness = "stiff": expected 25 to 400 1/s2' in lines
    assert b"did you mean 'elbow_stiffness'?" in lines
    assert b"a name of 100000 characters, expected at most 64" in lines
    assert b"set 1000 parameters: expected at most 64" in lines
    # The loop did it once, at the beginning of a tick, along a ramp; the log says who asked.
    log = api.read_log(tmp_path / "run.mcap")
    (request,) = [event for event in log.events if event["name"] == "operator_request"]
    assert request["text"] == "client 1 of the live view asked for set gain elbow_stiffness to 120: done"
    assert request["text"].encode() in lines
    assert {"name": "elbow_stiffness", "type": "float64", "value": 120.0} in [
        each for message in client.received if "id" not in message for each in message.get("parameters", ())
    ]
    stiffness = log["/operation"].elbow_stiffness_gain
    assert (stiffness[0], stiffness[-1]) == (known["elbow_stiffness"].value, 120.0)
    assert np.abs(np.diff(stiffness)).max() < 0.05 * abs(120.0 - known["elbow_stiffness"].value)
    assert replay(log).first is None


@pytest.mark.slow
def test_without_permission_gains_can_only_be_read(tmp_path: Path):
    testbed, answers = bed(0.6), {}

    def talk(client: Connection) -> None:
        answers["set"] = put(client, "set", elbow_stiffness=120.0)

    with talking(testbed, tmp_path / "run.mcap", talk, ("/log",), 0.3) as (client, _):
        pass
    assert answers["set"] == {"elbow_stiffness": gains_of(testbed)["elbow_stiffness"].value}
    assert b"gains can only be read here: expected a run with --live-gains" in said(client)
    log = api.read_log(tmp_path / "run.mcap")
    assert RequestKind.SET_GAIN not in log["/operation"].request  # a busy machine may report overruns


@pytest.mark.slow
def test_a_flood_of_settings_and_nonsense_disturbs_nothing(tmp_path: Path):
    sent = []

    def talk(client: Connection) -> None:
        client.link.send("nonsense")
        until = time.monotonic() + 4.0
        while time.monotonic() < until:
            value = 100 + 4 * (len(sent) % 2)
            good, bad = ({"name": "elbow_stiffness", "value": each} for each in (value, 1e9))
            sent.append(client.link.send(json.dumps({"op": "setParameters", "parameters": [good, bad] * 10})))

    with talking(bed(5.0), tmp_path / "run.mcap", talk, ("/log",), live_gains=True) as (_, summary):
        pass
    assert len(sent) > 200
    assert (summary["ended"], summary["rows_lost"]) == ("completed", 0)
    log = api.read_log(tmp_path / "run.mcap")
    assert replay(log).first is None
    gains = log["/operation"].elbow_stiffness_gain
    assert gains.min() >= gains[0] - 1e-9
    assert gains.max() <= 104.0


@pytest.mark.usefixtures("interpreted")
def test_permission_that_can_not_be_given_is_refused(granite: Call, tmp_path: Path):
    assert "expected --realtime with it" in sentence_of(granite("sim", "free-flyer", "--live-gains", "--duration", 0.1))
    with pytest.raises(api.InputError, match="no gain that may change"):
        Run(api.load("mrds-6a")).record(tmp_path / "a.mcap", realtime=True, live=free_port(), live_gains=True)
    with pytest.raises(api.InputError, match="there is no live view"):
        Run(api.load("mrds-6a")).record(tmp_path / "a.mcap", realtime=True, live_gains=True)
