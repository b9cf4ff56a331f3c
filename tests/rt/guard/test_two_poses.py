"""Two sensors of the pose of one base: a bad one is named and left out, two that contradict each other are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite
from granite.kernels.c_compiler import find_compiler
from tests.support.compiled_runs import assert_equal_to_the_bit

SECOND = {"rate_hz": 25.0, "latency_s": 0.11, "position_noise_m": 1e-3, "heading_noise_rad": 2e-3}
BOTH = {"devices.second": {"kind": "vision", **SECOND}}


def offset(at_s: float, device: str, unit: str, value: float, duration_s: float | None) -> dict[str, Any]:
    event = {"at_s": at_s, "kind": "fault", "device": device, "what": "offset", "unit": unit, "value": value}
    return event if duration_s is None else {**event, "duration_s": duration_s}


def flight(seed: int, duration_s: float, **changes: Any) -> granite.Log:
    named = {key.replace("__", "."): value for key, value in changes.items()}
    return granite.simulate(granite.load("free-flyer", {"loop.duration_s": duration_s, "seed": seed, **named}))


def test_a_biased_pose_is_named_and_left_out_while_another_one_is_used() -> None:
    log = flight(
        1,
        4.0,
        devices__second=BOTH["devices.second"],
        simulation__events=[offset(3.0, "vision", "base_x_m", 0.02, 0.5)],
    )
    assert log.summary["ended"] == "completed"
    refused = [event for event in log.events if event["name"] == "measurement_refused"]
    assert refused
    assert "vision" in str(refused[0])
    assert "second" not in str(refused)
    late = log.t > 3.0
    assert np.abs(log["/state"].base_x_m - log["/truth"].base_x_m)[late].max() < 2e-3


def test_poses_that_contradict_each_other_from_the_start_end_the_run_by_name() -> None:
    contradiction = [offset(0.0, "second", "base_x_m", 0.05, None)]
    log = flight(1, 4.0, devices__second=BOTH["devices.second"], simulation__events=contradiction)
    assert log.summary["ended"] == "sensor_outliers"


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "value"), [("base_x_m", 0.02), ("base_heading_rad", 1.57)])
def test_the_error_is_that_of_the_good_one_alone(unit: str, value: float) -> None:
    """Ten seeds, the two seconds of the fault: within 1.2."""
    coordinates = "base_x_m", "base_y_m", "base_heading_rad"

    def rms(**changes: Any) -> Any:
        squares = []
        for seed in range(100, 110):
            log = flight(seed, 9.0, **changes)
            assert log.summary["ended"] == "completed"
            during = (log.t > 6.0) & (log.t < 8.0)
            errors = [(getattr(log["/state"], c) - getattr(log["/truth"], c))[during] for c in coordinates]
            squares.append(np.mean(np.square(errors), axis=1))
        return np.sqrt(np.mean(squares, axis=0))

    alone = rms(devices__vision={"kind": "vision", **SECOND})
    fused = rms(devices__second=BOTH["devices.second"], simulation__events=[offset(6.0, "vision", unit, value, 2.0)])
    assert (fused < 1.2 * alone).all(), (fused, alone)


def test_a_swap_before_the_estimate_has_settled_is_left_out_with_the_bits_of_the_loop() -> None:
    changes = {"simulation.events": [offset(0.4, "vision", "base_x_m", 0.3, 0.3)], "loop.duration_s": 1.5}
    bed = granite.load("free-flyer", changes)
    if find_compiler() is not None:
        assert_equal_to_the_bit(bed)
    log = granite.simulate(bed)
    assert log.summary["ended"] == "completed"
    assert np.abs(log["/state"].base_x_m - log["/truth"].base_x_m)[log.t > 0.2].max() < 2e-3
