"""A learned policy from an ONNX file: the network's own numbers, held between its steps; others are refused."""

import casadi as ca
import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import largest_accelerations
from granite.controllers.stack import build_stack
from granite.logs.log import read_log
from granite.rt.replay import replay
from granite.rt.steps.compiled_steps import steps_in_python

RNG = np.random.default_rng(5)
W1, B1, W2 = RNG.normal(size=(7, 10)), RNG.normal(size=7), RNG.normal(size=(5, 7))


def onnx_file(path, function=None):
    if function is None:
        o = ca.MX.sym("observation", 10)
        function = ca.Function("policy", [o], [ca.mtimes(W2, ca.tanh(ca.mtimes(W1, o) + B1))], ["o"], ["a"])
    ca.GraphBuilder(function).export_onnx(str(path))
    return str(path)


def with_policy(path, **more):
    return load("free-flyer", {"controller.law": {"kind": "policy", "path": str(path), **more}})


def state_at(bed, q, u):
    n = len(bed.known.velocities)
    blank = dict.fromkeys(State._fields, np.zeros(n)) | {"t": 0.0, "ready": True, "q": q, "u": u}
    return State(**blank)


def reference_at(bed, q):
    n = len(bed.known.velocities)
    blank = dict.fromkeys(Reference._fields, np.zeros(n)) | {"t": 0.0, "q": q, "done": False}
    return Reference(**blank)


def test_a_policy_demands_what_its_network_gives_and_holds_it_between_steps(tmp_path):
    bed = with_policy(onnx_file(tmp_path / "p.onnx"), ticks=3)
    model = ControlModel(bed)
    law, largest = build_stack(bed).law, largest_accelerations(model)
    at_first = None
    for tick in range(4):
        q, u, target = (0.2 * RNG.normal(size=5) for _ in range(3))
        demand = law.control(state_at(bed, q, u), reference_at(bed, target))
        expected = np.clip(W2 @ np.tanh(W1 @ np.concatenate([q - target, u]) + B1), -1, 1) * largest
        if tick in (0, 3):
            np.testing.assert_allclose(demand.acceleration, expected, rtol=1e-6)  # weights have single precision
            at_first = demand.acceleration
        else:
            np.testing.assert_array_equal(demand.acceleration, at_first)


def test_a_run_with_a_policy_is_compiled_and_replays_without_its_file(tmp_path):
    o = ca.MX.sym("observation", 10)
    file = onnx_file(tmp_path / "p.onnx", ca.Function("policy", [o], [-20 * o[:5] - 40 * o[5:]], ["o"], ["a"]))
    bed = granite.load("free-flyer", {
        "controller.law": {"kind": "policy", "path": file}, "loop.duration_s": 2.0})  # fmt: skip
    assert steps_in_python(build_stack(bed)) == []
    log = granite.simulate(bed, tmp_path / "run.mcap")
    (tmp_path / "p.onnx").unlink()
    assert replay(read_log(tmp_path / "run.mcap")).first is None
    assert log.summary["ended"] == "completed"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "an ONNX file"),
        (b"junk" * 10, "no network that can be read"),
        (b"", "no network that can be read"),
        ("sizes", "a network from [4] to [5] numbers, expected one input of 10 numbers"),
        ("infinite", "a network that is not finite"),
    ],
    ids=["missing", "junk", "empty", "sizes", "infinite"],
)
def test_a_file_that_is_no_policy_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "p.onnx"
    if content == "sizes":
        o = ca.MX.sym("o", 4)
        onnx_file(path, ca.Function("policy", [o], [ca.vertcat(o, 1)], ["o"], ["a"]))
    elif content == "infinite":
        o = ca.MX.sym("o", 10)
        onnx_file(path, ca.Function("policy", [o], [ca.log(o[:5] * 0)], ["o"], ["a"]))
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        build_stack(with_policy(path))
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "p.onnx" in str(refusal.value)
