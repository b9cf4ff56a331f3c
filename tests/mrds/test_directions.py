"""Independence of constraints in the metric of the mass matrix."""

from __future__ import annotations

import numpy as np
import pytest

from granite.mrds.contacts.directions import Directions


def test_orthogonal_constraints_are_independent_and_their_scale_means_nothing() -> None:
    M, A = np.diag([1.0, 4.0, 9.0]), np.array([[1.0, 0.0, 0.0], [0.0, 1e-5, 0.0]])
    assert Directions.of(M, A).independence == pytest.approx(1.0)


def test_independence_of_two_constraints_follows_the_angle_between_them() -> None:
    """Singular values of two unit vectors at an angle a: sqrt(1 + cos a) and sqrt(1 - cos a)."""
    angle = 0.3
    directions = Directions.of(np.eye(2), np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]]))
    assert directions.independence == pytest.approx(np.tan(angle / 2))


def test_the_angle_is_measured_in_the_metric_of_the_masses() -> None:
    M, A = np.diag([1.0, 100.0]), np.array([[1.0, 0.0], [1.0, 1.0]])
    # L^-1 A^T has the columns (1, 0) and (1, 0.1).
    assert Directions.of(M, A).independence == pytest.approx(np.tan(np.arctan(0.1) / 2))


def test_a_repeated_constraint_is_entangled_and_the_other_is_not() -> None:
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    directions = Directions.of(np.eye(3), A)
    assert directions.independence == pytest.approx(0.0, abs=1e-15)
    assert directions.entangled().tolist() == [True, False, True]


def test_a_constraint_that_cannot_move_is_entangled() -> None:
    directions = Directions.of(np.eye(2), np.array([[1.0, 0.0], [0.0, 1e-14]]))
    assert directions.entangled().tolist() == [False, True]


def test_no_constraints_are_independent() -> None:
    assert Directions.of(np.eye(2), np.zeros((0, 2))).independence == 1.0
