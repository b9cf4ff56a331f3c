"""Monte Carlo: seeds and random plants in every scenario, the worst of which can be run again."""

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import granite as api
from granite.config.errors import InputError
from granite.config.loader import load_tuning
from granite.tuning.montecarlo import MonteCarlo, monte_carlo
from granite.tuning.report.montecarlo import monte_carlo_figure, monte_carlo_tables
from granite.tuning.scenarios import variations_of
from granite.tuning.worker_processes import local_workers
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite

PRESET = (Path(__file__).parents[2] / "config/testbeds/free-flyer.toml").read_text()
TABLE = """
[tuning]
parameters = [{ key = "controller.law.gains.base.stiffness_1_s2" }]
objectives = [{ of = "rms_error_m" }, { of = "margin" }]
spread = [{ key = "modules.vehicle.bodies.base.mass_kg", relative = 0.2 }]
[tuning.changes]
loop.duration_s = 0.7
[tuning.scenarios.nominal]
[tuning.scenarios.pushed]
simulation.events = [{ kind = "push", at_s = 0.2, duration_s = 0.1, body = "base", force_n = [12.0, 0.0] }]
[tuning.scenarios.stopped]
safety.tracking_error_m = 1e-5
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> MonteCarlo:
    file = tmp_path_factory.mktemp("tables") / "table.toml"
    file.write_text(TABLE)
    bed = api.load("free-flyer").model_copy(update={"tuning": load_tuning(file)})
    with local_workers(1) as made:
        return monte_carlo(bed, 2, made, first_seed=7)


@pytest.mark.slow
def test_every_scenario_has_the_same_seeds_and_plants(study: MonteCarlo):
    assert [(run.scenario, run.seed) for run in study.runs] == [
        (scenario, seed) for scenario in ("nominal", "pushed", "stopped") for seed in (7, 8)
    ]
    masses = [run.changes["simulation.plant.modules.vehicle.bodies.base.mass_kg"] for run in study.runs]
    assert masses[:2] == masses[2:4] == masses[4:]
    assert masses[0] != masses[1]
    assert all(40 <= mass <= 60 for mass in masses)


def test_a_push_is_worse_and_the_guard_ends_what_it_must(study: MonteCarlo):
    assert study.values(0, "pushed").min() > study.values(0, "nominal").max()
    assert study.worst(0)[0].scenario == "pushed"
    assert study.worst(1)[0].values[1] == min(run.values[1] for run in study.runs if run.values)  # a margin
    assert all("tracking_error" in (run.failure or "") for run in study.runs[4:])
    assert not len(study.values(0, "stopped"))


def test_the_worst_run_can_be_had_again_by_its_options(study: MonteCarlo):
    worst = study.worst(0)[0]
    words = study.options(worst)
    assert words[:2] == ["--seed", str(worst.seed)]
    assert not any("\n" in word for word in words)
    changes = [word for before, word in pairwise(words) if before == "--set"]
    log = api.simulate(api.load("free-flyer", [*changes, f"seed={worst.seed}"]))
    errors = api.metrics(log)["tracking_error"]
    assert np.linalg.norm([errors["base_x"]["rms"], errors["base_y"]["rms"]]) == worst.values[0]


def test_what_the_worst_run_drew_and_when_its_error_is_largest_is_known(study: MonteCarlo):
    worst = study.worst(0)[0]
    assert "simulation.plant" in study.drawn(worst)
    of_the_seed = study.drawn(worst._replace(changes={"seed": 3}))
    third = api.simulate(study.bed.with_changes({"seed": 3}))
    offset = np.mean(third["/sample"].joint_sensors_elbow_angle_rad - third["/truth"].elbow_rad)
    said = float(of_the_seed.partition("joint_sensors elbow_angle ")[2].split()[0])
    assert said == pytest.approx(offset, abs=5e-4)
    assert abs(said) > 1e-4
    perfect = replace(study, bed=study.bed.with_changes({"devices.joint_sensors.angle_offset_rad": 0.0}))
    assert perfect.drawn(worst._replace(changes={"seed": 3})) == "noise alone"
    log = api.simulate(study.bed.with_changes(worst.changes))
    errors = api.metrics(log)["tracking_error"]
    for t, coordinate, error, unit in study.largest_errors(worst):
        assert error == max(e["max"] for e in errors.values() if e["unit"] == unit) == errors[coordinate]["max"]
        i = int(np.searchsorted(log["/sample"].t_s, t - 1e-9))
        key = f"{coordinate}_{unit}"
        assert abs(log["/truth"][key][i] - log["/reference"][key][i]) == error


@pytest.mark.slow
def test_the_printed_command_makes_the_worst_run_again_to_the_bit(granite: Call, tmp_path: Path):
    (tmp_path / "my bed.toml").write_text(PRESET.replace('name = "free-flyer"', 'name = "another name"', 1))
    changes = ["--set", "loop.duration_s=0.6", "--set", "devices.thrusters.units.r1.failed=true"]
    (tmp_path / "table.toml").write_text(TABLE.replace("loop.duration_s = 0.7", f'title = "{"long " * 30}"'))
    typed = ["my bed.toml", *changes, "--tuning", "table.toml", "--metric", "rms_error_m", "--processes", 1]
    runs = granite("montecarlo", *typed, "--runs", 2, "--json").json["runs"]
    worst = max((run for run in runs if run["values"]), key=lambda run: run["values"][0])
    words = shlex.split(granite("montecarlo", *typed, "--runs", 2).out.partition("rms_error_m again: ")[2])
    assert words[:3] == ["granite", "sim", "my bed.toml"]
    errors = granite(*words[1:], "--json").json["tracking_error"]
    assert np.linalg.norm([errors["base_x"]["rms"], errors["base_y"]["rms"]]) == worst["values"][0]
    assert api.read_log(next((tmp_path / "runs").iterdir())).bed.seed == worst["seed"]


def test_distributions_and_scenarios_are_drawn(study: MonteCarlo):
    figure = monte_carlo_figure(study)
    titles = [axes.get_xlabel() or axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["rms_error_m [m]", "margin", "Bad 5 %, relative to the first (share that ended well)"]
    for i, axes in enumerate(figure.axes[:2]):
        (label,) = [text for text in axes.texts if text.get_text() == "median"]
        assert label.get_position()[0] == np.median(study.values(i, study.scenarios[0]))
    assert len(list(monte_carlo_tables(study))) == 3


def test_the_command_prints_numbers_and_refuses_an_unknown_metric(granite: Call):
    few = ["--runs", 2, "--set", "loop.duration_s=0.5", "--processes", 1]
    said = granite("montecarlo", "free-flyer", *few, "--metric", "pulses", "--json").json
    assert [run["seed"] for run in said["runs"]] == [1, 2]
    assert said["metrics"] == ["pulses"]
    refused = granite("montecarlo", "free-flyer", *few, "--metric", "pulse")
    assert 'free-flyer: --metric = "pulse"' in refused.err
    assert "did you mean 'pulses'" in refused.err
    assert not list(Path().iterdir())


def test_a_metric_that_is_finite_in_no_run_is_refused_after_the_others_are_shown(granite: Call):
    few = ["--runs", 2, "--set", "loop.duration_s=0.5", "--processes", 1]
    said = granite("montecarlo", "free-flyer", *few, "--metric", "pulses", "--metric", "log(-1)")
    assert sentence_of(said) == (
        'granite: free-flyer: --metric = "log(-1)": finite in none of 2 runs that reached their end, '
        "expected an expression that is finite in some\n"
    )
    assert "2 runs of free-flyer, 2 reached their end" in said.out
    assert "the worst pulses again" in said.out
    stopped = ["--set", "safety.tracking_error_m=1e-5"]
    assert granite("montecarlo", "free-flyer", *few, *stopped, "--metric", "pulses").code == 0  # none reached its end


@pytest.mark.slow
def test_random_plants_are_spread_around_the_plant_of_the_scenario(study: MonteCarlo, tmp_path: Path):
    mass = "modules.vehicle.bodies.base.mass_kg"
    scenarios = f"nominal = {{}}\na.simulation.plant.{mass} = 80.0\nb.{mass} = 25.0\n"
    head = TABLE.partition("[tuning.scenarios")[0]
    (tmp_path / "table.toml").write_text(f"{head}[tuning.scenarios]\n{scenarios}")
    bed = study.bed.model_copy(update={"tuning": load_tuning(tmp_path / "table.toml")})
    with local_workers(1) as made:
        runs = monte_carlo(bed, 2, made).runs
    nominal, moved, both = np.reshape([run.changes[f"simulation.plant.{mass}"] for run in runs], (3, 2))
    assert moved == pytest.approx(nominal * 80 / 50, rel=1e-12)
    assert both == pytest.approx(nominal * 25 / 50, rel=1e-12)
    assert nominal[0] != nominal[1]
    table = bed.tuning
    assert table is not None
    common = table.model_copy(update={"plants": 1, "scenarios": {}, "changes": {f"simulation.plant.{mass}": 80.0}})
    spread = variations_of(bed, common)["plant-1"][f"simulation.plant.{mass}"]
    plain = variations_of(bed, common.model_copy(update={"changes": {}}))["plant-1"][f"simulation.plant.{mass}"]
    assert spread == pytest.approx(plain * 80 / 50, rel=1e-12)


def test_a_spread_of_what_is_no_number_is_refused(study: MonteCarlo):
    table = study.bed.tuning
    assert table is not None
    wrong = table.model_copy(
        update={"spread": (table.spread[0].model_copy(update={"key": "modules.vehicle.mass_kg"}),)}
    )
    with pytest.raises(InputError, match=r"tuning.spread.0.key = .*not a number"), local_workers(1) as made:
        monte_carlo(study.bed.model_copy(update={"tuning": wrong}), 1, made)


def test_a_scenario_with_the_name_of_a_random_plant_is_refused(study: MonteCarlo):
    table = study.bed.tuning
    assert table is not None
    taken = table.model_copy(update={"plants": 2, "scenarios": {"plant-2": {}}})
    with pytest.raises(InputError, match=r"tuning\.scenarios\.plant-2: a random plant has that name, expected another"):
        variations_of(study.bed, taken)
