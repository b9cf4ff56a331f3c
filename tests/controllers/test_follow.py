"""Paths from a CSV file or a function: followed C2, checked before the run, kept in the log, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.config.records import State
from granite.config.testbed import Testbed
from granite.controllers.stack import build_stack
from granite.controllers.trajectories.sampled import SampledPath
from granite.kernels.c_compiler import find_compiler
from granite.logs.log import read_log
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.replay import replay
from granite.rt.run import Run
from granite.rt.run import simulate as record
from granite.rt.run_in_memory import simulate_in_memory

START = np.array([1.0, 0.8, 0.0, 0.4, 0.9])


def csv_of(folder: Path, header: str, *rows: Sequence[float] | str, name: str = "path.csv") -> Path:
    lines = [row if isinstance(row, str) else ",".join(map(str, row)) for row in rows]
    file = folder / name
    file.write_text("\n".join([header, *lines]) + "\n")
    return file


def bed_of(path: Path | str, *changes: str) -> Testbed:
    return load("free-flyer", [f"behaviour={{kind='follow', path='{path}'}}", *changes])


def refusal(path: Path | str, *changes: str) -> str:
    with pytest.raises(InputError) as refused:
        build_stack(bed_of(path, *changes))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def reference(bed: Testbed, times: Sequence[float], q: np.ndarray = START):
    behaviour, zero = build_stack(bed).behaviour, np.zeros(5)
    return [behaviour.decide(State(t, True, q, zero, zero, np.zeros(2))) for t in times]


def slow_sine(folder: Path, step: float = 1.0) -> Path:
    t = np.arange(0.0, 40.0 + step / 2, step)
    return csv_of(folder, "t_s, base_x_m", *zip(t, 1.0 + 0.2 * (1 - np.cos(2 * np.pi * t / 40)), strict=True))


def test_quintics_between_knots_are_exact_for_quintics():
    rng = np.random.default_rng(2)
    c = rng.standard_normal((6, 2))

    def motion(t: float) -> np.ndarray:
        return np.array([sum(c[k] * t**k for k in range(6)), sum(k * c[k] * t ** (k - 1) for k in range(1, 6)),
                         sum(k * (k - 1) * c[k] * t ** (k - 2) for k in range(2, 6))])  # fmt: skip

    times = np.array([0.0, 0.4, 1.0])
    path = SampledPath(times, np.array([motion(t) for t in times]))
    for t in (0.0, 0.1, 0.4, 0.77):
        np.testing.assert_allclose(path.at(t), motion(t), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(path.stretched(2.0).at(0.2)[1], motion(0.1)[1] / 2, rtol=1e-12)


def test_a_file_is_followed_from_the_estimate_with_continuous_acceleration(tmp_path):
    q = START + np.array([0.01, 0.0, 0.2, 0.0, 0.0])
    times = np.arange(0.0, 45.0, 0.005)
    path = reference(bed_of(slow_sine(tmp_path)), times, q)
    x, u, a = (np.array([getattr(r, part) for r in path]) for part in ("q", "u", "a"))
    assert (x[0] == q).all()
    assert (u[0] == 0).all()
    np.testing.assert_allclose(np.diff(x, axis=0), 0.005 * (u[1:] + u[:-1]) / 2, atol=1e-6)
    u, a = u[times < 42.0], a[times < 42.0]  # the lead takes 2 s; at the end the acceleration stops
    np.testing.assert_allclose(np.diff(u, axis=0), 0.005 * (a[1:] + a[:-1]) / 2, atol=1e-6)
    assert np.abs(np.diff(a[:, 0])).max() < 5e-4
    wanted = 1.0 + 0.2 * (1 - np.cos(2 * np.pi * np.clip(times - 2.0, 0, 40) / 40))
    assert np.abs(x[:, 0] - wanted)[times >= 2.0].max() < 1e-3
    assert (x[:, 1:] == q[1:]).all()
    assert [r.done for r in path].index(True) == pytest.approx(42.0 / 0.005, abs=1)


def test_given_rates_and_accelerations_are_used(tmp_path):
    t = np.arange(0.0, 41.0, 4.0)
    w = 2 * np.pi / 40
    x, u, a = 1 + 0.2 * (1 - np.cos(w * t)), 0.2 * w * np.sin(w * t), 0.2 * w**2 * np.cos(w * t)
    file = csv_of(tmp_path, "t_s,base_x_m,base_x_m_s,base_x_m_s2", *zip(t, x, u, a, strict=True))
    (r,) = reference(bed_of(file), [0.0, 2.0 + 6.0])[1:]
    np.testing.assert_allclose((r.q[0], r.u[0]), (1 + 0.2 * (1 - np.cos(w * 6)), 0.2 * w * np.sin(w * 6)), atol=2e-6)


def test_a_function_is_sampled_once_and_not_needed_again(tmp_path):
    file = tmp_path / "my_path.py"
    file.write_text(
        "def line(t):\n    s = t / 30\n    return {'base_y_m': 0.8 + 0.3 * s**3 * (10 + s * (6 * s - 15))}\n"
    )
    bed = bed_of(f"{file}:line", "behaviour.duration_s=30.0")
    text = to_json(bed)
    file.unlink()
    (_, middle) = reference(from_json(text), [0.0, 17.0])
    assert middle.q[1] == pytest.approx(0.95, abs=1e-6)
    with pytest.raises(InputError, match="no file"):
        bed.with_changes({"behaviour.duration_s": 20.0})


@pytest.mark.slow
def test_a_log_replays_without_the_file(tmp_path):
    file = slow_sine(tmp_path)
    bed = bed_of(file, "loop.duration_s=1.0")
    record(bed, tmp_path / "run.mcap", realtime=False)
    file.unlink()
    replayed = replay(read_log(tmp_path / "run.mcap"))
    assert (replayed.ticks, replayed.first, replayed.gap) == (200, None, None)


def test_the_run_follows_the_path(tmp_path):
    t = np.linspace(0.0, 20.0, 41)
    s = (t / 20) ** 3 * (10 + (t / 20) * (6 * t / 20 - 15))
    file = csv_of(tmp_path, "t_s,base_x_m,elbow_rad", *zip(t, 1 + 0.4 * s, 0.9 + 0.5 * s, strict=True))
    log = simulate_in_memory(bed_of(file, "loop.duration_s=27.0"))
    end = log.rows[-1, log.channels.columns("/truth", "q")]
    np.testing.assert_allclose(end, START + np.array([0.4, 0, 0, 0, 0.5]), atol=2e-3)


@pytest.mark.skipif(find_compiler() is None, reason="compiled steps need a C compiler")
def test_the_compiled_form_has_the_bits_of_the_python_form(tmp_path):
    t = np.linspace(0.0, 1.0, 5)
    rows = zip(t + 3.0, 1 + 0.001 * t, 0.4 - 0.01 * t**2, strict=True)
    file = csv_of(tmp_path, "t_s,base_x_m,shoulder_rad", *rows)
    bed, references = bed_of(file, "behaviour.approach_s=0.5", "behaviour.check_moves=false", "loop.duration_s=2.0"), []
    for compiled in (True, False):
        run = Run(bed)
        if not compiled:
            run.compiled_steps = None
        assert (run.compiled_steps is not None) == compiled
        memory = Memory(run.channels, run.ticks)
        run.execute(VirtualClock(), memory)
        columns = [run.channels.columns("/reference", part) for part in ("q", "u", "a", "done")]
        references.append(np.hstack([memory.rows[:, column].reshape(run.ticks, -1) for column in columns]))
    assert references[0].tobytes() == references[1].tobytes()
    assert references[0][-1, -1] == 1.0


def test_a_path_that_is_too_fast_is_refused_with_its_least_duration_or_stretched(tmp_path):
    file = csv_of(tmp_path, "t_s,base_x_m", (0, 1.0), (1, 1.1), (2, 1.5), (3, 1.9), (4, 2.0))
    text = refusal(file)
    assert "in its 4 s it would need" in text
    assert "times the thrust of thrusters in its direction, expected at least" in text
    least = float(text.split("at least ")[1].split(" s")[0])
    bed = bed_of(file, "behaviour.stretch=true")
    end = [r.done for r in reference(bed, np.arange(0.0, 100.0, 0.1))].index(True) * 0.1
    assert end == pytest.approx(2.0 + least, rel=0.02)


def test_a_path_outside_the_limits_is_refused(tmp_path):
    text = refusal(csv_of(tmp_path, "t_s,base_x_m", (0, 1.0), (100, 3.5), (200, 1.0)))
    assert "at 100 s its 'base_x_m' is 3.5" in text
    assert "expected 0.3 to 3.36, as safety.table_m allows" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("t_s,base_x_m\n0," + 200000 * "1" + "\n", "not a CSV file (field larger than field limit (131072))"),
        ("\n\n", "the file is empty"),
        ("t_s,base_x_m\n0,1\n", "1 rows of numbers, expected at least 2"),
        ("time,base_x_m\n0,1\n", "line 1: the first column is \"time\", expected 't_s'"),
        ("t_s\n0\n1\n", "line 1: no coordinate"),
        ("t_s,base_x_m,base_x_m\n0,1,1\n1,1,1\n", 'line 1: two columns "base_x_m"'),
        ("t_s,base_z_m\n0,1\n1,1\n", "unknown column 'base_z_m', expected one of base_x_m"),
        ("t_s,base_x_m\n0,1\n1,nan\n", "line 3, column 'base_x_m': \"nan\", expected a finite number"),
        ("t_s,base_x_m\n0,1\n\n1,\n", "line 4, column 'base_x_m': \"\", expected a finite number"),
        ("t_s,base_x_m\n0,1\n1\n", "line 3: 1 values, expected 2"),
        ("t_s,base_x_m\n0,1\n2,1\n1,1\n", "line 4, column 't_s': 1 goes back from 2, expected times that rise"),
        ("t_s,base_x_m\n0,1\n2,1\n2,1\n", "line 4, column 't_s': 2 repeats 2"),
        ("t_s,base_x_m\n0,1\n1,1\n2,1\n30,1\n31,1\n", "line 5, column 't_s': a gap of 28 s after 2, expected at most"),
        ("t_s,base_x_m\n0,1\n1e-300,1\n2e-300,1\n", "'t_s': a step of 1e-300 s after 0, expected at least 5e-05 s"),
        ("t_s,base_x_m\n0,1.3\n9,1.3\n", "column 'base_x_m': 1.3 in the first row, too far from the robot's start"),
        ("t_s,base_x_m_s\n0,0\n9,0\n", "a column 'base_x_m_s' without 'base_x_m'"),
        ("t_s,base_x_m,base_x_m_s\n0,1,0\n20,1.2,0.5\n40,1.4,0\n", "column 'base_x_m_s' is not the rate of its"),
        ("t_s,base_x_m,base_x_m_s\n0,1,0.01\n20,1.2,0.01\n", "0.01 in the last row, expected 0, because the path ends"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_line_and_column(tmp_path, content, said):
    file = tmp_path / "bad.csv"
    file.write_text(content)
    text = refusal(file)
    assert said in text
    assert 'behaviour.path = "' in text  # a long value is shortened


def test_a_missing_file_is_refused(tmp_path):
    assert f"no such file '{tmp_path / 'none.csv'}'" in refusal(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {'base_x_m': t * 0 + 2 / max(2 - t, 0)}", "at t = 2 s it failed with ZeroDivisionError: "),
        ("return [1.0, 0.8]", 'at t = 0 s it returned "[1.0, 0.8]", expected a number for each coordinate, by key'),
        ("return {'base_x_m': None}", "at t = 0 s its 'base_x_m' was \"None\", expected a finite number"),
        ("return {'base_x_m': 1.0} if t < 1 else {}", "at t = 1 s it returned nothing, expected base_x_m as at 0"),
        ("return {}", "its result: no coordinate"),
        ("return {'base_w': 1.0}", "unknown column 'base_w'"),
    ],
)
def test_bad_functions_are_refused_with_their_time(tmp_path, body, said):
    file = tmp_path / "bad_path.py"
    file.write_text(f"def path(t):\n    {body}\n")
    assert said in refusal(f"{file}:path", "behaviour.duration_s=10.0")
    assert "has no 'other', expected path" in refusal(f"{file}:other", "behaviour.duration_s=10.0")
    assert "behaviour.duration_s is missing" in refusal(f"{file}:path")
