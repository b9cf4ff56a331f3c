"""Joint torques applied by the motors."""

from __future__ import annotations

from granite.views.plots.panels.panel import Line, Panel, is_something, lines
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import colours, words


def torque_panels(run: PlottedRun) -> list[Panel]:
    """In the colours of the joints."""
    of_joint = dict(zip(run.bed.joints, colours(len(run.bed.joints)), strict=True))
    driven = zip(run.bed.motors, run.torque.T, strict=True)
    named = {words(motor.joint): Line(torque, of_joint[motor.joint]) for motor, torque in driven}
    return [lines(run, "joint\ntorque [N m]", named, width=0.8)] if is_something(named) else []
