"""From messages about goals to requests: names become numbers, and a duration is searched where none is given.

It has no deadline, and the reference of the loop from at most 0.1 s ago; the loop checks the path from the reference of
its own tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any

import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.footprints import obstacles
from granite.config.loader import from_json
from granite.config.records import Array
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.rt.operator.path_planning import PathRequest

#: columns of a path are thinned where that moves it by less than this [m, rad]
_THIN = 5e-4
#: poses of a path that a page is shown
_SHOWN = 40


class GoalRequests:
    """What goals a behaviour takes.

    Parameters
    ----------
    testbed
        As text; None where the behaviour takes no goals.
    actions
        What it offers by name.
    """

    def __init__(self, testbed: str | None, actions: Sequence[str]) -> None:
        self._actions = list(actions)
        self._bed: Testbed | None = None
        #: whether the duration of the last goal was searched, and one was found
        self.was_found = False
        if testbed is None:
            return
        # CasADi takes a while to import, which most runs need not wait for.
        from granite.controllers.behaviours.goal_paths import GoalPaths
        from granite.controllers.behaviours.motion_limits import motion_limits
        from granite.controllers.model import ControlModel

        self._bed = from_json(testbed)
        model = ControlModel(self._bed)
        self._paths, self._limits = GoalPaths(model), motion_limits(self._bed)
        self._positions = self._bed.known.positions
        self._moved = model.active
        #: whether each coordinate is one of a measured obstacle
        self._is_measured = np.zeros(model.n, dtype=bool)
        for name in obstacles(self._bed):
            self._is_measured[model.layout.q[name]] = True
        self._motion: Array = np.full(3 * model.n, nan)

    def note(self, motion: Sequence[float]) -> None:
        """The reference of the loop: q, u, a."""
        if self._bed is not None and len(motion) and isfinite(motion[0]):
            self._motion = np.array(motion)

    def listed(self) -> dict[str, Any]:
        """The goals that may be asked for, for people and pages."""
        if self._bed is None:
            return {"coordinates": [], "actions": self._actions}
        here = self._motion.tolist()
        coordinates = [
            {"key": c.key, "name": c.name, "unit": c.unit, "value": here[i] if isfinite(here[i]) else None}
            for i, c in enumerate(self._positions)
            if i in self._moved
        ]
        return {"coordinates": coordinates, "actions": self._actions, "jog_s": self._bed.operator.jog_s}

    def go(self, content: Mapping[str, Any]) -> Request:
        """To a pose, with a duration."""
        goal, duration = self._target(content)
        self.was_found = False
        if duration is None:
            self._refuse_unknown_reference()
            duration, self.was_found = self._paths.duration(self._motion, self._completed(goal))
        return Request(RequestKind.GO, value=duration, numbers=tuple(goal.tolist()))

    def to_plan(self, content: Mapping[str, Any]) -> PathRequest:
        """The path to a pose that is to be planned, from rest here."""
        goal, duration = self._target(content)
        self._refuse_unknown_reference()
        q, u, a = self._motion.reshape(3, -1)
        if np.any((u, a), where=~self._is_measured):
            raise InputError(
                "the robot moves", key="plan", value=True, expected="a robot at rest, after hold and start"
            )
        return PathRequest(q.tolist(), self._completed(goal).tolist(), duration, u.tolist())

    @property
    def knows_obstacles(self) -> bool:
        """Whether there are measured obstacles."""
        return self._bed is not None and bool(self._is_measured.any())

    def _target(self, content: Mapping[str, Any]) -> tuple[Array, float | None]:
        """Of a goal: a number of each coordinate, NaN where it goes on as before, and the duration if there is one."""
        self._refuse_none()
        keys = {self._positions[i].key: i for i in self._moved}
        goal = self._by_name("target", content["target"], keys, nan)
        if "duration_s" not in content:
            return goal, None
        duration = _number("duration_s", content["duration_s"])
        if duration <= 0:
            raise InputError(key="duration_s", value=duration, expected="more than 0")
        return goal, duration

    def _completed(self, goal: Array) -> Array:
        """With the reference of the loop where a goal has no number."""
        return np.where(np.isnan(goal), self._motion[: len(goal)], goal)

    def preview(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """What would become of `go`, for a page: its duration and poses on the way, or why it would be refused."""
        from granite.controllers.trajectories.sampled import SampledPath

        self._refuse_unknown_reference()
        request = self.go(content)
        n, target = len(self._positions), self._completed(np.array(request.numbers))
        rows = self._paths.to_pose(0.0, self._motion, target, request.value)
        use = self._paths.worst(rows)
        path = SampledPath(rows[:, 0], rows[:, 2 : 2 + 3 * n].reshape(len(rows), 3, n))
        poses = [path.at(t)[0].tolist() for t in np.linspace(0.0, request.value, _SHOWN)]
        is_possible = self._paths.is_possible(use)
        text = "possible" if is_possible else f"refused: {self._limits[use.limit].sentence(use.part)}"
        return {"ok": is_possible, "text": text, "duration_s": request.value, "poses": poses}

    def jog(self, content: Mapping[str, Any]) -> Request:
        """Rates of coordinates; all others come to rest."""
        self._refuse_none()
        names = {self._positions[i].name: i for i in self._moved}
        rates = self._by_name("rates", content["rates"], names, 0.0)
        return Request(RequestKind.JOG, numbers=tuple(rates.tolist()))

    def act(self, content: Mapping[str, Any]) -> Request:
        """Something by name."""
        action = str(content["action"])
        if action not in self._actions:
            expected = one_of(action, self._actions) if self._actions else "a behaviour that offers it"
            raise InputError("no such action", key="action", value=action, expected=expected)
        return Request(RequestKind.ACT, argument=self._actions.index(action))

    def follow(self, content: Mapping[str, Any]) -> list[Request]:
        """The knots of a path one after the other, then the request to follow it."""
        from granite.controllers.behaviours.on_demand import MOST_KNOTS
        from granite.controllers.behaviours.path_knots import path_of
        from granite.controllers.behaviours.path_samples import given_samples

        self._refuse_none()
        self._refuse_unknown_reference()
        columns = content["columns"]
        if not isinstance(columns, dict):
            raise InputError(key="columns", value=columns, expected='lists by key, such as {"t_s": [0, 1], ..}')
        samples, n = given_samples("path", columns), len(self._positions)
        path, free = path_of(samples, self._paths_layout, self._motion[:n])
        for i in np.flatnonzero(free == 0):
            if i not in self._moved:
                key = self._positions[i].key
                raise InputError("nothing moves this coordinate", key="columns", value=key, expected="none of it")
        times, knots = path.times, path.motions.reshape(len(path.times), -1).copy()
        knots[-1, n:] = 0.0
        kept = self._thinned(times, knots)
        if len(kept) > MOST_KNOTS - 2:
            raise InputError(f"{len(kept)} rows", key="columns", expected=f"at most {MOST_KNOTS - 2}")
        if "approach_s" in content:
            lead = _number("approach_s", content["approach_s"])
            if lead <= 0:
                raise InputError(key="approach_s", value=lead, expected="more than 0")
        else:
            lead, _ = self._paths.lead(self._motion, knots[0])
        requests = [
            Request(RequestKind.KNOT, argument=i, value=float(times[k]), numbers=tuple(knots[k].tolist()))
            for i, k in enumerate(kept)
        ]
        return [*requests, Request(RequestKind.FOLLOW, argument=len(kept), value=lead)]

    def sentence(self, reply: Reply, limit: int, part: float) -> str:
        """The worst limit of a path that is not possible; nothing for other answers."""
        if self._bed is None or reply is not Reply.NOT_FEASIBLE:
            return ""
        return f"refused: {self._limits[limit].sentence(part)}"

    def _by_name(self, key: str, values: Any, names: Mapping[str, int], otherwise: float) -> Array:
        """A number of each coordinate."""
        if not isinstance(values, dict) or not values:
            example = next(iter(names), "base_x")
            raise InputError(key=key, value=values, expected=f'numbers by name, such as {{"{example}": 0.1}}')
        numbers = np.full(len(self._positions), otherwise)
        for name, value in values.items():
            if name not in names:
                raise InputError("no such coordinate", key=key, value=name, expected=one_of(name, names))
            numbers[names[name]] = _number(f"{key}.{name}", value)
        return numbers

    def _thinned(self, times: Array, knots: Array) -> list[int]:
        """The rows of a path that it needs: half of them, a quarter, and so on, as long as it stays where it is."""
        kept = list(range(len(times)))
        while len(kept) > 3:
            fewer = sorted({*kept[::2], kept[-1]})
            if self._deviation(times, knots, fewer) > _THIN:
                break
            kept = fewer
        return kept

    def _deviation(self, times: Array, knots: Array, kept: list[int]) -> float:
        from granite.controllers.trajectories.sampled import SampledPath

        n = len(self._positions)
        path = SampledPath(times[kept], knots[kept].reshape(len(kept), 3, n))
        left_out = sorted(set(range(len(times))) - set(kept))
        return max(float(np.abs(path.at(times[k])[0] - knots[k, :n]).max()) for k in left_out)

    @property
    def _paths_layout(self) -> Any:
        assert self._bed is not None
        return self._bed.known

    def _refuse_none(self) -> None:
        if self._bed is None:
            raise InputError("the behaviour of this testbed takes no goals", expected="behaviour.kind = 'on_demand'")

    def _refuse_unknown_reference(self) -> None:
        if not np.isfinite(self._motion).all():
            raise InputError("the loop has no reference yet", expected="arm and start first")


def _number(key: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or abs(value) > 1e6:
        raise InputError(key=key, value=value, expected="a finite number")
    return float(value)
