"""An operator by topics and services of ROS 2: goals, a gamepad, and arm, start, hold and stop.

    /granite/goal/MODULE/pose        geometry_msgs/PoseStamped in `world`: the base goes there
    /granite/goal/joint_states       sensor_msgs/JointState: joints go to these angles
    /granite/goal/MODULE/path        nav_msgs/Path in `world`: the base follows it, by the stamps of its poses
    /granite/goal/joint_trajectory   trajectory_msgs/JointTrajectory: the named joints follow it
    /joy                             sensor_msgs/Joy: button 4 is the dead man, button 1 holds
    /granite/arm, start, hold, stop  std_srvs/Trigger
    /granite/command                 std_msgs/String with one of these words: for clients of other vendors' services

A thread of the recorder's process asks the operator channel with a key of its own, so that all is checked as from any
other operator, an input of a tick, and replayed. Answers to topics are on /diagnostics.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.testbed import Testbed
from granite.drivers.ros2.node import Node, Service
from granite.drivers.ros2.topic import seconds
from granite.rt.operator.client import Operator
from granite.rt.operator.driven_coordinates import Coordinates
from granite.rt.operator.keys import ROS2
from granite.rt.ros2.options import Ros2
from granite.views.scene_messages.body_frames import WORLD

_COMMANDS = ("arm", "start", "hold", "stop")
#: time between two looks at the topics [s], and between two jogs
_LOOK_S, _JOG_S = 0.005, 0.1
#: of a gamepad, as the node `joy` numbers them: buttons, then axes (left and up are positive)
_DEAD_MAN, _HOLD = 4, 1
_LEFT, _UP, _TURN, _JOINT = 0, 1, 3, 7
#: part of a stick's way that counts as its middle
_MIDDLE = 0.15
#: a turn out of the plane that rounding alone makes [sine of half its angle], and of the length of a quaternion
_FLAT, _UNIT = 1e-3, 1e-2


class OperatorTopics:
    """Listens while the run goes on.

    Parameters
    ----------
    node
        That has the topics.
    bed
        The testbed.
    ros2
        With the address of the operator channel and the folder of its keys.
    say
        Called with level, name and text of an answer.
    """

    def __init__(self, node: Node, bed: Testbed, ros2: Ros2, say: Callable[[str, str, str], None]) -> None:
        assert ros2.operator is not None
        self._bed, self._address, self._folder, self._say = bed, ros2.operator, Path(ros2.keys), say
        self._services = {name: node.service(f"/granite/{name}", "std_srvs/srv/Trigger") for name in _COMMANDS}
        self._commands = node.subscription("/granite/command", "std_msgs/msg/String")
        self._joy = node.subscription("/joy", "sensor_msgs/msg/Joy")
        self._joints = node.subscription("/granite/goal/joint_states", "sensor_msgs/msg/JointState")
        self._trajectories = node.subscription("/granite/goal/joint_trajectory", "trajectory_msgs/msg/JointTrajectory")
        self._goals = {
            module.name: (
                module,
                node.subscription(f"/granite/goal/{module.name}/pose", "geometry_msgs/msg/PoseStamped"),
                node.subscription(f"/granite/goal/{module.name}/path", "nav_msgs/msg/Path"),
            )
            for module in bed.known.modules
            if module.base == "floating"
        }
        #: hands a path over, which takes seconds: a stop does not wait for it
        self._follower = ThreadPoolExecutor(1, "ros2 path")
        self._following: Future[None] | None = None
        self._hand: Coordinates | None = None
        self._jogged_at, self._moves, self._refused = 0.0, False, ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="ros2 operator", daemon=True)

    def begin(self) -> None:
        """Listen from now on."""
        self._thread.start()

    def close(self) -> None:
        """End; an answer that is due is not waited for."""
        self._over.set()
        self._follower.shutdown(wait=False, cancel_futures=True)
        if self._thread.is_alive():
            self._thread.join(0.2)

    def _listen(self) -> None:
        with Operator(self._address, ROS2, self._folder) as operator:
            while not self._over.wait(_LOOK_S):
                try:
                    self._look(operator)
                except Exception as error:  # one message must not end it: a stop may follow
                    self._say("warning", "ros2", f"refused: {error}")

    def _look(self, operator: Operator) -> None:
        """Take what came; a stop before all others."""
        for name in reversed(_COMMANDS):
            for request in self._services[name].requests.take(16):
                self._serve(operator, name, self._services[name], request)
        for message in self._commands.take(16):
            self._answer("command", partial(_obey, operator, message.data))
        if messages := self._joy.take(16):
            self._drive(operator, messages[-1])
        for name, (module, poses, paths) in self._goals.items():
            for message in poses.take(16)[-1:]:
                self._answer(f"goal {name}", lambda: operator.go(self._pose(module, message)))  # noqa: B023
            for message in paths.take(16)[-1:]:
                self._follow(f"path {name}", partial(self._path, module, message))
        for message in self._trajectories.take(16)[-1:]:
            self._follow("joint_trajectory", partial(self._trajectory, message))
        for message in self._joints.take(16)[-1:]:
            self._answer("goal joint_states", lambda: operator.go(self._angles(message)))  # noqa: B023

    def _follow(self, name: str, columns: Callable[[], dict[str, list[float]]]) -> None:
        """Hand a path over beside listening."""
        if self._following is not None and not self._following.done():
            self._say("warning", name, "refused: another path is on its way to the loop, expected its answer first")
        else:
            self._following = self._follower.submit(self._hand_over, name, columns)

    def _hand_over(self, name: str, columns: Callable[[], dict[str, list[float]]]) -> None:
        try:
            with Operator(self._address, ROS2, self._folder) as operator:
                self._answer(name, lambda: operator.follow(columns()))
        except Exception as error:  # nobody takes it from a thread
            self._say("warning", name, f"refused: {error}")

    def _serve(self, operator: Operator, name: str, service: Service, request: Any) -> None:
        try:
            answer = operator.ask(name)
        except InputError as error:  # nobody answers
            answer = {"ok": False, "text": str(error)}
        service.answer(request, success=bool(answer["ok"]), message=str(answer["text"]))

    def _answer(self, name: str, ask: Callable[[], dict[str, Any]]) -> None:
        try:
            answer = ask()
        except InputError as refusal:
            answer = {"ok": False, "text": f"refused: {refusal}"}
        more = f" in {answer['duration_s']:.3g} s" if "duration_s" in answer else ""
        self._say("info" if answer["ok"] else "warning", name, f"{answer['text']}{more}")

    def _pose(self, module: Module, message: Any) -> dict[str, float]:
        """The coordinates of the base."""
        frame = message.header.frame_id
        if frame not in ("", WORLD):
            raise InputError(key="frame_id", value=frame, expected=f"'{WORLD}', whose origin is that of the table")
        point, turn = message.pose.position, message.pose.orientation
        length = math.hypot(turn.x, turn.y, turn.z, turn.w)
        if not abs(length - 1) <= _UNIT or not max(abs(turn.x), abs(turn.y)) <= _FLAT:
            value = f"{turn.x:g}, {turn.y:g}, {turn.z:g}, {turn.w:g}"
            raise InputError(key="orientation", value=value, expected="a quaternion of length 1, about z alone")
        heading = 2 * math.atan2(turn.z, turn.w)
        layout = self._bed.known
        coordinates = layout.positions[layout.root_q(module)]
        return {c.key: value for c, value in zip(coordinates, (point.x, point.y, heading), strict=True)}

    def _angles(self, message: Any) -> dict[str, float]:
        """The coordinates of the joints."""
        layout = self._bed.known
        if unknown := [name for name in message.name if name not in layout.joints]:
            raise InputError("no such joint", key="name", value=unknown[0], expected=one_of(unknown[0], layout.joints))
        if len(message.position) != len(message.name):
            value = len(message.position)
            raise InputError(key="position", value=value, expected=f"as many as names, {len(message.name)}")
        keys = [layout.positions[layout.joint_q(name)].key for name in message.name]
        return dict(zip(keys, message.position, strict=True))

    def _path(self, module: Module, message: Any) -> dict[str, list[float]]:
        """The columns of a path of the base; a heading goes on beyond half a turn."""
        for pose in message.poses:
            pose.header.frame_id = pose.header.frame_id or message.header.frame_id
        poses = [self._pose(module, pose) for pose in message.poses]
        stamps = [seconds(pose.header.stamp) for pose in message.poses]
        columns = {"t_s": [stamp - stamps[0] for stamp in stamps]}
        for key in poses[0] if poses else ():
            values = [pose[key] for pose in poses]
            columns[key] = _continued(values) if key.endswith("_heading_rad") else values
        return columns

    def _trajectory(self, message: Any) -> dict[str, list[float]]:
        """The columns of a path of joints."""
        layout, names, points = self._bed.known, message.joint_names, message.points
        if unknown := [name for name in names if name not in layout.joints]:
            raise InputError(
                "no such joint", key="joint_names", value=unknown[0], expected=one_of(unknown[0], layout.joints)
            )
        columns = {"t_s": [seconds(point.time_from_start) for point in points]}
        positions = [layout.positions[layout.joint_q(name)].key for name in names]
        rates = [layout.velocities[layout.joint_u(name)].key for name in names]
        keys = {"positions": positions, "velocities": rates, "accelerations": [f"{key}2" for key in rates]}
        for field, keys_of_field in keys.items():
            rows = [getattr(point, field) for point in points]
            if field != "positions" and not any(rows):
                continue
            if wrong := [i for i, row in enumerate(rows) if len(row) != len(names)]:
                problem = f"{len(rows[wrong[0]])} {field} in point {wrong[0] + 1}"
                raise InputError(problem, key="points", expected=f"as many as joint_names, {len(names)}")
            columns |= dict(zip(keys_of_field, map(list, zip(*rows, strict=True)), strict=True))
        return columns

    def _drive(self, operator: Operator, message: Any) -> None:
        """Jog while the dead man is held; a jog that is not repeated ends by itself."""
        buttons, axes = message.buttons, message.axes
        if len(buttons) > _HOLD and buttons[_HOLD]:
            self._answer("joy", lambda: operator.ask("hold"))
            return
        held = len(buttons) > _DEAD_MAN and buttons[_DEAD_MAN]
        if not held and not self._moves:
            return
        if held and time.monotonic() - self._jogged_at < _JOG_S:
            return
        hand = self._hand = self._hand or Coordinates(operator.ask("goals").get("coordinates", []))
        base = {"_x": -_part(axes, _LEFT), "_y": _part(axes, _UP), "_heading": _part(axes, _TURN)}
        rates = hand.rates(base, _part(axes, _JOINT)) if held else {}
        if not rates and not self._moves:
            return
        self._jogged_at, self._moves = time.monotonic(), bool(rates)
        answer = operator.jog(**(rates or hand.stopped))
        text = "" if answer["ok"] else str(answer["text"])
        if text not in ("", self._refused):
            self._say("warning", "joy", text)
        self._refused = text


def _continued(headings: Sequence[float]) -> list[float]:
    """Headings within half a turn, continued over it."""
    continued = list(headings[:1])
    for heading in headings[1:]:
        continued.append(continued[-1] + math.remainder(heading - continued[-1], math.tau))
    return continued


def _obey(operator: Operator, word: str) -> dict[str, Any]:
    if word not in _COMMANDS:
        raise InputError(key="data", value=word, expected=one_of(word, _COMMANDS))
    return operator.ask(word)


def _part(axes: Any, index: int) -> float:
    """Of an axis, without its middle."""
    part = 0.0
    with contextlib.suppress(IndexError):  # a pad may lack it
        part = min(max(float(axes[index]), -1.0), 1.0)
    if not abs(part) > _MIDDLE:  # nor is one that is no number
        return 0.0
    return math.copysign((abs(part) - _MIDDLE) / (1 - _MIDDLE), part)
