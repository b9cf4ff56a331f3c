"""The core keeps its promises under any script of frames, and the fuzzer notices when it does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.firmware.emulated import BUILD, FIRMWARE, build, need


def test_random_scripts_are_clean_under_sanitizers():
    build("build/fuzz-random")
    done = subprocess.run([BUILD / "fuzz-random", "1500"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1500 scripts\n"


@pytest.mark.slow
def test_scripts_chosen_by_coverage_are_clean_under_sanitizers(tmp_path: Path):
    build("build/fuzz")
    command = [
        BUILD / "fuzz",
        "-max_total_time=20",
        "-max_len=4096",
        "-seed=1",
        f"-artifact_prefix={tmp_path}/",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


#: file, what it says, what a mistake would make of it
MISTAKES = {
    "watchdog off": (
        "latch.c",
        "now - latch->commanded_at > watchdog_us",
        "latch && now + watchdog_us == 0",
    ),
    "watchdog a tenth late": ("latch.c", "> watchdog_us;", "> watchdog_us * 11ull / 10ull;"),
    "fed by any frame": (
        "board.c",
        "enum refusal refusal = judge(board);",
        "board->latch.commanded_at = now; enum refusal refusal = judge(board);",
    ),
    "armed by itself": (
        "latch.c",
        "latch->acknowledges = acknowledges;",
        "latch->acknowledges = acknowledges; latch->armed |= latch->steady == 5;",
    ),
    "shorter watchdog that has expired": (
        "latch.c",
        "if (is_silent(latch, now, reset->watchdog_us))\n        return NOT_STEADY;",
        "",
    ),
    "reset during an emergency stop": ("latch.c", "if (latch->emergency_stop)\n        return EMERGENCY_STOP;", ""),
    "reset of before a brown-out": ("latch.c", "if (reset->number != latch->number)\n        return OTHER_LATCH;", ""),
    "valves stay open": ("board.c", "valve_close(&board->valve[i], now);", ""),
    "motors go on": ("board.c", "kind == VALVE || kind == MOTOR || kind == WHEEL", "kind == VALVE || kind == WHEEL"),
    "no limit": ("board.c", "value > channel->high ? channel->high : value", "value"),
    "pulse too short": ("valve.c", "&& now >= may_close_at(valve)", ""),
    "late command outruns the watchdog": (
        "board.c",
        "board_step(board, now, board->latch.emergency_stop);\n    enum",
        "enum",
    ),
    "wakes too late": ("valve.c", "valve->closes_at > may ? valve->closes_at : may;", "valve->opened_at;"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_the_fuzzer_finds_a_mistake(name: str, tmp_path: Path):
    need("cc")
    file, right, wrong = MISTAKES[name]
    for folder in ("core", "boards", "tests"):
        shutil.copytree(FIRMWARE / folder, tmp_path / folder)
    code = (tmp_path / "core" / file).read_text()
    assert code.count(right) == 1
    (tmp_path / "core" / file).write_text(code.replace(right, wrong))
    sources = [*sorted((tmp_path / "core").glob("*.c")), tmp_path / "boards/free_flyer.c", tmp_path / "tests/fuzz.c"]
    program = tmp_path / "fuzz-random"
    subprocess.run(["cc", "-O1", "-DFUZZ_RANDOM", "-o", program, *sources], check=True, timeout=300)
    done = subprocess.run([program, "20000"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0, "not found"
    assert "broken" in done.stderr
