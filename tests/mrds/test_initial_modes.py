"""Modes of a testbed about its start."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.mrds.initial_vibration import initial_modes
from tests.support.jointed_beds import box_in_space

pytestmark = pytest.mark.usefixtures("interpreted")


def test_a_robot_that_floats_at_rest_is_in_equilibrium_and_has_rigid_body_modes_only() -> None:
    start = initial_modes(load("free-flyer"))
    assert start.complaint is None
    assert all(mode.rigid for mode in start.modes)
    assert len(start.modes) == len(load("free-flyer").velocities)


def test_the_accelerations_of_a_start_that_is_no_equilibrium_are_named() -> None:
    bed = load("flx-pendulum")
    key = next(c.key for c in bed.positions if c.unit == "rad")
    start = initial_modes(load("flx-pendulum", [f"simulation.initial.{key}=0.4"]))
    falls = {c.name: value for c, value in start.acceleration.items() if c.unit == "rad/s^2"}
    assert falls
    assert "no equilibrium" in str(start.complaint)
    assert max(falls, key=lambda name: abs(falls[name])) in str(start.complaint)
    assert len(start.as_json()["modes"]) == len(start.modes)


def test_a_start_off_its_contacts_is_refused() -> None:
    with pytest.raises(InputError, match=r"box: simulation\.initial: leaves contact 'grasp' off by"):
        initial_modes(box_in_space())


def test_contacts_may_be_left_open() -> None:
    modes = initial_modes(box_in_space(), closed=[]).modes
    assert np.isfinite([mode.frequency for mode in modes]).all()
