"""Rows of a run as standard messages of ROS 2: poses, twists, joint states, wrenches, frames and the clock.

/granite/SOURCE/MODULE/pose, .../twist   of each floating module, in the world; SOURCE: estimate, reference, truth
/granite/SOURCE/joint_states             angles and rates; of the estimate, set points of the motors too
/granite/demand/MODULE/wrench            of the law, on a floating base, in its axes
/tf                                      every rigid body in the world
/clock                                   the time of the run
/diagnostics                             events
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from granite.config.layout import Layout
from granite.config.modules import Module
from granite.config.records import NOTHING, Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.scene_messages.body_frames import WORLD, BodyFrames
from granite.views.scene_rows import SceneRows

DIAGNOSTICS = "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"
#: levels of diagnostic_msgs/msg/DiagnosticStatus
_LEVELS = {"info": 0, "warning": 1, "error": 2}
_SECOND_NS = 1_000_000_000


class RosTopic(NamedTuple):
    """A topic and what makes its messages."""

    name: str
    kind: str  #: such as `geometry_msgs/msg/PoseStamped`
    #: a row and its time [ns] -> the message; None where the row has no such numbers
    message: Callable[[Array, int], Any]


class StandardMessages:
    """The topics of a testbed.

    Parameters
    ----------
    bed, channels
        The testbed, and the layout of its rows.
    first
        The first row, whose finite values are known.
    kinds
        The class of each message type by name; its arguments are the fields in the order of their definition.
    """

    def __init__(self, bed: Testbed, channels: Channels, first: Array, kinds: Mapping[str, Any]) -> None:
        self._bed, self._channels, self._kinds = bed, channels, kinds
        self._rows = SceneRows(bed, channels, first)
        self._frames = BodyFrames(self._rows.modules, self._rows.scene.body_points, bed.planar)
        self.topics = [*self._motions(), *self._wrenches()]
        self.topics.append(RosTopic("/tf", "tf2_msgs/msg/TFMessage", self._transforms))
        self.topics.append(RosTopic("/clock", "rosgraph_msgs/msg/Clock", self._clock))

    def header(self, ns: int, frame: str = WORLD) -> Any:
        """The header of a message at a time [ns]."""
        return self._kinds["std_msgs/msg/Header"](self._time(ns), frame)

    def diagnosis(self, ns: int, level: str, name: str, text: str) -> Any:
        """An event as a message of `/diagnostics`."""
        status = self._kinds["diagnostic_msgs/msg/DiagnosticStatus"]
        told = status(_LEVELS.get(level, _LEVELS["error"]), name, text, self._bed.name, [])
        return self._kinds[DIAGNOSTICS[1]](self.header(ns), [told])

    def _motions(self) -> Iterator[RosTopic]:
        bed = self._bed
        sources = {"truth": ("/truth", bed.layout)}
        if bed.controller is not None:
            sources |= {"estimate": ("/state", bed.known), "reference": ("/reference", bed.known)}
        for source, (topic, layout) in sources.items():
            q, u = (self._columns(topic, entry) for entry in ("q", "u"))
            for module in layout.modules:
                if module.base == "floating":
                    pose, velocity = _within(q, layout.root_q(module)), _within(u, layout.root_u(module))
                    prefix = f"/granite/{source}/{module.name}"
                    yield RosTopic(f"{prefix}/pose", "geometry_msgs/msg/PoseStamped", self._pose(pose))
                    yield RosTopic(f"{prefix}/twist", "geometry_msgs/msg/TwistStamped", self._twist(pose, velocity))
            if layout.joints:
                joints = self._joint_states(layout, q, u, with_torques=source == "estimate")
                yield RosTopic(f"/granite/{source}/joint_states", "sensor_msgs/msg/JointState", joints)

    def _wrenches(self) -> Iterator[RosTopic]:
        floating = [module for module in self._bed.controlled if module.base == "floating"]
        columns = self._columns("/demand", "wrench") if self._bed.controller else slice(0, 0)
        size = 3 if self._bed.planar else 6
        for i, module in enumerate(floating[: (columns.stop - columns.start) // size]):
            wrench = self._wrench(module, _within(columns, slice(size * i, size * (i + 1))))
            yield RosTopic(f"/granite/demand/{module.name}/wrench", "geometry_msgs/msg/WrenchStamped", wrench)

    def _pose(self, columns: slice) -> Callable[[Array, int], Any]:
        stamped, pose = (self._kinds[f"geometry_msgs/msg/{name}"] for name in ("PoseStamped", "Pose"))
        point, quaternion = (self._kinds[f"geometry_msgs/msg/{name}"] for name in ("Point", "Quaternion"))

        def message(row: Array, ns: int) -> Any:
            numbers = row[columns]
            if not np.isfinite(numbers).all():
                return None
            position, turn = _position_and_turn(numbers)
            return stamped(self.header(ns), pose(point(*position), quaternion(*turn)))

        return message

    def _twist(self, pose: slice, velocity: slice) -> Callable[[Array, int], Any]:
        stamped, twist = (self._kinds[f"geometry_msgs/msg/{name}"] for name in ("TwistStamped", "Twist"))

        def message(row: Array, ns: int) -> Any:
            numbers = row[velocity]
            if not np.isfinite(numbers).all():
                return None
            if len(numbers) == 3:
                linear, angular = [numbers.item(0), numbers.item(1), 0.0], [0.0, 0.0, numbers.item(2)]
            else:  # the rates of a spatial base are in its own axes
                turn = Rotation.from_quat(_position_and_turn(row[pose])[1])
                linear, angular = numbers[:3].tolist(), turn.apply(numbers[3:]).tolist()
            return stamped(self.header(ns), twist(self._vector(linear), self._vector(angular)))

        return message

    def _wrench(self, module: Module, columns: slice) -> Callable[[Array, int], Any]:
        stamped, wrench = (self._kinds[f"geometry_msgs/msg/{name}"] for name in ("WrenchStamped", "Wrench"))
        frame = f"{module.name}/{module.root.name}"

        def message(row: Array, ns: int) -> Any:
            numbers = row[columns].tolist()
            if len(numbers) == 3:
                numbers = [*numbers[:2], 0.0, 0.0, 0.0, numbers[2]]
            if not all(map(math.isfinite, numbers)):
                return None
            return stamped(self.header(ns, frame), wrench(self._vector(numbers[:3]), self._vector(numbers[3:])))

        return message

    def _joint_states(self, layout: Layout, q: slice, u: slice, with_torques: bool) -> Callable[[Array, int], Any]:
        names, state = list(layout.joints), self._kinds["sensor_msgs/msg/JointState"]
        angles = [q.start + layout.joint_q(name) for name in names]
        rates = [u.start + layout.joint_u(name) for name in names]
        torques = self._torque_columns() if with_torques else {}
        driven = [torques.get(name) for name in names] if torques else []

        def message(row: Array, ns: int) -> Any:
            if not np.isfinite(row[angles]).all():
                return None
            efforts = (
                np.array([math.nan if column is None else row[column] for column in driven]) if driven else NOTHING
            )
            return state(self.header(ns), names, row[angles], row[rates], efforts)

        return message

    def _torque_columns(self) -> dict[str, int]:
        """By joint: where the set point that passed the guard stands in a row."""
        columns = {}
        for name, device in self._bed.actuators.items():
            first = self._columns("/verdict", f"setpoint.{name}").start
            for i, unit in enumerate(getattr(device, "units", ())):
                if joint := getattr(unit, "joint", None):
                    columns[joint] = first + i
        return columns

    def _transforms(self, row: Array, ns: int) -> Any:
        if not self._rows.parts(row).robot:
            return None
        stamped, transform, quaternion = (
            self._kinds[f"geometry_msgs/msg/{name}"] for name in ("TransformStamped", "Transform", "Quaternion")
        )
        frames = [
            stamped(self.header(ns), name, transform(self._vector(origin), quaternion(*turn)))
            for name, origin, turn in self._frames.poses(self._rows.at(row))
        ]
        return self._kinds["tf2_msgs/msg/TFMessage"](frames)

    def _clock(self, row: Array, ns: int) -> Any:
        return self._kinds["rosgraph_msgs/msg/Clock"](self._time(ns))

    def _time(self, ns: int) -> Any:
        return self._kinds["builtin_interfaces/msg/Time"](*divmod(ns, _SECOND_NS))

    def _vector(self, numbers: Sequence[float]) -> Any:
        return self._kinds["geometry_msgs/msg/Vector3"](*numbers)

    def _columns(self, topic: str, entry: str) -> slice:
        columns = self._channels.columns(topic, entry)
        return columns if isinstance(columns, slice) else slice(columns, columns + 1)


def _within(columns: slice, part: slice) -> slice:
    """A part of some columns."""
    return slice(columns.start + part.start, columns.start + part.stop)


def _position_and_turn(pose: Array) -> tuple[list[float], list[float]]:
    """Position, and quaternion as x, y, z, w; a pose is x, y, heading, or x, y, z and w, x, y, z."""
    if len(pose) == 3:
        x, y, heading = pose.tolist()
        return [x, y, 0.0], [0.0, 0.0, math.sin(heading / 2), math.cos(heading / 2)]
    w, *turn = pose[3:].tolist()
    return pose[:3].tolist(), [*turn, w]
