"""Small symbolic vectors and rotations whose zeros are structural, so that planar motion costs only what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import casadi as ca


def vector(entries: Iterable[float | ca.SX]) -> ca.SX:
    """A 3-vector; plain zeros become structural."""
    column = ca.SX(3, 1)
    for i, entry in enumerate(entries):
        if not (isinstance(entry, (int, float)) and entry == 0):
            column[i] = entry
    return column


def rotation(axis: tuple[float, float, float], angle: float | ca.SX) -> ca.SX:
    """Rotation by `angle` about a unit axis (Rodrigues), sparse for the coordinate axes."""
    x, y, z = axis
    c, s = ca.cos(angle), ca.sin(angle)
    if abs(x) == 1:
        return _sparse([[1, 0, 0], [0, c, -x * s], [0, x * s, c]])
    if abs(y) == 1:
        return _sparse([[c, 0, y * s], [0, 1, 0], [-y * s, 0, c]])
    if abs(z) == 1:
        return _sparse([[c, -z * s, 0], [z * s, c, 0], [0, 0, 1]])
    v = 1 - c
    return _sparse(
        [
            [c + x * x * v, x * y * v - z * s, x * z * v + y * s],
            [x * y * v + z * s, c + y * y * v, y * z * v - x * s],
            [x * z * v - y * s, y * z * v + x * s, c + z * z * v],
        ]
    )


def rotation_of_angles(roll_pitch_yaw: tuple[float, float, float]) -> ca.SX:
    """Rz(yaw) Ry(pitch) Rx(roll) of given numbers, sparse where it can be."""
    roll, pitch, yaw = roll_pitch_yaw
    return ca.sparsify(rotation((0, 0, 1), yaw) @ rotation((0, 1, 0), pitch) @ rotation((1, 0, 0), roll))


def rotation_of_quaternion(quaternion: ca.SX) -> ca.SX:
    """Rotation of a unit quaternion (w, x, y, z)."""
    w, x, y, z = ca.vertsplit(quaternion)
    return _sparse(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rate_of_quaternion(quaternion: ca.SX, omega: ca.SX) -> ca.SX:
    """Time derivative of a quaternion whose body turns at omega, in body axes: half q times (0, omega)."""
    w, x, y, z = ca.vertsplit(quaternion)
    a, b, c = ca.vertsplit(omega)
    return 0.5 * ca.vertcat(-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a)


def crossed(a: ca.SX, columns: ca.SX) -> ca.SX:
    """a x each column."""
    return ca.horzcat(ca.SX(3, 0), *(ca.cross(a, column) for column in ca.horzsplit(columns)))


def rotated_inertia(R: ca.SX, inertia: ca.SX) -> ca.SX:
    """R I R^T of a symmetric I: one triangle of it is computed."""
    half = R @ inertia
    return _symmetric(lambda i, j: half[i, :] @ R[j, :].T)


def symmetric_product(a: ca.SX, b: ca.SX) -> ca.SX:
    """(a b^T + b a^T) / 2, each entry once."""
    return _symmetric(lambda i, j: a[i] * b[i] if i == j else 0.5 * (a[i] * b[j] + b[i] * a[j]))


def moment_of_inertia(squares: ca.SX) -> ca.SX:
    """Moment of inertia of masses from the sum of m p p^T over them."""
    return ca.trace(squares) * ca.SX.eye(3) - squares


def _symmetric(entry: Callable[[int, int], ca.SX]) -> ca.SX:
    matrix = ca.SX(3, 3)
    for i in range(3):
        for j in range(i + 1):
            value = entry(i, j)
            if value.nnz():
                matrix[i, j] = matrix[j, i] = value
    return matrix


def _sparse(rows: list[list[float | ca.SX]]) -> ca.SX:
    return ca.horzcat(*(vector(column) for column in zip(*rows, strict=True)))
