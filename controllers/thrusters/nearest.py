"""The nearest wrench in reach: min |C f - w|^2 subject to 0 <= f <= a, by an active set that starts at a given point.

Stark & Parker, Bounded-variable least-squares: an algorithm and applications, Computational Statistics 10, 1995, after
Lawson & Hanson, Solving Least Squares Problems, 1974, chapter 23. A column is freed only where the residual is not
orthogonal to it, and the residual is orthogonal to all free ones: so the free columns stay linearly independent.

Plain numbers in a fixed order: `least_propellant.c` does the same operations, to the bit.
"""

from __future__ import annotations

from math import sqrt

#: part of the size of the problem below which a gradient is zero
_ZERO = 1e-12
#: changes of the active set per thruster; more is a failure
_CHANGES = 20


def nearest(columns: list[list[float]], available: list[float], wrench: list[float], thrust: list[float]) -> bool:
    """Move `thrust`, within its bounds, to the nearest wrench; False where the changes do not suffice.

    The columns of those between their bounds must be linearly independent at the start.
    """
    n, free = len(columns), []
    for j in range(n):
        if 0.0 < thrust[j] < available[j]:
            free.append(j)
    length, size = [], sqrt(_dot(wrench, wrench))
    for j in range(n):
        length.append(sqrt(_dot(columns[j], columns[j])))
        size += available[j] * length[j]
    for _ in range(_CHANGES * n):
        if free:
            best = _unbounded(columns, free, _residual(columns, thrust, wrench, free))
            part, blocking, bound = 1.0, -1, 0.0
            for i, j in enumerate(free):
                if best[i] < 0.0 or best[i] > available[j]:
                    limit = 0.0 if best[i] < 0.0 else available[j]
                    reached = (limit - thrust[j]) / (best[i] - thrust[j])
                    if reached <= part:
                        part, blocking, bound = reached, i, limit
            for i, j in enumerate(free):
                moved = best[i] if blocking < 0 else thrust[j] + part * (best[i] - thrust[j])
                thrust[j] = min(max(moved, 0.0), available[j])
            if blocking >= 0:
                thrust[free[blocking]] = bound
                free.remove(free[blocking])
                continue
        left = _residual(columns, thrust, wrench, [])
        steepest, chosen = _ZERO * size, -1
        for j in range(n):
            if j not in free:
                gain = _dot(columns[j], left) / length[j]
                gain = gain if thrust[j] <= 0.0 else -gain
                if gain > steepest:
                    steepest, chosen = gain, j
        if chosen < 0:
            return True
        if len(free) == len(wrench):
            return False
        free.append(chosen)
    return False


def _dot(a: list[float], b: list[float]) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def _residual(columns: list[list[float]], thrust: list[float], wrench: list[float], free: list[int]) -> list[float]:
    """The wrench less that of all thrusters but the free ones."""
    left = list(wrench)
    for j in range(len(columns)):
        if j not in free:
            for i in range(len(left)):
                left[i] -= columns[j][i] * thrust[j]
    return left


def _unbounded(columns: list[list[float]], free: list[int], left: list[float]) -> list[float]:
    """Least squares over the free columns without their bounds: modified Gram-Schmidt, and back-substitution."""
    k, directions = len(free), [list(columns[j]) for j in free]
    upper, solution = [[0.0] * k for _ in range(k)], [0.0] * k
    for i in range(k):
        own = directions[i]
        for before in range(i):
            upper[before][i] = _dot(directions[before], own)
            for row in range(len(own)):
                own[row] -= upper[before][i] * directions[before][row]
        upper[i][i] = sqrt(_dot(own, own))
        for row in range(len(own)):
            own[row] /= upper[i][i]
        solution[i] = _dot(own, left)
        for row in range(len(own)):
            left[row] -= solution[i] * own[row]
    for i in range(k - 1, -1, -1):
        for after in range(i + 1, k):
            solution[i] -= upper[i][after] * solution[after]
        solution[i] /= upper[i][i]
    return solution
