"""A rolling ball: its height is that of its radius, and it rolls without slipping."""

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.system import System
from tests.support.random_systems import plain_body

RADIUS = 0.2


@pytest.fixture
def ball(monkeypatch: pytest.MonkeyPatch) -> ContactSet:
    """A ball in space on the x-y plane of the ground."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    body = plain_body("ball", "spatial", {"centre": (0.0, 0.0, 0.0)}, (0.0, 0.0, -9.81))
    floor = Contact(
        name="floor", kind="rolling", first=Side(), second=Side(module="ball", point="centre"),
        parameters={"radius_m": RADIUS},
    )  # fmt: skip
    return System([body], [floor]).contact_set()


def pose(height: float) -> np.ndarray:
    return np.array([0.3, -0.1, height, 1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("height", [0.0, RADIUS, 0.5])
def test_the_gap_is_the_height_of_the_centre_above_the_radius(ball: ContactSet, height: float) -> None:
    gap, _ = ball.errors(pose(height), np.zeros(6))
    np.testing.assert_allclose(gap, [0.0, 0.0, height - RADIUS], atol=1e-15)


def test_it_rolls_where_its_centre_moves_by_the_radius_times_the_rate(ball: ContactSet) -> None:
    """Turning about +y moves it along +x, about +x along -y; about z it spins on the spot."""
    rolls = np.array([RADIUS * 2.0, -RADIUS * 3.0, 0.0, 3.0, 2.0, 5.0])
    np.testing.assert_allclose(ball.errors(pose(RADIUS), rolls)[1], 0, atol=1e-15)
    np.testing.assert_allclose(ball.errors(pose(RADIUS), rolls + np.eye(6)[0])[1], [1, 0, 0], atol=1e-15)
