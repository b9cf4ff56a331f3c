"""Many runs: the same numbers as single ones, in the order asked for, whatever ends first."""

import numpy as np
import pytest

import granite
from granite.kernels.library import on_compile
from granite.rt.compiled_run import parts_in_python
from granite.rt.guard.limits import limits_of
from granite.rt.run import Run

STIFFNESS = "controller.law.gains.base.stiffness_1_s2"
SHORT = granite.load("free-flyer", {"loop.duration_s": 1.0})
CHANGES = [{STIFFNESS: 0.3}, {STIFFNESS: 0.9}]


@pytest.fixture(scope="module")
def runs() -> list[granite.ManyRun]:
    return granite.simulate_many(SHORT, CHANGES, [4, 5], ["truth.base_x_m"], processes=1)


def test_for_each_change_all_seeds_run_in_their_order(runs: list[granite.ManyRun]):
    assert [(run.changes[STIFFNESS], run.seed) for run in runs] == [(0.3, 4), (0.3, 5), (0.9, 4), (0.9, 5)]


def test_numbers_of_numpy_are_as_good_as_those_of_python(runs: list[granite.ManyRun]):
    study = granite.simulate_many(SHORT, [{STIFFNESS: np.float32(0.5)}], seeds=np.arange(4, 6), processes=1)
    assert [(run.bed.seed, type(run.bed.seed)) for run in study] == [(4, int), (5, int)]
    again = granite.simulate_many(SHORT, [{STIFFNESS: 0.3, "safety.burst_overruns": np.int64(20)}], [4], processes=1)
    assert again[0].metrics == runs[0].metrics


def test_a_run_of_many_is_the_single_run_to_the_bit(runs: list[granite.ManyRun]):
    single = granite.simulate(SHORT.with_changes({STIFFNESS: 0.9, "seed": 5}))
    np.testing.assert_array_equal(runs[-1].signals["truth.base_x_m"], single["/truth"].base_x_m)
    assert runs[-1].metrics["propellant"] == granite.metrics(single)["propellant"]
    assert runs[-1].metrics["ended"] == "completed"
    assert set(granite.metrics(single)) == {*runs[-1].metrics, "timing"}
    assert {**granite.metrics(single), "timing": None} == {**runs[-1].metrics, "timing": None}


def test_any_run_can_be_had_again_as_a_full_log(runs: list[granite.ManyRun]):
    log = runs[1].log()
    np.testing.assert_array_equal(runs[1].signals["truth.base_x_m"], log["/truth"].base_x_m)
    assert granite.replay(log).first is None


def test_parts_without_a_compiled_form_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    assert parts_in_python(Run(SHORT)) == ["no C compiler"]


@pytest.mark.parametrize("gains", ["gains", "hold.gains"])
def test_another_gain_prepares_a_run_without_compiling_or_writing_its_limits_again(gains: str):
    Run(SHORT)
    compiled: list[str] = []
    with on_compile(compiled.append):
        Run(SHORT.with_changes({f"controller.law.{gains}.base.damping_1_s": 1.0 + np.random.default_rng().random()}))
    assert not compiled
    assert limits_of(SHORT.with_changes({f"controller.law.{gains}.base.damping_1_s": 1.1})) is limits_of(SHORT)
    assert limits_of(SHORT.with_changes({"safety.base_speed_m_s": 0.4})) is not limits_of(SHORT)


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one(runs: list[granite.ManyRun]):
    again = granite.simulate_many(SHORT, CHANGES, [4, 5], ["truth.base_x_m"], processes=2)
    assert [run.metrics for run in again] == [run.metrics for run in runs]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"signals": ["truth.base_z_m"]}, "/truth has no such value"),
        ({"signals": ["base_x_m"]}, "expected topic.signal"),
        ({"changes": [{"controller.law.gain": 1.0}]}, "unknown key"),
        ({"seeds": [1.5]}, "seed = 1.5: expected a whole number"),
        ({"seeds": [True]}, "seed = true: expected a whole number"),
        ({"processes": 0}, "expected a whole number of at least 1"),
    ],
)
def test_what_can_not_be_run_is_refused_in_one_sentence(arguments: dict, words: str):
    with pytest.raises(granite.InputError, match=words):
        granite.simulate_many(SHORT, **arguments)
