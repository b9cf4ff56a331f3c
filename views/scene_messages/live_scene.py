"""The scene of a run as messages: shapes that are fixed to frames, the frames now, and what is drawn anew each time.

A shape of a rigid body never changes in the frame of its body: it is sent once, and afterwards the frame alone moves.
Bent links, jets and contacts are drawn in the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from foxglove.messages import Color, FrameTransform, FrameTransforms, SceneEntity, SceneUpdate, Timestamp

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.plots.scene import Scene
from granite.views.plots.silhouette import Silhouette
from granite.views.plots.style import CONTACT, GRANITE, HULL_LAST, PLUME, SOFT
from granite.views.scene_messages.body_frames import WORLD, BodyFrames
from granite.views.scene_messages.primitives import Position, ball, colour, entity, jet_lines, plate
from granite.views.scene_messages.strokes import Stroke, strokes_of

REFERENCE = "reference"
#: thickness of a link, relative to the base that carries it, or to the extent of the scene; strength of the reference
_LINK_OF_BASE, _LINK_OF_SCENE, _GHOST = 0.17, 0.012, 0.35
#: thickness of the table, and least extent of a scene [m]
_TABLE, _SMALLEST = 0.02, 0.1


class DrawnParts(NamedTuple):
    """What can be drawn of a row."""

    robot: bool = False
    reference: bool = False


class LiveScene:
    """Turns rows of the log into messages; `first` is the first row, whose finite values are known."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        truth = channels.place("/truth", "q")
        has_truth = bed.controller is None or not np.isnan(first[truth]).all()
        self._bed = bed
        modules = bed.modules if has_truth else bed.known.modules
        positions = bed.positions if has_truth else bed.known.positions
        self._q = truth if has_truth else channels.place("/state", "q")
        self._ready = channels.place("/state", "ready")
        self._needs_ready = not has_truth
        self._reference = channels.place("/reference", "q")
        self._closed = channels.place("/truth", "closed")
        self._opening = [channels.place("/applied", f"{name}.values") for name in bed.devices_of(Thrusters)]
        self._referenced = [positions.index(c) for c in bed.known.positions] if bed.controller else []
        scene = self._scene = Scene(bed, modules)
        self._frames = BodyFrames(modules, scene.body_points, bed.planar)
        self._main = BodyFrames([m for m in modules if m.name == scene.main.name], scene.body_points, bed.planar)
        bases = [s.base.reach for s in scene.silhouettes if s.base and (s.links or s.outlines)]
        at = scene.body_points.at(np.nan_to_num(first[self._q])[None])[0, scene.drawn]
        of_scene = _LINK_OF_SCENE * max(float(np.ptp(at, axis=0).max()), _SMALLEST)
        self._thickness = _LINK_OF_BASE * bases[0] if bases else of_scene
        #: strokes of each module that move with no single body
        self._bent = {
            module.name: [stroke for stroke in self._strokes(module) if not self._frame(stroke)]
            for module in scene.silhouettes
        }

    def parts(self, row: Array) -> DrawnParts:
        """What can be drawn of a row."""
        ready = row[self._ready] == 1.0
        robot = np.isfinite(row[self._q]).all() and (ready or not self._needs_ready)
        reference = bool(self._referenced) and ready and np.isfinite(row[self._reference]).all()
        return DrawnParts(bool(robot), bool(reference))

    def shapes(self, parts: DrawnParts, time_ns: int) -> SceneUpdate:
        """The shapes that are fixed to frames, and the table."""
        stamp, entities = _stamp(time_ns), []
        if (table := self._bed.safety.table_m) is not None:
            cubes = [plate(table, _TABLE, colour(GRANITE))]
            entities.append(SceneEntity(timestamp=stamp, frame_id=WORLD, id="table", cubes=cubes))
        if parts.robot:
            for module in self._scene.silhouettes:
                entities += self._fixed(module, "", colour(HULL_LAST), stamp)
        if parts.reference:
            entities += self._fixed(self._scene.main, f"{REFERENCE}/", colour(SOFT, _GHOST), stamp)
        return SceneUpdate(deletions=[], entities=entities)

    def now(self, rows: Array, parts: DrawnParts, time_ns: int) -> tuple[FrameTransforms, SceneUpdate]:
        """The frames at the last of these rows, and what is drawn anew.

        A jet is shown where the thruster was open in one of the rows.
        """
        row, stamp = rows[-1], _stamp(time_ns)
        frames: list[FrameTransform] = []
        marks: list[SceneEntity] = []
        q = row[self._q]
        if parts.robot:
            at = self._scene.body_points.now(q)
            frames += self._frames.transforms(at, stamp)
            marks += self._marks(rows, at, stamp)
        if parts.reference:
            ghost = q.copy() if parts.robot else np.nan_to_num(q)
            ghost[self._referenced] = row[self._reference]
            at = self._scene.body_points.now(ghost)
            ink = colour(SOFT, _GHOST)
            frames += self._main.transforms(at, stamp, f"{REFERENCE}/")
            marks += self._drawn(REFERENCE, self._bent[self._scene.main.name], at, ink, stamp)
        return FrameTransforms(transforms=frames), SceneUpdate(deletions=[], entities=marks)

    def _marks(self, rows: Array, at: Sequence[Position], stamp: Timestamp) -> Iterator[SceneEntity]:
        """Bent links, jets and contacts; a contact is filled where it is closed, and pale where it is open."""
        opening = [part for columns in self._opening for part in np.fmax.reduce(rows[:, columns], axis=0).tolist()]
        for module in self._scene.silhouettes:
            yield from self._drawn(f"{module.name} bent", self._bent[module.name], at, colour(HULL_LAST), stamp)
            if module.jets:
                part = [opening[i] for i in self._scene.thrusters[module.name]]
                jets = list(jet_lines(module, at, part, self._thickness, colour(PLUME)))
                yield SceneEntity(timestamp=stamp, frame_id=WORLD, id=f"{module.name} jets", lines=jets)
        if self._scene.contacts:
            closed, size = rows[-1, self._closed], 3 * self._thickness
            inks = {i: colour(CONTACT, 1.0 if closed[i] in (1.0, 2.0) else 0.3) for i in self._scene.contacts}
            marks = [ball(at[second], size, inks[i]) for i, (_, second) in self._scene.contacts.items()]
            yield SceneEntity(timestamp=stamp, frame_id=WORLD, id="contacts", spheres=marks)

    def _fixed(self, module: Silhouette, of: str, ink: Color, stamp: Timestamp) -> Iterator[SceneEntity]:
        """The shapes of each rigid body of a module, in its frame."""
        by_frame: dict[str, list[tuple[Stroke, list[Position]]]] = {}
        for stroke in self._strokes(module):
            if frame := self._frame(stroke):
                owners = [self._scene.body_points.owner(number) for number in stroke.points]
                positions: list[Position] = [owner[2] for owner in owners if owner]
                by_frame.setdefault(of + frame, []).append((stroke, positions))
        return (entity(frame, frame, stamp, strokes, ink) for frame, strokes in by_frame.items())

    def _drawn(
        self, name: str, strokes: list[Stroke], at: Sequence[Position], ink: Color, stamp: Timestamp
    ) -> Iterator[SceneEntity]:
        if strokes:
            positions = [(stroke, [at[number] for number in stroke.points]) for stroke in strokes]
            yield entity(name, WORLD, stamp, positions, ink)

    def _strokes(self, module: Silhouette) -> Iterator[Stroke]:
        return strokes_of(module, self._thickness)

    def _frame(self, stroke: Stroke) -> str | None:
        """The frame of the rigid body that has all points of a stroke."""
        owners = [self._scene.body_points.owner(number) for number in stroke.points]
        bodies = {owner[:2] if owner else None for owner in owners}
        body = bodies.pop() if len(bodies) == 1 else None
        return self._frames.names.get(body) if body else None


def _stamp(time_ns: int) -> Timestamp:
    return Timestamp(*divmod(time_ns, 1_000_000_000))
