"""The scene of a run as messages: shapes that are fixed to frames, the frames now, and what is drawn anew each time.

A shape of a rigid body never changes in the frame of its body: it is sent once, and afterwards the frame alone moves.
Bent links, jets and contacts are drawn in the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foxglove.messages import Color, FrameTransform, FrameTransforms, SceneEntity, SceneUpdate, Timestamp

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.plots.silhouette import Silhouette
from granite.views.plots.style import CONTACT, GRANITE, HULL_LAST, PLUME, SOFT, STOP
from granite.views.scene_messages.body_frames import WORLD, BodyFrames
from granite.views.scene_messages.primitives import Position, ball, colour, entity, jet_lines, line, plate
from granite.views.scene_messages.strokes import STRIP, Stroke, strokes_of
from granite.views.scene_rows import DrawnParts, SceneRows

REFERENCE = "reference"
#: strength of the reference, and thickness of the table [m]
_GHOST, _TABLE = 0.35, 0.02
#: width of the edge of a zone [m]
_ZONE = 0.01


class LiveScene:
    """Turns rows of the log into messages; `first` is the first row, whose finite values are known."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        self._bed, self._rows = bed, SceneRows(bed, channels, first)
        self._scene, modules = self._rows.scene, self._rows.modules
        self._thickness = self._rows.thickness
        points, main = self._scene.body_points, self._scene.main.name
        self._frames = BodyFrames(modules, points, bed.planar)
        self._main = BodyFrames([module for module in modules if module.name == main], points, bed.planar)
        #: strokes of each module that move with no single body
        self._bent = {
            module.name: [stroke for stroke in self._strokes(module) if not self._frame(stroke)]
            for module in self._scene.silhouettes
        }

    def parts(self, row: Array) -> DrawnParts:
        """What can be drawn of a row."""
        return self._rows.parts(row)

    def shapes(self, parts: DrawnParts, time_ns: int) -> SceneUpdate:
        """The shapes that are fixed to frames, and the table."""
        stamp, entities = _stamp(time_ns), []
        if (table := self._bed.safety.table_m) is not None:
            cubes = [plate(table, _TABLE, colour(GRANITE))]
            entities.append(SceneEntity(timestamp=stamp, frame_id=WORLD, id="table", cubes=cubes))
        for zone in self._bed.safety.keep_out:
            around = [(x, y, 0.0) for x, y in (*zone.outline, *zone.outline[:1])]
            lines = [line(STRIP, around, _ZONE, colour(STOP))]
            entities.append(SceneEntity(timestamp=stamp, frame_id=WORLD, id=f"zone {zone.name}", lines=lines))
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
        if parts.robot:
            at = self._rows.at(row)
            frames += self._frames.transforms(at, stamp)
            marks += self._marks(rows, at, stamp)
        if parts.reference:
            at = self._rows.at_reference(row, parts)
            ink = colour(SOFT, _GHOST)
            frames += self._main.transforms(at, stamp, f"{REFERENCE}/")
            marks += self._drawn(REFERENCE, self._bent[self._scene.main.name], at, ink, stamp)
        return FrameTransforms(transforms=frames), SceneUpdate(deletions=[], entities=marks)

    def _marks(self, rows: Array, at: Sequence[Position], stamp: Timestamp) -> Iterator[SceneEntity]:
        """Bent links, jets and contacts; a contact is filled where it is closed, and pale where it is open."""
        opening = self._rows.opening(rows)
        for module in self._scene.silhouettes:
            yield from self._drawn(f"{module.name} bent", self._bent[module.name], at, colour(HULL_LAST), stamp)
            if module.jets:
                part = [opening[i] for i in self._scene.thrusters[module.name]]
                jets = list(jet_lines(module, at, part, self._thickness, colour(PLUME)))
                yield SceneEntity(timestamp=stamp, frame_id=WORLD, id=f"{module.name} jets", lines=jets)
        if self._scene.contacts:
            closed, size = self._rows.closed(rows[-1]), 3 * self._thickness
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
