"""Formation: a leader goes through waypoints, and followers keep their places in its frame, turning with it.

The path of every follower is that of the leader carried over (`trajectories/planar_motion.py`), with its rates and
accelerations; the whole is sampled before the run, checked as the samples of `follow` are, and flown as they are.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Angle, Name, NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.controllers.behaviours.follow import checked_path, knot_motion, knot_table, refuse_spatial, start_of
from granite.controllers.behaviours.timed_path import TimedPath
from granite.controllers.behaviours.waypoints import LegList, Waypoint, leg_lists
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.planar_motion import PlanarMotion
from granite.controllers.trajectories.sampled import SampledPath
from granite.mrds.tolerances import SAME_TIME_S

#: time between two samples [s]
_SAMPLE_S = 0.05
#: closer ones are the same [s]
_SAME_S = 1e-3


class Follower(Table):
    """A module and its place in the frame of the leader's base."""

    module: Name  #: that follows
    offset_m: tuple[float, float]  #: from the leader's base, in its axes
    heading_rad: Angle = 0.0  #: relative to the leader's


class Formation(TimedPath):
    """Flies the formation, then holds it."""

    class Options(Behaviour):
        """Leader, followers and the way, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset(
            {"kind", "leader", "followers", "waypoints", "approach_s", "hold_s", "check_moves", "stretch"}
        )

        leader: Name  #: module that flies the waypoints
        followers: Annotated[tuple[Follower, ...], Field(min_length=1)]  #: modules with their places
        #: of the leader
        waypoints: Annotated[tuple[Waypoint, ...], Field(min_length=1)]
        #: in which the followers go to their places
        approach_s: Positive = 5.0
        #: time at the end until the path is done
        hold_s: NotNegative = 0.0
        #: refuse a path that the actuators or the limits of `safety` do not allow; false: the guard ends such a run
        check_moves: bool = True
        #: slow the path down instead where it is too fast
        stretch: bool = False

    def __init__(self, options: Options, model: ControlModel) -> None:
        refuse_spatial(model, options.kind)
        start = start_of(model)
        try:
            path = _formation(options, model, start)
            whole = checked_path(model, options, path, start)
        except InputError as refusal:
            raise refusal.within("behaviour" if refusal.key else "behaviour.waypoints") from None
        none = np.zeros(len(start), dtype=bool)
        end = whole.end + options.hold_s - SAME_TIME_S
        super().__init__(model, "follow", "", *knot_table(whole, none, end), knot_motion)


def _formation(options: Formation.Options, model: ControlModel, start: Array) -> SampledPath:
    """The path of all modules from the first waypoint's begin on."""
    roots = {module.name: model.layout.root_q(module) for module in model.floating}
    names = [options.leader, *(follower.module for follower in options.followers)]
    for i, name in enumerate(names):
        key = "leader" if i == 0 else f"followers.{i - 1}.module"
        if name not in roots:
            raise InputError("no such module that floats", key=key, value=name, expected=one_of(name, list(roots)))
        if name in names[:i]:
            raise InputError(key=key, value=name, expected="each module once")
    owned = [waypoint.model_copy(update={"module": options.leader}) for waypoint in options.waypoints]
    lists = leg_lists(owned, model)
    way = next(legs for legs in lists if legs.legs)
    begins, segments = way.begins(), way.segments(start)
    times = _times(way)
    motions = np.zeros((len(times), 3, len(start)))
    for k, t in enumerate(times):
        leg = min(bisect_right(begins, t), len(segments)) - 1
        motions[k] = np.array(segments[leg].at(t))
        base = PlanarMotion(*map(ca.DM, motions[k][:, roots[options.leader]]))
        for follower in options.followers:
            station = PlanarMotion.fixed(*follower.offset_m, follower.heading_rad)
            carried = base.carries(station)
            motions[k][:, roots[follower.module]] = [np.array(level).ravel() for level in carried]
    for root in roots.values():  # no more than half a turn to the first sample
        heading = root.stop - 1
        turns = np.round((start[heading] - motions[0, 0, heading]) / (2 * np.pi))
        motions[:, 0, heading] += 2 * np.pi * turns
    return SampledPath(times, motions)


def _times(way: LegList) -> Array:
    """Of the samples: not further apart than `_SAMPLE_S`, and where the acceleration changes."""
    times = {way.begins()[-1]}
    for begin, leg in zip(way.begins(), way.legs, strict=False):
        end, ramp = begin + leg.duration_s, leg.ramp_s or 0.0
        grid = np.linspace(begin, end, max(2, round(leg.duration_s / _SAMPLE_S) + 1))
        times |= {*grid.tolist(), begin + ramp, end - ramp}
    rising = sorted(times)
    return np.array([t for i, t in enumerate(rising) if i == 0 or t - rising[i - 1] > _SAME_S])
