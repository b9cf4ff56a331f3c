"""The scene for the page: shapes once, by the numbers of their points; afterwards the points alone move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.plots.projection import best_projections
from granite.views.plots.silhouette import Silhouette
from granite.views.scene_rows import SceneRows


class Picture(NamedTuple):
    """The scene at a row."""

    facts: dict[str, Any]  #: what can be drawn, jets and contacts
    points: bytes  #: of the robot and then of its reference, float32


class TableScene:
    """The scene of a run, from above and, in space, from the side."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        self._rows, self._bed = SceneRows(bed, channels, first), bed
        scene = self._rows.scene
        self._axes = [0, 1] if bed.planar else [0, 1, 2]
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

    def picture(self, rows: Array) -> Picture:
        """The scene at the last of some rows; a jet is shown where the thruster was open in one of them."""
        row = rows[-1]
        parts = self._rows.parts(row)
        points = []
        if parts.robot:
            points.append(np.array(self._rows.at(row))[:, self._axes])
        if parts.reference:
            points.append(np.array(self._rows.at_reference(row, parts))[self._ghost][:, self._axes])
        facts = {
            "robot": parts.robot,
            "reference": parts.reference,
            "opening": [round(part, 3) if part > 0 else 0 for part in self._rows.opening(rows)],
            "closed": [int(status) if status == status else 0 for status in self._rows.closed(row).tolist()],
        }
        joined = np.vstack(points) if points else np.zeros((0, len(self._axes)))
        return Picture(facts, joined.astype("<f4").tobytes())

    def sides(self, rows: Array) -> list[list[int]]:
        """Axes of the projections in which the motion of these rows is best seen."""
        at = np.array([self._rows.at(row) for row in rows if self._rows.parts(row).robot] or [[[0.0, 0.0, 0.0]]])
        return [projection.axes for projection in best_projections(at)] if not self._bed.planar else [[0, 1]]
