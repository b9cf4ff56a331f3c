"""Runs with their events, the pages drawn of them, and what can be read there."""

import dataclasses
import itertools

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

from granite.config.verdict_subjects import subjects
from granite.logs.channels import Channels
from granite.logs.events import Events
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory
from granite.views.plots import page
from granite.views.plots.style import STYLE


def run(bed) -> Log:
    """A run with its events, as the recorder would have reported them."""
    log, events = simulate_in_memory(bed), []

    def report(t, tick, level, name, text):
        events.append({"t_s": t, "tick": tick, "level": level, "name": name, "text": text})

    Events(log.bed, log.channels, subjects(log.bed), report).look(log.rows)
    return dataclasses.replace(log, events=tuple(events))


def log_of(bed, q, **truth) -> Log:
    """A log in which this happened, one row for each row of q; `truth` gives other entries of /truth by name."""
    channels = Channels.of(bed)
    rows = np.zeros((len(q), channels.width))
    rows[:, channels.columns("/timing", "scheduled")] = np.arange(len(q)) * bed.loop.period_s
    rows[:, channels.columns("/timing", "tick")] = np.arange(len(q))
    for entry, values in {"q": q, **truth}.items():
        rows[:, channels.columns("/truth", entry)] = values
    return Log(bed, {}, channels, rows, (), None, True)


def with_rows(log: Log, rows, **changes) -> Log:
    return dataclasses.replace(log, rows=rows, **changes)


def drawn(log: Log) -> Figure:
    with matplotlib.style.context(["default", STYLE]):
        return page.build_page(log)


def texts(figure: Figure) -> list[str]:
    """All that can be read on the page."""
    return [text.get_text() for text in figure.findobj(Text)]


def panel(figure: Figure, label: str) -> Axes:
    """The panel with this label."""
    return next(axes for axes in figure.axes if axes.get_ylabel() == label)


def lines(axes: Axes) -> dict[str, np.ndarray]:
    """What the named lines of a panel show."""
    return {line.get_label(): np.asarray(line.get_ydata()) for line in axes.lines if line.get_label()[0] != "_"}


def legend(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def assert_nothing_is_cut(figure: Figure) -> None:
    """Every text lies on the page as a whole."""
    width, height = figure.bbox.width, figure.bbox.height
    for text, box in _boxes(figure):
        assert 0 <= box.x0 < box.x1 <= width, text
        assert 0 <= box.y0 < box.y1 <= height, text


def overprinted(figure: Figure) -> list[tuple[str, str]]:
    """Texts that lie one on the other; touching by two points is none."""
    boxes = [(text.get_text(), box.padded(-2.0)) for text, box in _boxes(figure)]
    return [(a, b) for (a, box), (b, other) in itertools.combinations(boxes, 2) if box.overlaps(other)]


def _boxes(figure: Figure) -> list[tuple[Text, BboxBase]]:
    """Every text that is seen, and the room it takes [pixels]."""
    figure.draw_without_rendering()
    unseen = [label for axes in figure.axes for label in _labels_out_of_view(axes)]
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text() and t not in unseen]
    return [(text, text.get_window_extent()) for text in shown]


def _labels_out_of_view(axes: Axes) -> list[Text]:
    """Of ticks beyond the ends of their axis, which are there but not drawn."""
    labels = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        labels += [tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
    return labels
