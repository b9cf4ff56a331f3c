"""The scene for the page: shapes once, by the numbers of their points; afterwards the points alone move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from granite.config.devices.vision import Vision
from granite.config.records import Array, Status
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.plots.projection import best_projections
from granite.views.plots.silhouette import Silhouette
from granite.views.scene_rows import DrawnParts, SceneRows


class TablePicture(NamedTuple):
    """The scene at a row."""

    facts: dict[str, Any]  #: what can be drawn, jets and contacts
    points: bytes  #: of the robot and then of its reference, float32


class TableScene:
    """The scene of a run, from above and, in space, from the side."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        self._rows, self._bed = SceneRows(bed, channels, first), bed
        scene = self._rows.scene
        self._reference = channels.columns("/reference", "q")
        self._axes = [0, 1] if bed.planar else [0, 1, 2]
        #: columns of status, x and y of each pose that a camera reports
        self._seen = [
            [channels.column("/sample", f"{name}_{what}") for what in ("status", f"{root}_x_m", f"{root}_y_m")]
            for name, device in bed.devices_of(Vision).items()
            for root in [device.target(bed).name]
        ]
        #: points that the reference needs
        self._ghost = sorted(set(scene.main.drawn) | set(scene.main.pins))

    def shapes(self) -> dict[str, Any]:
        """What is drawn, by the numbers of points."""
        scene, bed = self._rows.scene, self._bed
        contacts = [
            {
                "number": i,
                "first": first,
                "second": second,
                "name": bed.contacts[i].name,
                "surface": i in scene.surfaces,
            }
            for i, (first, second) in scene.contacts.items()
        ]
        return {
            "axes": len(self._axes),
            "table": bed.safety.table_m,
            "zones": [{"name": zone.name, "corners": zone.outline} for zone in bed.safety.keep_out if zone.outline],
            "thickness": self._rows.thickness,
            "modules": [self._module(silhouette) for silhouette in scene.silhouettes],
            "contacts": contacts,
            "ghost": self._ghost,
        }

    def _module(self, of: Silhouette) -> dict[str, Any]:
        base = of.base
        thrusters = self._rows.scene.thrusters.get(of.name, [])
        jets = zip(of.jets, thrusters, of.failed, strict=True)
        return {
            "name": of.name,
            "main": of is self._rows.scene.main,
            "base": base and {"corners": base.corners, "radius": base.radius, "struts": base.struts},
            "root": of.root,
            "reach": base.reach if base else 0.0,
            "followed": of.followed,
            "heading": of.heading,
            "stands": of.stands,
            "standOutline": of.stand_outline,
            "beams": of.beams,
            "links": of.links,
            "outlines": of.outlines,
            "pins": of.pins,
            "jets": [
                {"nozzle": nozzle, "down": down, "thruster": number, "failed": failed}
                for (nozzle, down), number, failed in jets
            ],
        }

    def picture(self, rows: Array) -> TablePicture:
        """The scene at the last of some rows; a jet is shown where the thruster was open in one of them."""
        row = rows[-1]
        parts = self._rows.parts(row)
        points = []
        if parts.robot:
            points.append(np.array(self._rows.at(row))[:, self._axes])
        if parts.reference:
            points.append(np.array(self._rows.at_reference(row, parts))[self._ghost][:, self._axes])
        seen = [[x, y] for status, x, y in row[self._seen].tolist() if status == Status.OK] if self._seen else []
        facts = {
            "robot": parts.robot,
            "seen": seen,
            "reference": parts.reference,
            "opening": [round(part, 3) if part > 0 else 0 for part in self._rows.opening(rows)],
            "closed": [int(status) if status == status else 0 for status in self._rows.closed(row).tolist()],
        }
        joined = np.vstack(points) if points else np.zeros((0, len(self._axes)))
        return TablePicture(facts, joined.astype("<f4").tobytes())

    @property
    def has_vision(self) -> bool:
        """Whether a camera reports poses."""
        return bool(self._seen)

    def path(self, rows: Array, reference: bool = False) -> list[list[float]]:
        """Where the point that is followed is in some rows, or should be."""
        number, points = self._rows.scene.main.followed, []
        for row in rows:
            parts = self._rows.parts(row)
            if parts.reference if reference else parts.robot:
                at = self._rows.at_reference(row, parts) if reference else self._rows.at(row)
                points.append([round(at[number][axis], 4) for axis in self._axes])
        return points

    def preview(self, row: Array, poses: Array) -> dict[str, Any]:
        """The path of the point that is followed over some poses of the reference, and all points at the last one."""
        parts, path, at = DrawnParts(True, True), [], []
        for q in poses:
            moved = row.copy()
            moved[self._reference] = q
            at = self._rows.at_reference(moved, parts)
            path.append([round(at[self._rows.scene.main.followed][axis], 4) for axis in self._axes])
        return {"path": path, "points": [round(at[i][axis], 4) for i in self._ghost for axis in self._axes]}

    def sides(self, rows: Array) -> list[list[int]]:
        """Axes of the projections in which the motion of these rows is best seen."""
        at = np.array([self._rows.at(row) for row in rows if self._rows.parts(row).robot] or [[[0.0, 0.0, 0.0]]])
        return [projection.axes for projection in best_projections(at)] if not self._bed.planar else [[0, 1]]
