"""Checks before a run: they pass on healthy devices, arm nothing, and name what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import granite
from granite.config.records import Frame, Sample, Status
from granite.controllers.stack import build_stack
from granite.rt.checks.preflight import preflight
from granite.rt.checks.preflight_checks import CheckResult, actuator_findings, agreement, sensor_findings
from granite.rt.devices import build_devices
from granite.rt.loop.clock import RealClock, VirtualClock
from granite.rt.rehearsal.rehearsal import rehearsal
from tests.firmware.emulated import need

BED = granite.load("free-flyer")


def failed(findings: Iterator[CheckResult] | list[CheckResult]) -> dict[tuple[str, str], str]:
    return {(finding.device, finding.check): finding.text for finding in findings if not finding.passed}


def test_healthy_boards_pass_and_stay_latched():
    need("cc")
    with rehearsal(BED, 1.0) as outside:
        findings = preflight(BED, outside.build_devices(), RealClock())
        assert outside.outputs()[:, 1].tolist() == [1.0]
        assert outside.truth(0.0).t == 0.0
    assert failed(findings) == {}
    seen = {(finding.device, finding.check) for finding in findings}
    assert {("joint_sensors", "rate"), ("vision", "fresh"), ("thrusters", "at rest"), ("sensors", "agree")} <= seen
    texts = [finding.text for finding in findings if finding.device == "motors"]
    assert texts[0] == "board 'rehearsal-1', firmware 1.1.0, 14 channels"


def test_a_device_that_can_not_be_opened_is_named_and_the_others_are_closed():
    driver = {"kind": "board", "port": "/dev/ttyNONE", "board": "b"}
    bed = granite.load("free-flyer", {"devices.motors.driver": driver})
    simulate = ["vision", "joint_sensors", "thrusters"]
    findings = preflight(bed, build_devices(bed, simulate)[0], VirtualClock())
    assert list(failed(findings)) == [("motors", "describes itself")]
    assert "no such port" in failed(findings)["motors", "describes itself"]
    assert len(findings) == len(bed.devices)


def test_a_device_that_does_not_close_fails_its_check_and_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    bed = granite.load("free-flyer", {"loop.stop_timeout_s": 0.1})
    devices, _ = build_devices(bed, list(bed.devices))
    waits = threading.Event()
    monkeypatch.setattr(devices.all()["motors"], "close", waits.wait)
    findings = preflight(bed, devices, VirtualClock())
    waits.set()
    assert failed(findings) == {("motors", "closes"): "it did not return in 0.1 s"}


def observed(change: Any = lambda k, sample: sample, seconds: float = 1.5) -> list[Sample]:
    """Samples of a still free-flyer with perfect knowledge of time."""
    random = np.random.default_rng(1)
    joints, vision = BED.devices["joint_sensors"], BED.devices["vision"]
    noise = np.array([joints.angle_noise_rad] * 2 + [joints.rate_noise_rad_s] * 2)
    seen = np.array([vision.position_noise_m] * 2 + [vision.heading_noise_rad])
    applied = tuple(Frame(0.0, 0, Status.NO_FRAME, np.zeros(n)) for n in (2, 8))
    samples = []
    pose = Frame(0.0, 0, Status.NO_FRAME, np.full(3, np.nan))
    for k in range(round(seconds / 0.005)):
        t = 0.005 * k
        if t >= (pose.number + 1) / 60 + 0.03:
            values = np.array([1.0, 0.8, 0.0]) + seen * random.standard_normal(3)
            pose = Frame((pose.number + 1) / 60, pose.number + 1, Status.OK, values)
        values = np.array([0.4, 0.9, 0.0, 0.0]) + noise * random.standard_normal(4)
        samples.append(change(k, Sample(t, (Frame(t, k + 1, Status.OK, values), pose), applied)))
    return samples


def changed_joints(**changes: Any) -> Any:
    """Change the frames of the joint sensors: new values, or a function of tick and frame."""

    def change(k: int, sample: Sample) -> Sample:
        joints, pose = sample.frames
        made = {key: value(k, joints) if callable(value) else value for key, value in changes.items()}
        return sample._replace(frames=(joints._replace(**made), pose))

    return change


def test_a_still_robot_passes():
    samples = observed()
    assert failed([*sensor_findings(BED, "joint_sensors", samples), *sensor_findings(BED, "vision", samples)]) == {}
    assert failed(agreement(BED, build_stack(BED).estimator, samples)) == {}


@pytest.mark.parametrize(
    ("changes", "check", "words"),
    [
        ({"number": 0, "status": Status.NO_FRAME}, "answers", "no frame, status NO_FRAME"),
        ({"t": lambda k, frame: frame.t - 0.2}, "fresh", "at most 200.0 ms old, limit 50 ms"),
        ({"number": lambda k, frame: 1 + k // 4}, "rate", "data sheet 200"),
        ({"values": np.array([np.nan, 0.9, 0.0, 0.0])}, "plausible at rest", "shoulder_angle is nan"),
        ({"values": np.array([0.4, 0.9, 0.0, 0.0])}, "plausible at rest", "shoulder_angle stays at 0.4 without any"),
        (
            {"values": lambda k, frame: np.add(frame.values, (0.001 * k, 0, 0, 0))},
            "plausible at rest",
            "shoulder_angle moves by 0.2 rad/s, at rest at most 0.1",
        ),
        (
            {"values": lambda k, frame: np.add(frame.values, (0, 0, 0.3, 0))},
            "plausible at rest",
            "shoulder_rate moves by 0.3",
        ),
        (
            {"values": lambda k, frame: np.add(frame.values, (9.0, 0, 0, 0))},
            "plausible at rest",
            "shoulder_angle is 9.4 rad",
        ),
    ],
)
def test_a_sensor_that_is_not_well_is_named(changes: dict[str, Any], check: str, words: str):
    findings = failed(sensor_findings(BED, "joint_sensors", observed(changed_joints(**changes))))
    assert list(findings) == [("joint_sensors", check)]
    assert words in findings["joint_sensors", check]


def test_a_pose_off_the_table_is_named():
    def change(k: int, sample: Sample) -> Sample:
        joints, pose = sample.frames
        return sample._replace(frames=(joints, pose._replace(values=np.add(pose.values, (0.0, 50.0, 0.0)))))

    findings = failed(sensor_findings(BED, "vision", observed(change)))
    assert "base_y is 50.8 m, the table is from" in findings["vision", "plausible at rest"]


def test_an_angle_and_a_rate_that_contradict_each_other_do_not_agree():
    rates = changed_joints(
        values=lambda k, frame: np.add(frame.values, (0, 0, 0.08, 0))
    )  # not beyond the limit of rest
    findings = failed(agreement(BED, build_stack(BED).estimator, observed(rates)))
    assert list(findings) == [("sensors", "agree")]
    assert "joint_sensors shoulder_angle differs by" in findings["sensors", "agree"]


@pytest.mark.slow
def test_pose_and_joints_that_leave_a_gap_in_a_closed_contact_do_not_agree():
    bed = granite.load("fixed-dual-arm/carry")
    devices, _ = build_devices(bed)
    ticks = [devices.read(0.005 * k) for k in range(100)]

    def moved(sample: Sample) -> Sample:
        joints, pose = sample.frames
        return sample._replace(frames=(joints, pose._replace(values=np.add(pose.values, (0.05, 0.0, 0.0)))))

    gaps = [failed(agreement(bed, build_stack(bed).estimator, samples)) for samples in (ticks, list(map(moved, ticks)))]
    assert ("contacts", "agree") not in gaps[0]
    assert "pose and joints leave a gap of " in gaps[1]["contacts", "agree"]


def test_an_actuator_that_is_silent_or_acts_is_named():
    silent = Frame(0.0, 0, Status.SILENT, np.zeros(2))
    acting = Frame(0.0, 7, Status.OK, np.array([0.0, 0.5]))
    assert failed(actuator_findings(BED, "motors", [silent])) == {("motors", "answers"): "no report, status SILENT"}
    assert failed(actuator_findings(BED, "motors", [acting])) == {("motors", "at rest"): "applies at most 0.5"}
    assert failed(actuator_findings(BED, "motors", [None])) == {}
