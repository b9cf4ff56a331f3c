"""A target on the hand: offsets of joint sensors are found, and disappear from the error of the hand."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed as Bed
from granite.kernels.c_compiler import find_compiler
from granite.mrds.kinematics import Kinematics
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit

#: drawn for nothing else
SEEDS = range(7001, 7009)
#: ticks of the last 5 s
LAST = 1000


class Hand:
    """Errors of the tip of the arm over the last 5 s of a run, and what was estimated at its end."""

    def __init__(self, bed: Bed, module: str = "vehicle") -> None:
        log = simulate_in_memory(bed, keep=False)
        rows, motion = log.rows[-LAST:], Kinematics(bed, bed.layout)
        tip = ca.Function("tip", [motion.q], [motion.point(module, "tip").position[:2]]).map(len(rows))

        def entries(topic: str, entry: str) -> Any:
            return rows[:, log.channels.columns(topic, entry)]

        self.q, self.true_q = entries("/state", "q"), entries("/truth", "q")
        seen, true, wanted = (np.array(tip(q.T)).T for q in (self.q, self.true_q, entries("/reference", "q")))
        #: mean square of the estimated hand from the true one, and of the true one from its reference [m2]
        self.estimate, self.control = (np.square(path - true).sum(axis=1).mean() for path in (seen, wanted))
        self.deviation, self.bias = entries("/state", "deviation"), entries("/state", "bias")[-1]


@pytest.mark.slow
def test_the_hand_is_where_its_target_says_and_not_where_offset_angles_say() -> None:
    plain, seen = (
        [Hand(load(name, {"seed": seed})) for seed in SEEDS] for name in ("free-flyer", "free-flyer/hand-target")
    )
    estimate, control = (
        [1e3 * np.sqrt(np.mean([getattr(hand, error) for hand in hands])) for hands in (plain, seen)]
        for error in ("estimate", "control")
    )
    assert estimate[1] < 0.3 < 0.5 < estimate[0]
    assert control[1] < 0.6 * control[0]
    squares = np.mean([(((hand.q - hand.true_q) / hand.deviation) ** 2).mean(axis=0) for hand in seen], axis=0)
    assert ((squares > 0.4) & (squares < 1.6)).all(), squares


def test_a_run_with_a_target_on_the_hand_has_the_bits_of_the_loop() -> None:
    if find_compiler() is None:
        pytest.skip("compiled runs need a C compiler")
    assert_equal_to_the_bit(load("free-flyer/hand-target", ["loop.duration_s=1.5"]))


TARGET = {"kind": "vision", "module": "left", "point": "tip", "rate_hz": 100.0, "latency_s": 0.02}
CAMERA = {"devices": {"eye": {**TARGET, "position_noise_m": 2e-4, "heading_noise_rad": 1e-3}}}


@pytest.mark.slow
def test_offsets_of_a_fixed_arm_are_found_too() -> None:
    offsets = {"left_shoulder": 2e-3, "left_elbow": -1.5e-3}
    changes: list[Any] = [
        *(f"devices.eye.{key}={value}" for key, value in CAMERA["devices"]["eye"].items()),
        *(f"devices.joint_sensors.simulated.offset_rad.{joint}={value}" for joint, value in offsets.items()),
        "devices.joint_sensors.angle_offset_rad=1.5e-3",
        "loop.duration_s=5",
    ]
    bed = load("fixed-dual-arm/pick-and-place", changes)
    hand = Hand(bed, "left")
    known = [c.name for c in bed.known.positions]
    difference = hand.q[-1] - hand.true_q[-1]
    for joint, offset in offsets.items():
        assert abs(difference[known.index(joint)]) < 3e-4
        signal = [c.name for device in bed.sensors.values() for c in device.signals(bed)].index(f"{joint}_angle")
        assert hand.bias[signal] == pytest.approx(offset, abs=3e-4)
    assert np.sqrt(hand.estimate) < 2e-4


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"point": "tipp"}, "devices.hand.point", "no such point"),
        ({"point": None, "body": "forarm"}, "devices.hand.body", "no such body"),
        ({"body": "base"}, "devices.hand.body", "'forearm', which has the point 'tip'"),
        ({"module": "vehicel"}, "devices.hand.module", "no module of that name floats"),
        ({"simulated.swaps": {"per_s": 1.0, "duration_s": 1.0, "module": "x"}}, "devices.hand.simulated.swaps.module",
         "because it sees a target"),
    ],
)  # fmt: skip
def test_a_target_on_what_does_not_exist_is_refused_in_one_sentence(
    changes: dict[str, Any], key: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as refusal:
        load("free-flyer/hand-target", {f"devices.hand.{name}": value for name, value in changes.items()})
    assert refusal.value.key == key


def test_a_target_on_a_body_that_is_fixed_is_refused() -> None:
    with pytest.raises(InputError, match="the body is fixed"):
        load(
            "fixed-dual-arm/pick-and-place",
            ["devices.eye.kind=vision", "devices.eye.module=left", "devices.eye.body=ground"],
        )


@pytest.mark.slow
def test_a_camera_finds_targets_on_the_hand_in_its_frames() -> None:
    """Two patterns in the frames of two rendered cameras: base and hand."""
    view = {"field_m": [0.0, 0.0, 3.66, 2.74], "electrons_per_count": 40.0, "rate_hz": 30.0}
    spots = [[0.0, 0.06], [-0.09, 0.0], [0.03, -0.07], [0.08, 0.02]]
    hand = {"kind": "camera", "point": "tip", **view, "targets": [{"position_m": spot} for spot in spots]}
    offsets = {"shoulder": 3e-3, "elbow": -2e-3}
    changes = {"devices.hand": hand, "devices.joint_sensors.simulated.offset_rad": offsets, "loop.duration_s": 6.0}
    bed = load("free-flyer/camera", {**changes, "devices.joint_sensors.angle_offset_rad": 2e-3})
    flown = Hand(bed)
    assert np.sqrt(flown.estimate) < 3e-4
    np.testing.assert_allclose((flown.q - flown.true_q)[-1, 3:], 0.0, atol=5e-4)
