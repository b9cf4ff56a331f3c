"""What went on over time: tracking errors, torques, valves and step times, with events across them all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from config import coordinates
from config.records import Array
from rt.channels import STEPS
from rt.plots.look import COLOURS, PALE, PLUME, SOFT, STOP, WARNING, words
from rt.plots.run import Run

#: stretches of time over which a valve is averaged; finer than the page can show
_STRETCHES = 6000
#: stretches of time over which the median of a step's time is taken
_MEDIANS = 150


def draw_time_panels(figure: SubFigure, run: Run) -> None:
    """One panel below the other, those that this testbed has something to show in."""
    panels: list[Callable[[Axes, Run], None]] = [partial(_draw_errors, *group) for group in _errors(run).items()]
    panels += [_draw_torques] if run.bed.devices.motors else []
    panels += [_draw_valves] if run.thrusters else []
    panels += [_draw_step_times]
    heights = [1.5 if panel is _draw_valves else 1.0 for panel in panels]
    column = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, panel in zip(column, panels, strict=True):
        panel(axes, run)
    figure.align_ylabels(column)
    column[-1].set_xlim(float(run.t[0]), run.end)
    column[-1].set_xlabel("time [s]")
    _mark_events(figure, column, run)


def _errors(run: Run) -> dict[str, dict[str, Array]]:
    """Tracking errors by kind and unit, then by name, in thousandths of the unit."""
    robot, error = run.bed.robot, 1e3 * (run.q - run.reference)
    joints = {joint.name for joint in robot.joints}
    groups: dict[str, dict[str, Array]] = {}
    for i, (name, unit) in enumerate(coordinates.positions(robot)):
        if unit == "1":
            continue  # of a quaternion, which tells the eye nothing
        kind = "joint" if name in joints else "position" if unit == "m" else "heading"
        groups.setdefault(f"{kind}\nerror [m{unit}]", {})[name] = error[:, i]
    return groups


def _draw_errors(label: str, errors: dict[str, Array], axes: Axes, run: Run) -> None:
    root = run.bed.robot.root.name
    axes.axhline(0, color=SOFT, lw=0.8)
    for i, (name, error) in enumerate(errors.items()):
        axes.plot(run.t, error, color=COLOURS[i % len(COLOURS)], label=words(name.removeprefix(f"{root}_")))
    axes.set_ylabel(label)
    if len(errors) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)


def _draw_torques(axes: Axes, run: Run) -> None:
    """In the colours of the joints' errors."""
    joints = [joint.name for joint in run.bed.robot.joints_in_tree_order()]
    for motor, torque in zip(run.bed.devices.motors, run.torque.T, strict=True):
        axes.plot(run.t, torque, color=COLOURS[joints.index(motor.joint) % len(COLOURS)], lw=0.8)
    axes.set_ylabel("torque\n[N m]")


def _draw_valves(axes: Axes, run: Run) -> None:
    """A lane for each thruster, filled as far as its valve is open."""
    starts = np.arange(0, len(run.t), -(-len(run.t) // _STRETCHES))
    opening = np.add.reduceat(run.opening, starts) / np.diff(starts, append=len(run.t))[:, None]
    edges = np.append(run.t[starts], run.end)
    for lane, height in enumerate(np.vstack((opening, opening[-1:])).T):
        axes.fill_between(edges, lane + 0.4, lane + 0.4 - 0.8 * height, step="post", color=PLUME, lw=0.5)
        axes.axhline(lane + 0.4, color=PALE, lw=0.8)
    axes.set_ylim(len(run.thrusters) - 0.4, -0.6)
    axes.set_yticks(range(len(run.thrusters)), [words(unit.name) for unit in run.thrusters], fontsize=8)
    axes.grid(visible=False, axis="y")
    axes.set_ylabel("valves")


def _draw_step_times(axes: Axes, run: Run) -> None:
    """What each step of the tick took, one on the other: the median over stretches of the run."""
    starts = np.arange(0, len(run.t), -(-len(run.t) // _MEDIANS))
    medians = [np.nanmedian(part, axis=0) for part in np.split(1e6 * run.step_times, starts[1:])]
    edges = np.append(run.t[starts], run.end)
    axes.stackplot(edges, np.array([*medians, medians[-1]]).T, colors=COLOURS, labels=STEPS, step="post")
    axes.set_ylim(0, None)
    axes.set_ylabel("steps\n[us]")
    axes.legend(loc="lower right", bbox_to_anchor=(1.02, 1.0), ncols=8, fontsize=7.5, columnspacing=0.8, handlelength=1)


def _mark_events(figure: SubFigure, column: list[Axes], run: Run) -> None:
    """A line through all panels at every event, and above them what happened when."""
    times: dict[tuple[str, str], list[float]] = {}
    for event in run.events:
        colour = STOP if event["level"] == "error" else WARNING
        times.setdefault((str(event["name"]), colour), []).append(float(event["t_s"]))
    handles = []
    for (name, colour), when in times.items():
        for axes in column:
            axes.vlines(when, 0, 1, transform=axes.get_xaxis_transform(), color=colour, lw=1.2, zorder=1.5)
        often = f" ({len(when)} times)" if len(when) > 1 else ""
        handles.append(Line2D([], [], color=colour, lw=2, label=f"{words(name)} at {when[0]:.4g} s{often}"))
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=2, labelcolor="linecolor")
