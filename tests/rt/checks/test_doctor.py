import os
import re
import resource
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from granite.rt.checks import doctor
from granite.rt.checks.doctor import Finding, examine

NAMES = [
    "python", "compiler", "model cache", "priority", "memory lock", "cpu latency", "processors", "kernel", "timer",
    "cyclictest", "serial ports", "disk",
]  # fmt: skip


def locked_memory() -> str:
    status = Path("/proc/self/status").read_text()
    return next(line for line in status.splitlines() if line.startswith("VmLck"))


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def state_of_this_process() -> tuple[object, ...]:
    return (
        os.sched_getscheduler(0),
        os.sched_getparam(0).sched_priority,
        os.sched_getaffinity(0),
        resource.getrlimit(resource.RLIMIT_MEMLOCK),
        locked_memory(),
        sorted(os.listdir("/proc/self/fd")),
    )


class Examination:
    def __init__(self) -> None:
        before, began = state_of_this_process(), time.monotonic()
        self.findings = examine()
        self.took = time.monotonic() - began
        self.before, self.after = before, state_of_this_process()


@pytest.fixture(scope="module")
def examination() -> Examination:
    return Examination()


@pytest.fixture
def findings(examination: Examination) -> list[Finding]:
    return examination.findings


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    wake_ups = doctor._wake_ups
    monkeypatch.setattr(doctor, "_wake_ups", lambda: wake_ups(20))


def test_each_thing_is_found_once(findings):
    assert [finding.name for finding in findings] == NAMES


def test_whatever_is_not_ok_comes_with_one_sentence_of_advice(findings):
    for finding in findings:
        assert finding.status in ("ok", "limited", "missing")
        assert finding.observed
        if finding.status == "ok":
            assert finding.advice == ""
        else:
            assert re.fullmatch(r"[A-Z].*\.", finding.advice)
            assert ". " not in finding.advice


def test_the_timer_is_measured_in_microseconds(findings):
    assert re.match(r"late by \d+ / \d+ / \d+ us", by_name(findings)["timer"].observed)


def test_nothing_is_changed_afterwards(examination):
    assert examination.after == examination.before


def test_an_examination_takes_seconds_only(examination):
    assert examination.took < 60.0  # 1.2 s where nothing else runs


@pytest.mark.usefixtures("quick")
def test_an_empty_path_leaves_no_compiler_and_no_cyclictest(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("GRANITE_NO_COMPILER", raising=False)
    checks = by_name(examine())
    assert checks["compiler"].status == "missing"
    assert "virtual machine" in checks["compiler"].observed
    assert checks["cyclictest"].status == "missing"


@pytest.mark.usefixtures("quick")
def test_a_compiler_that_is_switched_off_is_said_to_be(monkeypatch):
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    compiler = by_name(examine())["compiler"]
    assert compiler.status == "limited"
    assert "GRANITE_NO_COMPILER=1" in compiler.observed
    assert "virtual machine" in compiler.observed


@pytest.mark.usefixtures("quick")
def test_a_compiler_that_does_not_compile_is_found_out(monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'no room for objects' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.delenv("GRANITE_NO_COMPILER", raising=False)
    compiler = by_name(examine())["compiler"]
    assert compiler.status == "limited"
    assert "no room for objects" in compiler.observed


@pytest.mark.usefixtures("quick")
def test_a_cache_under_a_file_is_not_writable(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRANITE_CACHE", str(tmp_path / "file" / "cache"))
    cache = by_name(examine())["model cache"]
    assert cache.status == "limited"
    assert "GRANITE_CACHE" in cache.advice


@pytest.mark.usefixtures("quick")
def test_refusals_of_the_system_are_findings(monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    checks = by_name(examine())
    assert checks["priority"].status == "missing"
    assert "rtprio" in checks["priority"].advice


@pytest.mark.usefixtures("quick")
def test_a_check_that_fails_is_a_finding_too(monkeypatch):
    def fail(*arguments):
        raise RuntimeError("a strange machine")

    monkeypatch.setattr(os, "sched_getaffinity", fail)
    processors = by_name(examine())["processors"]
    assert processors.status == "limited"
    assert "a strange machine" in processors.observed
    assert processors.advice


@pytest.mark.usefixtures("quick")
def test_a_serial_port_of_others_is_limited(monkeypatch, tmp_path):
    import serial.tools.list_ports
    from serial.tools.list_ports_common import ListPortInfo

    port = ListPortInfo(str(tmp_path / "ttyUSB7"))
    port.description = "a board"
    monkeypatch.setattr(serial.tools.list_ports, "comports", lambda: [port])
    ports = by_name(examine())["serial ports"]
    assert ports.status == "limited"
    assert "ttyUSB7 (a board)" in ports.observed
    assert "dialout" in ports.advice


@pytest.mark.parametrize(
    ("machine", "package"), [("x86_64", "rt-amd64)"), ("aarch64", "rt-arm64)"), ("riscv64", "rt-riscv64)")]
)
def test_the_advised_kernel_is_that_of_the_processor(machine: str, package: str, monkeypatch: pytest.MonkeyPatch):
    machines = {"machine": lambda: machine, "release": lambda: "6.1", "version": lambda: "#1 SMP PREEMPT_DYNAMIC"}
    monkeypatch.setattr(doctor, "platform", SimpleNamespace(**machines))
    monkeypatch.setattr(doctor, "_text", lambda _: "0")
    assert doctor._kernel()[0] == "limited"
    assert package in doctor._kernel()[2]
