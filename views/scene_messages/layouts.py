"""Layouts of viewers for the signals of a testbed: the scene, errors, actuators, events and gains."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from xml.etree import ElementTree

from granite.config.coordinates import Coordinate
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.mcap_file import EVENTS, SCENE_TOPICS
from granite.views.scene_messages.body_frames import WORLD

#: plots of one layout, and lines of one plot, at most
_PLOTS, _LINES = 6, 8
#: of the lines of a plot; PlotJuggler draws a line without a colour of its own in black
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#17becf", "#e377c2", "#bcbd22")
#: keys of a panel's title: of Foxglove, and of Lichtblick
_TITLES = ("foxglovePanelTitle", "lichtblickPanelTitle")
#: field of view of the camera [deg], and the part of it that the table takes
_FIELD_DEG, _FILLED = 45.0, 0.8


def plotted(bed: Testbed, channels: Channels) -> dict[str, list[tuple[str, str]]]:
    """Plots by title, each with its signals as topic and key: every followed coordinate, then the actuators.

    Without either, as of a system that swings by itself, the first coordinates of the plant.
    """
    names = {module.name for module in bed.followed}
    lines: dict[str, list[tuple[str, str]]] = {}
    for coordinate in bed.known.positions:
        key = coordinate.key
        if any(coordinate in bed.known.positions[bed.known.q[name]] for name in names if name in bed.known.q):
            lines[key] = [(topic, key) for topic in ("/truth", "/state", "/reference") if _has(channels, topic, key)]
    applied = [c for entry, c in channels.topic("/applied").values if entry.endswith(".values")]
    for unit, title in (("N m", "torques"), ("1", "valves")):
        if of_unit := [("/applied", c.key) for c in applied if c.unit == unit][:_LINES]:
            lines[title] = of_unit
    if not lines:
        lines = {c.key: [("/truth", c.key)] for c in bed.positions if _has(channels, "/truth", c.key)}
    kept = [*list(lines)[: _PLOTS - 2], *(title for title in ("torques", "valves") if title in lines)]
    return {title: lines[title] for title in lines if title in kept}


def foxglove_layout(bed: Testbed, channels: Channels) -> str:
    """For Foxglove and Lichtblick: "Import from file" in their list of layouts."""
    panels: dict[str, object] = {
        "3D!scene": {
            "followTf": WORLD,
            "cameraState": _camera(bed),
            "topics": {topic: {"visible": True} for topic in SCENE_TOPICS[:2]},
            "layers": {"grid": {"layerId": "foxglove.Grid", "instanceId": "grid", "visible": True, "size": 10}},
        },
        "Parameters!gains": {"title": "Gains", **_titled("Gains")},
        "RawMessages!events": {"topicPath": EVENTS, **_titled("Events")},
    }
    for title, signals in plotted(bed, channels).items():
        lines = [f"{topic}.{key}" for topic, key in signals]
        paths = [
            {"value": line, "enabled": True, "timestampMethod": "receiveTime", "color": colour}
            for line, colour in zip(lines, _COLOURS, strict=False)
        ]
        panels[f"Plot!{title}"] = {**_titled(title), "paths": paths, "showLegend": True, "isSynced": True}
    plots = [name for name in panels if name.startswith("Plot!")]
    left = {"first": "3D!scene", "second": _beside("row", ["Parameters!gains", "RawMessages!events"])}
    layout = {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "splitPercentage": 55,
            "first": {"direction": "column", "splitPercentage": 75, **left},
            "second": _beside("column", plots),
        },
    }
    return json.dumps(layout, indent=2) + "\n"


def plotjuggler_layout(bed: Testbed, channels: Channels) -> str:
    """For PlotJuggler: "Load Layout", after the log."""
    root = ElementTree.Element("root")
    tabs = ElementTree.SubElement(root, "tabbed_widget", {"name": "Main Window", "parent": "main_window"})
    tab = ElementTree.SubElement(tabs, "Tab", containers="1", tab_name=bed.name)
    plots = plotted(bed, channels)
    sizes = ";".join(f"{1 / len(plots):.4f}" for _ in plots)
    container = ElementTree.SubElement(tab, "Container")
    splitter = ElementTree.SubElement(container, "DockSplitter", count=str(len(plots)), orientation="-", sizes=sizes)
    for title, signals in plots.items():
        area = ElementTree.SubElement(splitter, "DockArea", name=title)
        plot = ElementTree.SubElement(area, "plot", mode="TimeSeries", style="Lines")
        for (topic, key), colour in zip(signals, _COLOURS, strict=False):
            ElementTree.SubElement(plot, "curve", name=f"{topic}/{key}", color=colour)
    ElementTree.SubElement(tabs, "currentTabIndex", index="0")
    ElementTree.SubElement(root, "use_relative_time_offset", enabled="1")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


#: by viewer: the layout, and how the name of its file ends
LAYOUTS: dict[str, tuple[Callable[[Testbed, Channels], str], str]] = {
    "foxglove": (foxglove_layout, ".json"),
    "plotjuggler": (plotjuggler_layout, ".xml"),
}


def _titled(title: str) -> dict[str, str]:
    return dict.fromkeys(_TITLES, title)


def _camera(bed: Testbed) -> dict[str, object]:
    """From above, so that the table is in view; without a table, the few metres around the origin."""
    x_min, y_min, x_max, y_max = bed.safety.table_m or (-1.5, -1.5, 1.5, 1.5)
    half = max(x_max - x_min, y_max - y_min) / 2 / _FILLED
    return {
        "perspective": True,
        "phi": 0,
        "thetaOffset": 0,
        "distance": round(half / math.tan(math.radians(_FIELD_DEG / 2)), 2),
        "target": [0, 0, 0],
        "targetOffset": [(x_min + x_max) / 2, (y_min + y_max) / 2, 0],
        "targetOrientation": [0, 0, 0, 1],
        "fovy": _FIELD_DEG,
        "near": 0.5,
        "far": 5000,
    }


def _beside(direction: str, panels: list[str]) -> object:
    """Panels of equal size in a row or a column, as a tree of halves."""
    if len(panels) == 1:
        return panels[0]
    share = 100 / len(panels)
    return {
        "direction": direction, "splitPercentage": share, "first": panels[0], "second": _beside(direction, panels[1:]),
    }  # fmt: skip


def _has(channels: Channels, topic: str, key: str) -> bool:
    return any(isinstance(value, Coordinate) and value.key == key for _, value in channels.topic(topic).values)
