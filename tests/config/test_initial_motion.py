"""The configured start: values by key, zero elsewhere, and quaternions of unit length."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.start import initial_motion
from tests.support.jointed_beds import box_in_space


def test_what_is_named_starts_there_and_the_rest_at_zero() -> None:
    bed = load("free-flyer")
    key = bed.positions[0].key
    q, u = initial_motion(load("free-flyer", [f"simulation.initial.{key}=0.25"]))
    assert q[0] == 0.25
    assert (len(q), len(u)) == (len(bed.positions), len(bed.velocities))


@pytest.mark.parametrize(
    ("given", "expected"), [({}, [1, 0, 0, 0]), ({"body_qw": 3.0, "body_qz": 4.0}, [0.6, 0.0, 0.0, 0.8])]
)
def test_a_quaternion_is_normalised_and_without_rotation_where_none_is_given(given: dict, expected: list) -> None:
    bed = box_in_space()
    keys = {c.name: c.key for c in bed.positions}
    initial = {next(key for name, key in keys.items() if name.endswith(end)): v for end, v in given.items()}
    start = bed.model_copy(update={"simulation": bed.simulation.model_copy(update={"initial": initial})})
    q, _ = initial_motion(start)
    np.testing.assert_allclose(q[[i for i, c in enumerate(bed.positions) if c.unit == "1"]], expected)
