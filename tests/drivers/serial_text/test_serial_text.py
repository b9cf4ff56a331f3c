"""Lines of numbers on a serial port: frames and their time, answers, stops, damage, silence, refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import reduce
from operator import xor

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.device_set import DeviceSet
from granite.rt.devices import build_subset
from tests.support.text_peer import TextPeer, text_peer

TICK_S = 0.005


def devices_of(peer: TextPeer, drivers: dict[str, dict[str, object]]) -> DeviceSet:
    changes: dict[str, object] = {"devices.gyro": {}}
    for name, options in drivers.items():
        changes[f"devices.{name}.driver"] = {"kind": "serial_text", "port": peer.port, **options}
    devices, _ = build_subset(granite.load("free-flyer", changes), list(drivers), [])
    return devices


def until(devices: DeviceSet, is_there: Callable[[], bool], t: float = 0.0) -> None:
    """Read at the same tick until something has arrived."""
    end = time.monotonic() + 30
    while not is_there():
        assert time.monotonic() < end, "it did not arrive"
        devices.read(t)


def with_sum(line: bytes) -> bytes:
    return line + b"*%02X\n" % reduce(xor, line)


def gyro(peer: TextPeer, **options: object) -> DeviceSet:
    """The gyro, open, its first lines read."""
    devices = devices_of(peer, {"gyro": options})
    devices.open()
    peer.answer = lambda _: b""
    time.sleep(0.03)
    for t in (-2 * TICK_S, -TICK_S):
        devices.read(t)
    return devices


def test_a_line_is_a_frame_with_scale_offset_and_delay() -> None:
    with text_peer(lambda _: b"5\r\n") as peer:
        devices = gyro(peer, scale=[0.01], offset=[0.5], delay_s=0.002)
        before = devices.read(0.0).frames[0]
        peer.send(b"12.5\r\n")
        until(devices, lambda: devices.read(TICK_S).frames[0].number > before.number)
        frame = devices.read(TICK_S).frames[0]
        assert frame.values == pytest.approx([0.625])
        assert frame.t == pytest.approx(TICK_S - 0.002)
        assert frame.status == Status.OK
        assert devices.read(2 * TICK_S).frames[0] is frame  # no new line
        assert "lines of 1 numbers on /dev/pts" in devices.identity("gyro")
        devices.close()


def test_a_clock_in_the_lines_gives_their_time_and_shows_lines_that_come_again() -> None:
    with text_peer(lambda _: b"1000 0\n") as peer:
        devices = gyro(peer, clock_s=0.001)
        number = devices.read(0.0).frames[0].number
        for k in range(1, 40):
            peer.send(b"%d 0.25\n" % (2**32 - 100 + 5 * k if k < 20 else 5 * k - 100))  # it starts again at 2^32
            until(devices, lambda: devices.read(k * TICK_S).frames[0].number == number + k)  # noqa: B023
        frame = devices.read(k * TICK_S).frames[0]
        assert frame.t == pytest.approx(k * TICK_S, abs=1e-6)
        unknown = devices_counts(devices)["unknown"]
        peer.send(b"%d 0.25\nx\n" % (5 * k - 100))
        until(devices, lambda: devices_counts(devices)["unknown"] > unknown, k * TICK_S)
        assert devices.read((k + 9) * TICK_S).frames[0] is frame
        devices.close()


def test_a_late_line_has_the_time_of_its_measurement_and_an_older_one_is_no_frame() -> None:
    with text_peer(lambda _: b"1000 0\n") as peer:
        devices = gyro(peer, clock_s=0.001)

        def after(k: int, line: bytes) -> granite.Frame:
            devices.read((k - 1) * TICK_S)
            received = devices_counts(devices)["received"]
            peer.send(line)
            until(devices, lambda: devices_counts(devices)["received"] > received, k * TICK_S)
            return devices.read(k * TICK_S).frames[0]

        for k in range(1, 20):
            usual = after(k, b"%d 0.25\n" % (2000 + 5 * k))
        assert usual.t == pytest.approx(19 * TICK_S, abs=1e-6)
        late = after(27, b"2100 0.5\n")  # measured at tick 20: seven ticks before
        assert (late.number, late.t) == (usual.number + 1, pytest.approx(20 * TICK_S, abs=1e-5))
        assert devices_counts(devices)["late"] == 0
        later = after(47, b"2110 0.75\n")  # of tick 22, and later than a line may be
        assert (later.t, later.values.tolist()) == (pytest.approx(22 * TICK_S, abs=1e-5), [0.75])
        assert devices_counts(devices)["late"] == 1
        assert after(48, b"2105 1.0\n") is later  # overtaken
        devices.close()


def test_late_answers_have_the_time_of_their_line_and_too_late_ones_are_silence() -> None:
    lines: list[bytes] = []

    def delayed(line: bytes) -> bytes:
        if line:
            lines.append(line)
        return lines.pop(0) + b"\n" if line and len(lines) > lateness else b""

    lateness, began = 0, 400
    with text_peer(delayed) as peer:
        devices = devices_of(peer, {"motors": {}})
        devices.open()
        devices.read(0.0)
        for k in range(began, began + 120):
            lateness = (0, 2, 40)[(k - began) // 40]
            heard = len(peer.heard)
            devices.write(k * TICK_S, granite.Command(0.0, (np.array([k / 1024, 0.0]),), np.zeros(0)))
            until(devices, lambda: len(peer.heard) > heard, k * TICK_S)  # noqa: B023
            time.sleep(0.002)
            applied = devices.read((k + 1) * TICK_S).applied[0]
            if applied.values[0]:
                assert applied.t == pytest.approx(round(1024 * applied.values[0]) * TICK_S)
            assert applied.status == (Status.SILENT if k > 500 else Status.OK) or 479 < k < 501
            assert k > 478 or applied.t >= (k - 4) * TICK_S
        assert 30 < devices_counts(devices)["late"] < 60
        lateness = 0
        lines.clear()
        assert devices.stop(520 * TICK_S, paced=True) == {}
        assert peer.heard[-1] == b"0 0"
        devices.close()


def devices_counts(devices: DeviceSet) -> dict[str, float]:
    (history,) = devices.links().values()
    return {key: values[-1] for key, values in history.items()}


def test_a_thousand_hostile_lines_are_counted_and_never_become_a_frame() -> None:
    with text_peer(lambda _: with_sum(b"1")) as peer:
        devices = gyro(peer, check_sum=True)
        frame, rng = devices.read(0.0).frames[0], np.random.default_rng(1)
        for _ in range(1000):
            line = bytearray(with_sum(b"1.25"))
            line[rng.integers(len(line) - 1)] ^= 1 << rng.integers(7)
            peer.send(bytes(rng.integers(0, 256, rng.integers(0, 8), dtype=np.uint8)) + bytes(line))
            devices.read(TICK_S)
        peer.send(b"2" * 600 + b"\n" + b"nan\n1.25\n1 2*00\n\xff\n*\n" + with_sum(b"7"))
        until(devices, lambda: devices.read(TICK_S).frames[0].number > frame.number)
        assert devices.read(TICK_S).frames[0].values == [7.0]
        assert devices_counts(devices)["malformed"] + devices_counts(devices)["unknown"] > 900
        devices.close()


def test_an_actuator_is_answered_stopped_and_confirmed() -> None:
    with text_peer(lambda line: line + b"\n" if line else b"") as peer:
        devices = devices_of(peer, {"motors": {"label": "tau", "scale": [0.5, 0.5]}})
        devices.open()
        command = granite.Command(0.0, (np.array([0.5, -0.25]),), np.zeros(0))
        devices.write(0.0, command)
        until(devices, lambda: bool(devices.read(TICK_S).applied[0].values.any()), TICK_S)
        assert devices.read(TICK_S).applied[0].values.tolist() == [0.5, -0.25]
        assert b"tau 1 -0.5" in peer.heard
        assert devices.stop(TICK_S, paced=True) == {}
        assert peer.heard[-1] == b"tau 0 0"
        devices.close()
        peer.answer = lambda _: b""
        assert "expected lines of 2 numbers after 'tau' as the answer to each line with set points" in refusal(
            peer, {"motors": {"label": "tau", "patience_s": 0.1}}
        )


def test_a_silent_actuator_a_fault_and_an_unplugged_port_are_statuses_and_no_stop_is_confirmed() -> None:
    with text_peer(lambda line: b"0 0\n" if line else b"") as peer:
        devices = devices_of(peer, {"motors": {}})
        devices.open()
        command = granite.Command(0.0, (np.array([0.1, 0.0]),), np.zeros(0))
        devices.read(0.0)
        peer.answer = lambda _: b"!\n"
        devices.write(0.0, command)
        until(devices, lambda: devices.read(TICK_S).applied[0].status == Status.BROKEN, TICK_S)
        peer.answer = lambda _: b"0 0\n"
        devices.write(0.0, command)
        until(devices, lambda: devices.read(TICK_S).applied[0].status == Status.OK, TICK_S)
        peer.answer = lambda _: b""
        assert devices.read(2.0).applied[0].status == Status.SILENT
        peer.answer = lambda line: b"0.5 0\n" if line else b""
        assert "motors" in devices.stop(2.0, paced=True)  # it answers, but not with zeros
        peer.unplug()
        assert devices.read(2.1).applied[0].status == Status.SILENT
        assert devices_counts(devices)["lost"] == 1
        devices.close()


def refusal(peer: TextPeer, drivers: dict[str, dict[str, object]]) -> str:
    with pytest.raises(InputError) as refused:
        devices_of(peer, drivers).open()
    return str(refused.value)


def test_what_can_not_be_used_is_refused_in_one_sentence() -> None:
    with text_peer(lambda _: b"hello 3\n") as peer:
        patience = {"patience_s": 0.1}
        assert "it sends 'hello 3', expected lines of 1 number" in refusal(peer, {"gyro": patience})
        assert "scale = [1.0, 2.0]: expected 1 numbers" in refusal(peer, {"gyro": {"scale": [1.0, 2.0]}})
        assert "numbers other than zero" in refusal(peer, {"gyro": {"scale": [0.0]}})
        assert "the same label" in refusal(peer, {"gyro": {}, "motors": {}})
        assert "expected a sensor with it" in refusal(peer, {"motors": {"clock_s": 0.001}})
        peer.answer = lambda _: b""
        devices = devices_of(peer, {"gyro": patience})
        with pytest.raises(InputError, match="nothing is received"):
            devices.open()
