"""The scene of a run at one instant, as messages: modules, jets, contacts, reference, and a frame for each body."""

from __future__ import annotations

import numpy as np
from foxglove.messages import (
    Color,
    CubePrimitive,
    FrameTransform,
    FrameTransforms,
    Pose,
    Quaternion,
    SceneEntity,
    SceneUpdate,
    Timestamp,
    Vector3,
)
from scipy.spatial.transform import Rotation

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.live.primitives import NO_TURN, ball, colour, jet_lines, module_discs, module_lines, vector
from granite.rt.logs.channels import Channels
from granite.rt.plots.look import CONTACT, GRANITE, HULL_LAST, PLUME, SOFT
from granite.rt.plots.scene import Scene
from granite.rt.plots.silhouette import Silhouette

WORLD = "world"
#: thickness of a link, relative to the base that carries it, or to the extent of the scene; strength of the reference
_LINK_OF_BASE, _LINK_OF_SCENE, _GHOST = 0.17, 0.012, 0.35
#: thickness of the table, and least extent of a scene [m]
_TABLE, _SMALLEST = 0.02, 0.1


class LiveScene:
    """Turns rows of the log into messages; `first` is the first row, which says what is known."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        truth = channels.place("/truth", "q")
        has_truth = bed.controller is None or not np.isnan(first[truth]).all()
        self._bed, modules = bed, bed.modules if has_truth else bed.known.modules
        positions = bed.positions if has_truth else bed.known.positions
        self._q = truth if has_truth else channels.place("/state", "q")
        self._ready, self._needs_ready = channels.place("/state", "ready"), not has_truth
        self._reference, self._closed = channels.place("/reference", "q"), channels.place("/truth", "closed")
        self._opening = [channels.place("/applied", f"{name}.values") for name in bed.devices_of(Thrusters)]
        self._referenced = [positions.index(c) for c in bed.known.positions] if bed.controller else []
        scene = self._scene = Scene(bed, modules)
        #: of each body: its name, and the points at its origin and 1 m along its x and y axis
        self._bodies = [
            (f"{m.name}/{b.name}", [scene.places.on(m.name, b.name, at) for at in ((0, 0), (1, 0), (0, 1))])
            for m in modules
            for b in m.bodies
            if b.flexible is None
        ]
        self._numbers = np.array([numbers for _, numbers in self._bodies], dtype=int).reshape(-1, 3)
        self._roots = {m.name: f"{m.name}/{m.root.name}" for m in modules}
        bases = [s.base.reach for s in scene.silhouettes if s.base and (s.links or s.outlines)]
        at = scene.places.at(np.nan_to_num(first[self._q])[None])[0, scene.drawn]
        of_scene = _LINK_OF_SCENE * max(float(np.ptp(at, axis=0).max()), _SMALLEST)
        self._thickness = _LINK_OF_BASE * bases[0] if bases else of_scene

    def messages(self, rows: Array, time_ns: int) -> tuple[FrameTransforms, SceneUpdate]:
        """Of the last of these rows; a jet is shown where the thruster was open in one of them."""
        row, stamp = rows[-1], Timestamp(*divmod(time_ns, 1_000_000_000))
        q, ready = row[self._q], row[self._ready] == 1.0
        ghost = np.nan_to_num(q)
        ghost[self._referenced] = row[self._reference]
        both = self._scene.places.at(np.array((q, ghost)))
        turns = self._turns(np.nan_to_num(both))
        entities = self._table(stamp)
        transforms: list[FrameTransform] = []
        if np.isfinite(q).all() and (ready or not self._needs_ready):
            at = both[0]
            transforms = [_transform(name, at[numbers[0]], turns[0][name], stamp) for name, numbers in self._bodies]
            opening = np.hstack([np.zeros((len(rows), 0)), *(rows[:, place] for place in self._opening)])
            entities += self._modules(at, turns[0], np.nan_to_num(opening).max(axis=0), stamp)
            entities.append(self._contacts(at, row, stamp))
        if self._referenced and ready and np.isfinite(ghost).all():
            main, ink = self._scene.main, colour(SOFT, _GHOST)
            entities.append(self._module("reference", main, both[1], turns[1], ink, stamp))
        return FrameTransforms(transforms=transforms), SceneUpdate(deletions=[], entities=entities)

    def _turns(self, both: Array) -> list[dict[str, Quaternion]]:
        """The orientation of each body by its name, in two poses."""
        x, y = (both[:, self._numbers[:, i]] - both[:, self._numbers[:, 0]] for i in (1, 2))
        if self._bed.planar:
            half = 0.5 * np.arctan2(x[..., 1], x[..., 0])
            turns = np.stack((0 * half, 0 * half, np.sin(half), np.cos(half)), axis=2)
        else:
            # Where a pose is not known all points coincide; it is not drawn, and any turn will do.
            x[~x.any(axis=2)], y[~y.any(axis=2)] = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
            axes = np.stack((x, y, np.cross(x, y)), axis=3)
            turns = Rotation.from_matrix(axes.reshape(-1, 3, 3)).as_quat().reshape(2, -1, 4)
        return [
            {name: Quaternion(x=q[0], y=q[1], z=q[2], w=q[3]) for (name, _), q in zip(self._bodies, pose, strict=True)}
            for pose in turns.tolist()
        ]

    def _modules(self, at: Array, turns: dict[str, Quaternion], opening: Array, stamp: Timestamp) -> list[SceneEntity]:
        found = []
        for module in self._scene.silhouettes:
            found.append(self._module(module.name, module, at, turns, colour(HULL_LAST), stamp))
            if module.jets:
                open_now = opening[self._scene.thrusters[module.name]]
                jets = list(jet_lines(module, at, open_now, self._thickness, colour(PLUME)))
                found.append(_entity(f"{module.name} jets", stamp, lines=jets))
        return found

    def _module(
        self, name: str, module: Silhouette, at: Array, turns: dict[str, Quaternion], ink: Color, stamp: Timestamp
    ) -> SceneEntity:
        shapes = list(module_lines(module, at, self._thickness, ink))
        turn = turns.get(self._roots[module.name], NO_TURN)
        return _entity(name, stamp, lines=shapes, cylinders=list(module_discs(module, at, turn, ink)))

    def _contacts(self, at: Array, row: Array, stamp: Timestamp) -> SceneEntity:
        """A mark on the second side of each: filled where it is closed, pale where it is open."""
        closed = (row[self._closed] == 1.0) | (row[self._closed] == 2.0)
        size = 3 * self._thickness
        marks = [
            ball(at[second], size, colour(CONTACT, 1.0 if closed[i] else 0.3))
            for i, (_, second) in self._scene.contacts.items()
        ]
        return _entity("contacts", stamp, spheres=marks)

    def _table(self, stamp: Timestamp) -> list[SceneEntity]:
        if (table := self._bed.safety.table_m) is None:
            return []
        x0, y0, x1, y1 = table
        middle = Vector3(x=(x0 + x1) / 2, y=(y0 + y1) / 2, z=-_TABLE)
        pose = Pose(position=middle, orientation=NO_TURN)
        cube = CubePrimitive(pose=pose, size=Vector3(x=x1 - x0, y=y1 - y0, z=_TABLE), color=colour(GRANITE))
        return [_entity("table", stamp, cubes=[cube])]


def _entity(name: str, stamp: Timestamp, **shapes: object) -> SceneEntity:
    return SceneEntity(timestamp=stamp, frame_id=WORLD, id=name, **shapes)


def _transform(name: str, origin: Array, turn: Quaternion, stamp: Timestamp) -> FrameTransform:
    return FrameTransform(
        timestamp=stamp,
        parent_frame_id=WORLD,
        child_frame_id=name,
        translation=vector(origin),
        rotation=turn,
    )
