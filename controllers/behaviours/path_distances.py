"""What a row of a path lacks of its distances from zones and other modules, on the way and braked from there.

Between two checked instants every body goes straight. A brake must leave half of `safety.clearance_m`, as in the guard.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from granite.config.footprints import SolidPair
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import stopping_poses
from granite.controllers.trajectories.sampled import polynomial
from granite.mrds.clearance import Clearances

#: checked instants of a row
_SAMPLES = 8


def distance_check(name: str, model: ControlModel, pairs: Sequence[SolidPair]) -> ca.Function:
    """(row, time when its path begins, whether it can be braked) -> the parts of `zone_limits`.

    In two columns the first ones and the largest, zero where nothing is lacking.

    Parameters
    ----------
    name
        Of the function.
    model
        The controller's model.
    pairs
        What stays apart.
    """
    n, clearances, stops = model.n, Clearances(pairs, model.bed.known), stopping_poses(model)
    row, (begin, brakes, tau) = ca.SX.sym("row", 2 + 6 * n), (ca.SX.sym(name) for name in ("begin", "brakes", "tau"))
    centres = [clearances.centres(q) for q in (model.q, *(stop.q for stop in stops))]
    discs, poses = centres[0].shape[1], len(centres)
    later = ca.vertcat(0, *(stop.t for stop in stops))
    ahead = ca.Function("ahead", [model.q, model.u], [ca.horzcat(*centres), later], {"cse": True})
    q, u, _ = polynomial(row[2 : 2 + 3 * n], row[2 + 3 * n :], tau, row[1])
    at, after = ahead(q, ca.if_else(brakes, u, 0))
    instant = ca.Function("instant", [row, begin, brakes, tau], [at, row[0] - begin + tau * row[1] + after])
    given = ca.MX.sym("row", 2 + 6 * n), ca.MX.sym("begin"), ca.MX.sym("brakes")
    taus = ca.DM(np.linspace(0.0, 1.0, _SAMPLES)).T
    here, times = instant.map(_SAMPLES)(*(ca.repmat(one, 1, _SAMPLES) for one in given), taus)
    # The last pose of an instant is the first one of the next.
    each, following = ca.horzsplit(here, poses * discs), [*range(1, _SAMPLES), _SAMPLES - 1]
    with_next = ca.horzcat(*(ca.horzcat(each[i], each[k][:, :discs]) for i, k in enumerate(following)))
    least, ways = model.bed.safety.clearance_m, ((0, poses), range(poses))
    shortfalls = clearances.shortfalls((least, least / 2), ways, _SAMPLES)
    lacking = shortfalls(with_next, ca.vertcat(times, times[0, following]))
    parts = ca.horzcat(*(ca.vec(one) + (ca.vec(one) != 0) for one in lacking))
    return ca.Function(name, [*given], [parts])
