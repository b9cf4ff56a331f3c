"""A simulated momentum wheel gives its torque up to its highest rate, and can always brake."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.sim.lab import Lab


def test_a_wheel_is_not_driven_beyond_its_rate_but_can_brake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    changes = {
        "contacts": [], "behaviour": {"kind": "waypoints"}, "controller": None, "devices.grips": None,
        "simulation.initial.wheel_rad_s": 99.0, "safety": {},
    }  # fmt: skip
    lab = Lab(load("leap/ideal", changes))
    wheel, u = lab.device("wheel"), lab.plant.bed.layout.joint_u("wheel")
    applied = []
    for k in range(40):
        applied.append(wheel.write(0.005 * k, np.array([0.5])).values.item())
    assert applied[0] == 0.5
    assert applied[-1] == 0.0
    assert 100.0 <= lab.plant.u[u] < 100.0 + 0.5 / 0.02 * 0.005 * 1.1
    assert wheel.write(0.2, np.array([-0.5])).values.item() == -0.5
    lab.plant.advance(0.3)
    assert lab.plant.u[u] < 99.0


def test_a_wheel_needs_a_rate() -> None:
    with pytest.raises(InputError, match="rate_limit_rad_s"):
        load("leap", {"devices.wheel.units": [{"joint": "wheel", "torque_limit_n_m": 0.5}]})
