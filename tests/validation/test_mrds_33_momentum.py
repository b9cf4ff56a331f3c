"""Bonaventura 2002, acceptance test 33: what two floating modules do to each other leaves their momentum alone."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.peers.random_trees import random_module
from tests.support.random_systems import Referee, random_states
from tests.validation.claims import Claims


def test_mrds33_inner_torques_and_contact_forces_keep_linear_and_angular_momentum(
    monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    a, b = (
        random_module(seed, "spatial", "floating", 3).model_copy(update={"name": name, "gravity_m_s2": (0.0, 0.0, 0.0)})
        for seed, name in ((1, "a"), (2, "b"))
    )
    sides = Side(module="a", point="point0"), Side(module="b", point="point0")
    system = System([a, b], [Contact(name="hold", kind="soft_finger", first=sides[0], second=sides[1])])
    closed = system.contact_set()
    referee = Referee(system, closed)
    q, u, _ = random_states(system, 3)
    q[0:3], q[10:13] = 0.0, 0.0
    q, u = closed.project(q, 0.2 * u)
    assert np.abs(closed.errors(q, u)[0]).max() < 1e-11
    before = referee.momentum(q, u)
    rng = np.random.default_rng(4)
    torque = np.zeros(system.n_u)
    torque[[6, 7, 8, 15, 16, 17]] = 0.3 * rng.normal(size=6)
    moment = 0.2 * rng.normal(size=closed.n_free)
    q_before = q.copy()
    for _ in range(1000):
        q, u = closed.rk4(q, u, torque, 5e-4, free_force=moment)
    assert np.abs(q - q_before).max() > 0.01
    change = np.abs(referee.momentum(q, u) - before).max() / np.abs(before).max()
    claims.below("MRDS 33", "change of momentum of two floating modules, relative", 1e-10, change)
