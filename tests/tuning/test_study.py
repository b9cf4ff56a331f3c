"""The study: the same trials for the same seed, whatever finishes first and however often it is interrupted."""

import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from granite.config.errors import InputError
from granite.tuning.driver import Progress, drive
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from tests.support.analytic_studies import BED, STIFFNESS, Bowl, table


def tuned(folder: Path, workers: Any = None, **others: Any) -> list[TrialResult]:
    session = Session.create(folder, BED, table(**others))
    drive(BED, session.table, session.study(), workers or Bowl())
    return session.study().results()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[TrialResult]:
    return tuned(tmp_path_factory.mktemp("whole") / "s", trials=22)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_study_also_after_an_interruption(tmp_path: Path, whole: list[TrialResult]):
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "cut", Bowl(dies_after=13), trials=22)
    session = Session.read(tmp_path / "cut")
    assert session.study().results() == whole[:12]  # three rounds of four
    drive(BED, session.table, session.study(), Bowl())
    assert session.study().results() == whole
    assert [result.number for result in whole] == list(range(22))


def test_a_study_is_in_its_file_only_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Others look at a session that begins: two that make the tables of one file fail both.
    session = Session.create(tmp_path / "s", BED, table(trials=4))
    study, file = session.study(), tmp_path / "s/study.db"
    made: list[tuple[str, bool]] = []
    opened = study._opened
    monkeypatch.setattr(study, "_opened", lambda new: made.append((new.name, file.exists())) or opened(new))
    study.keep()
    assert made == [("study.new", False), ("study.db", True)]
    assert not (tmp_path / "s/study.new").exists()


@pytest.mark.parametrize("name", ["a?b", "a%41b", "a{b}", "x?mode=ro&uri=true", ":memory:", "a b#c'd"])
def test_a_session_may_have_any_name_of_a_folder(tmp_path: Path, name: str):
    study = Session.create(tmp_path / name, BED, table()).study()
    study.keep()
    assert Session.read(tmp_path / name).study().kept == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "study.db").stat().st_size > 0


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: None)  # Optuna tries again after some seconds

    def stays_as_small(connection: Any, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # SQLite says of the next page what it says of a full disk

    session = Session.create(tmp_path / "s", BED, table(trials=40, round_size=40))
    session.study().keep()
    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", stays_as_small)
    try:
        with pytest.raises(InputError) as refusal:
            drive(BED, session.table, session.study(), Bowl())
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", stays_as_small)
    words = r".*study\.db' can't be used \(database or disk is full\), expected some free space on the disk"
    assert re.fullmatch(words, str(refusal.value)), refusal.value


def test_a_study_goes_on_at_the_last_whole_round(tmp_path: Path):
    tuned(tmp_path / "s", trials=6, round_size=4)
    study = Session.read(tmp_path / "s").study()
    assert study.told == 6
    study.rewind()
    assert study.told == 4


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["nsga_ii", "cma_es"])
@pytest.mark.parametrize("answers", [1, 4, 27])
def test_every_sampler_goes_on_as_if_nothing_had_happened(tmp_path: Path, sampler: str, answers: int):
    asked: dict[str, Any] = {"sampler": sampler, "trials": 30, "round_size": 3}
    asked |= {"objectives": [{"of": "rms_error_m"}]} if sampler == "cma_es" else {}
    first = tuned(tmp_path / "a", **asked)
    assert tuned(tmp_path / "c", seed=2, **asked) != first
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "cut", Bowl(dies_after=answers), **asked)
    session = Session.read(tmp_path / "cut")
    drive(BED, session.table, session.study(), Bowl())
    assert session.study().results() == first


@pytest.mark.slow
def test_a_study_that_is_prolonged_is_that_of_all_trials(tmp_path: Path, whole: list[TrialResult]):
    assert tuned(tmp_path / "s", trials=14) == whole[:14]  # the last round is not whole
    session = Session.read(tmp_path / "s").with_trials(22)
    drive(BED, session.table, session.study(), Bowl())
    assert session.study().results() == whole


def test_the_first_trial_is_the_start_and_later_ones_are_better(whole: list[TrialResult]):
    assert whole[0].parameters[STIFFNESS] == 0.05
    assert min(sum(result.objectives) for result in whole) < 0.1 * sum(whole[0].objectives)


def test_a_hopeless_trial_is_not_run_in_the_other_scenarios(tmp_path: Path):
    workers = Bowl()
    results = tuned(tmp_path / "s", workers, trials=16, seeds=[1, 2, 3])
    pruned = [result for result in results if result.failure and "pruned" in result.failure]
    assert pruned
    assert workers.cases == 16 * 3 - 2 * len(pruned)
    assert all(result.number >= 8 for result in pruned)  # compared with others that were run before


@pytest.mark.slow
def test_constraints_lead_the_search_and_decide_which_is_best(tmp_path: Path):
    bound = [{"of": "margin", "lower": 0.3}]  # the logarithm of the stiffness, of the bowl
    session = Session.create(
        tmp_path / "s", BED, table(constraints=bound, objectives=[{"of": "rms_error_m"}, {"of": "pulses"}])
    )
    drive(BED, session.table, session.study(), Bowl())
    best = session.trial(None)
    assert best.is_feasible
    assert best.constraints[0] >= 0.3
    assert any(not result.is_feasible for result in session.study().results())


@pytest.mark.slow
def test_an_objective_that_is_never_finite_is_named_and_the_trials_are_kept(tmp_path: Path):
    class Endless(Bowl):
        def answers(self, work: Any, cases: Any) -> Any:
            return (one._replace(values=[float("inf")] * len(one.values)) for one in super().answers(work, cases))

    with pytest.raises(InputError, match=r"none of 16 trials has a result .*; the first: nominal: rms_error_m is inf"):
        tuned(tmp_path / "s", Endless(), trials=100)
    assert Session.read(tmp_path / "s").study().told == 16


def test_progress_has_the_best_so_far_and_the_time_left(tmp_path: Path):
    session = Session.create(tmp_path / "s", BED, table(trials=8))
    known: list[Progress] = []
    drive(BED, session.table, session.study(), Bowl(), known.append)
    assert [(one.told, one.total) for one in known] == [(4, 8), (8, 8)]
    assert known[-1].best == session.trial(None)
    assert known[0].left_s > known[1].left_s == 0.0


def test_a_parameter_of_whole_numbers_gets_whole_numbers_within_its_bounds(tmp_path: Path):
    bits: list[int] = []

    class Checking(Bowl):
        def answers(self, work: Any, cases: Any) -> Any:
            for case in cases:
                sensors = BED.with_changes(case.changes).devices["joint_sensors"]
                bits.append(sensors.converter_bits)  # type: ignore[attr-defined]
            return super().answers(work, cases)

    whole = {"key": "devices.joint_sensors.converter_bits", "lower": 11.5, "upper": 16.4}
    results = tuned(tmp_path / "s", Checking(), trials=12, parameters=[*table().model_dump()["parameters"], whole])
    assert set(bits) <= set(range(12, 17))
    assert len(set(bits)) > 2
    assert [result.parameters["devices.joint_sensors.converter_bits"] for result in results] == bits
    session = Session.read(tmp_path / "s")
    session.promote(results[-1], tmp_path / "my.toml")
    assert f"converter_bits = {bits[-1]}\n" in (tmp_path / "my.toml").read_text()
