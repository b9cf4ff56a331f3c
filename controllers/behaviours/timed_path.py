"""A behaviour that is a path over time, as one function: our paths differ in a table and in the motion of its rows.

The path begins when the state is ready, at the pose that is estimated then. Until then the reference is the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.controllers.behaviours.braking import finite
from granite.controllers.behaviours.holds import hold_table
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicBehaviour
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import TimeTable, named_function


class PathMotion(NamedTuple):
    """The reference of a path."""

    q: ca.SX
    u: ca.SX
    a: ca.SX
    done: ca.SX


#: (time since the path began [s], pose where it began, row of its table, number of velocities) -> the reference
Motion = Callable[[ca.SX, ca.SX, ca.SX, int], PathMotion]


class TimedPath(SymbolicBehaviour):
    """A path, and the grips of the testbed over time.

    Parameters
    ----------
    model
        The controller's model.
    name, key
        Of the function, and what it follows from beside the numbers of coordinates.
    times, rows
        Of the table of the path: from when each row is in force [s since the path began].
    motion
        The reference that a row gives.
    """

    def __init__(self, model: ControlModel, name: str, key: str, times: Array, rows: Array, motion: Motion) -> None:
        holds, n_q, n_u = hold_table(model.bed), model.q.numel(), model.n
        sizes = n_q, n_u, rows.shape[1], holds.rows.shape[1]
        kernel = compile_once(name, f"{sizes} {key}", lambda: [_function(name, *sizes, motion)])[name]
        memory = {"start": np.zeros(n_q), "began": np.array([math.inf])}
        tables = {"path": TimeTable(times, rows, "began"), "holds": holds}
        super().__init__(model.bed, kernel, memory=memory, tables=tables)


def _function(name: str, n_q: int, n_u: int, n_row: int, n_direct: int, motion: Motion) -> ca.Function:
    t, ready, began = ca.SX.sym("t"), ca.SX.sym("ready"), ca.SX.sym("began")
    q, start, row, direct = (
        ca.SX.sym("q", n_q),
        ca.SX.sym("start", n_q),
        ca.SX.sym("row", n_row),
        ca.SX.sym("d", n_direct),
    )
    is_begun = began < math.inf
    begins, follows = ca.logic_and(ready, ca.logic_not(is_begun)), ca.logic_or(ready, is_begun)
    began_after, start_after = ca.if_else(begins, t, began), ca.if_else(begins, q, start)
    path = motion(t - began_after, start_after, row, n_u)
    inputs = {
        "state_t": t,
        "state_ready": ready,
        "state_q": q,
        "memory_began": began,
        "memory_start": start,
        "row_path": row,
        "row_holds": direct,
    }
    outputs = {
        "reference_q": ca.if_else(follows, path.q, finite(q)),
        "reference_u": ca.if_else(follows, path.u, ca.SX.zeros(n_u)),
        "reference_a": ca.if_else(follows, path.a, ca.SX.zeros(n_u)),
        "reference_done": ca.if_else(follows, path.done, 0.0),
        "reference_direct": direct,
        "next_began": began_after,
        "next_start": start_after,
    }
    return named_function(name, inputs, outputs)
