"""Checks of this machine, with advice: compiler, priority, memory lock, timer, serial ports, disk space.

Each check requests from the operating system what the loop requests, by the same code, and releases it at once.
"""

from __future__ import annotations

import os
import platform
import resource
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from granite.config.loop import LoopTable
from granite.config.private_files import fault_of
from granite.config.records import Array
from granite.kernels.c_compiler import find_compiler
from granite.kernels.code_cache import cache_directory
from granite.kernels.compilation import mode
from granite.kernels.library import FLAGS
from granite.rt.loop.clock import RealClock
from granite.rt.process.realtime import LATENCY_FILE, real_time

Status = Literal["ok", "limited", "missing"]

#: a loop that requests nothing from the system; each check adds its own request
_ASK_NOTHING = LoopTable(
    period_s=1e-3, duration_s=0.5, priority=0, lock_memory=False, hold_cpu_awake=False, freeze_garbage=False
)
_PRIORITY = 80
#: time limit of each program that is called [s]
_PATIENCE = 1.0
#: wake-ups later than this at the 99th percentile take a tenth of a period at 1 kHz [s]
_LATE = 100e-6
_CAP_IPC_LOCK = 14  #: bit of the capability that lifts the limit on locked memory
_DISK_BYTES = 1e9


class Finding(NamedTuple):
    """Result of one check."""

    name: str
    status: Status
    observed: str
    advice: str  #: empty if nothing need be done


def examine() -> list[Finding]:
    """All checks, in a second or two; nothing is changed and nothing is raised."""
    return [
        _safely("python", _python),
        _safely("compiler", _compiler),
        _safely("model cache", _model_cache),
        _safely("priority", _priority),
        _safely("memory lock", _memory_lock),
        _safely("cpu latency", _cpu_latency),
        _safely("processors", _processors),
        _safely("kernel", _kernel),
        _safely("timer", _timer),
        _safely("cyclictest", _cyclictest),
        _safely("serial ports", _serial_ports),
        _safely("disk", lambda: _space(Path.cwd(), _DISK_BYTES)),
    ]


#: status, finding, advice
_Answer = tuple[Status, str, str]


def _safely(name: str, check: Callable[[], _Answer]) -> Finding:
    try:
        return Finding(name, *check())
    except Exception as error:  # an unexpected failure of a check is a finding too
        observed = f"could not be examined: {type(error).__name__}: {error}"
        return Finding(name, "limited", observed, "The check itself failed: examine this by hand.")


def _python() -> _Answer:
    return "ok", f"{platform.python_implementation()} {platform.python_version()}", ""


def _compiler() -> _Answer:
    compiler = find_compiler()
    runs = f"the model runs in this mode: {mode()}"
    if compiler is None:
        switch = os.environ.get("GRANITE_NO_COMPILER", "0")
        if switch not in ("", "0"):
            advice = "Unset GRANITE_NO_COMPILER to run the model compiled, some ten times faster."
            return "limited", f"switched off by GRANITE_NO_COMPILER={switch}; {runs}", advice
        advice = "Install a C compiler (apt install gcc), and the model runs some ten times faster."
        return "missing", f"no cc, gcc or clang; {runs}", advice
    with tempfile.TemporaryDirectory(prefix="granite-") as scratch:
        command = shlex.split(compiler)
        source, library = Path(scratch) / "try.c", Path(scratch) / "try.so"
        source.write_text("double half(double x) { return 0.5 * x; }\n")
        version = _said_by(*command, "--version").stdout.partition("\n")[0]
        run = _said_by(*command, *FLAGS, str(source), "-o", str(library), "-lm")
    if run.returncode != 0:
        why = (run.stderr.strip() or f"exit code {run.returncode}").splitlines()[0]
        advice = "Repair the compiler, set CC to another one, or set GRANITE_NO_COMPILER=1."
        return "limited", f"{compiler} ({version}) can't compile: {why}", advice
    return "ok", f"{compiler} ({version}); {runs}", ""


def _said_by(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer in {_PATIENCE:g} s")


def _model_cache() -> _Answer:
    directory = cache_directory()
    if fault := fault_of(directory):
        advice = "Close it to group and others (chmod go-w), or set GRANITE_CACHE to another directory."
        return "limited", f"{directory} is not used, {fault}", advice
    there = next(folder for folder in (directory, *directory.absolute().parents) if folder.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return "ok", f"{directory} can be written", ""
    advice = "Set GRANITE_CACHE to a directory you can write, or each run compiles its model anew."
    return "limited", f"{directory} can't be written", advice


def _priority() -> _Answer:
    with real_time(_ASK_NOTHING.model_copy(update={"priority": _PRIORITY})) as granted:
        answer = granted["priority"]
    if answer == "in force":
        return "ok", f"SCHED_FIFO at {_PRIORITY} is allowed", ""
    advice = (
        "Put '@realtime - rtprio 99' into /etc/security/limits.conf, add yourself to the group realtime "
        "and log in again."
    )
    return "missing", f"SCHED_FIFO at {_PRIORITY} was {answer}", advice


def _memory_lock() -> _Answer:
    with real_time(_ASK_NOTHING.model_copy(update={"lock_memory": True})) as granted:
        answer = granted["lock_memory"]
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    shown = "no limit" if limit == resource.RLIM_INFINITY else f"a limit of {limit / 1e6:.3g} MB"
    advice = (
        "Put '@realtime - memlock unlimited' into /etc/security/limits.conf, add yourself to the group "
        "realtime and log in again."
    )
    if answer != "in force":
        return "missing", f"locking was {answer}, with {shown}", advice
    if limit != resource.RLIM_INFINITY and not _has_capability(_CAP_IPC_LOCK):
        return "limited", f"allowed now, but with {shown} a growing program is refused memory", advice
    return "ok", "the memory of a run can be locked", ""


def _has_capability(bit: int) -> bool:
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> bit & 1)


def _cpu_latency() -> _Answer:
    with real_time(_ASK_NOTHING.model_copy(update={"hold_cpu_awake": True})) as granted:
        answer = granted["hold_cpu_awake"]
    if answer == "in force":
        return "ok", f"{LATENCY_FILE} can be held at 0", ""
    if not LATENCY_FILE.exists():
        advice = "Run on the machine itself: containers and some kernels do not have this file."
        return "missing", f"there is no {LATENCY_FILE}", advice
    rule = 'KERNEL=="cpu_dma_latency", GROUP="realtime", MODE="0660"'
    advice = f"Put '{rule}' into /etc/udev/rules.d/99-realtime.rules, and add yourself to the group realtime."
    return "missing", f"{LATENCY_FILE} was {answer}", advice


def _processors() -> _Answer:
    usable = sorted(os.sched_getaffinity(0))
    isolated = _text("/sys/devices/system/cpu/isolated")
    observed = f"{os.cpu_count()} processors, this process may use {len(usable)}"
    if len(usable) == 1 and not isolated:
        return (
            "limited",
            observed,
            "Give it two processors or more: the recorder competes with the loop for this one.",
        )
    if not isolated:
        last = usable[-1]
        advice = f"Boot with isolcpus={last} nohz_full={last} and set loop.cpu={last}: no other process on that core."
        return "limited", f"{observed}, none is isolated", advice
    return "ok", f"{observed}, isolated: {isolated} (set loop.cpu to one of them)", ""


def _kernel() -> _Answer:
    release, version = platform.release(), platform.version()
    if _text("/sys/kernel/realtime") == "1" or "PREEMPT_RT" in version:
        return "ok", f"{release}, fully preemptible (PREEMPT_RT)", ""
    kind = next((k for k in ("PREEMPT_DYNAMIC", "PREEMPT") if k in version), "no PREEMPT in its version")
    processor = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    advice = f"Install a real-time kernel (Debian: apt install linux-image-rt-{processor}) if late ticks matter."
    return "limited", f"{release}, {kind}", advice


def _timer() -> _Answer:
    plain = best = _wake_ups()
    observed = f"late by {_percentiles(plain)} (median / 99 % / max)"
    asked = _ASK_NOTHING.model_copy(update={"priority": _PRIORITY, "hold_cpu_awake": True})
    with real_time(asked) as granted:
        words = {"priority": f"priority {_PRIORITY}", "hold_cpu_awake": "processors held awake"}
        in_force = [words[name] for name in words if granted[name] == "in force"]
        if in_force:
            best = _wake_ups()
    if in_force:
        observed += f"; with {' and '.join(in_force)} {_percentiles(best)}"
    if np.percentile(best, 99) <= _LATE:
        return "ok", observed, ""
    if len(in_force) < len(words):
        return "limited", observed, "Follow the advice for priority and cpu latency first: they shorten these delays."
    advice = "Reduce load and power saving (also on the host of a virtual machine), and set loop.spin_s = 0.0002."
    return "limited", observed, advice


def _wake_ups(n: int = 500, period: float = 1e-3) -> Array:
    """Wake-up delay after each of n deadlines [s]."""
    clock = RealClock()
    clock.start()
    return np.array([clock.wait_until(i * period) for i in range(1, n + 1)])


def _percentiles(delays: Array) -> str:
    return " / ".join(f"{us:.0f}" for us in np.percentile(delays, (50, 99, 100)) * 1e6) + " us"


def _cyclictest() -> _Answer:
    path = shutil.which("cyclictest")
    if path is None:
        return "missing", "not installed", "Install it to measure the kernel alone (apt install rt-tests)."
    return "ok", path, ""


def _serial_ports() -> _Answer:
    from serial.tools.list_ports import comports

    ports = sorted(comports())
    if not ports:
        return "missing", "none", "Plug in the boards; simulated devices need no port."
    observed = ", ".join(
        f"{port.device} ({port.description})" if port.description not in (None, "", "n/a") else port.device
        for port in ports
    )
    closed = [port.device for port in ports if not os.access(port.device, os.R_OK | os.W_OK)]
    if closed:
        advice = "Add yourself to the group dialout (sudo usermod -aG dialout $USER) and log in again."
        return "limited", f"{observed}; no permission to open: {', '.join(closed)}", advice
    return "ok", observed, ""


def _space(folder: Path, wanted: float) -> _Answer:
    if not folder.is_dir():
        return "missing", f"there is no {folder}", f"Mount it with at least {_amount(wanted)}."
    free = shutil.disk_usage(folder).free
    observed = f"{_amount(free)} free in {folder}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            "limited",
            f"{observed}, but it can't be written",
            "Write elsewhere, or get write permission there.",
        )
    if free < wanted:
        return "limited", observed, f"Free some space: expected at least {_amount(wanted)}."
    return "ok", observed, ""


def _amount(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
