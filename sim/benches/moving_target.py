"""A plant whose body somebody hangs on a swing, with a flag in front of a photodiode, or lets float on the table.

On the swing its heading is h = h0 + A cos(2 pi (t - t0)/T), and the flag passes the photodiode in the middle.
"""

from __future__ import annotations

from math import cos, pi

import numpy as np

from granite.config.modules import Module
from granite.config.testbed import Testbed
from granite.sim.plant.constrained_plant import StepKernel
from granite.sim.plant.plant import Plant

#: half the angle over which the flag darkens the photodiode, the angle over which its edge does so, and its distance
#: from the middle of the swing, as parts of the largest angle
_FLAG, _EDGE, _OFF_CENTRE = 0.2, 0.05, 0.05


class MovingTargetPlant(Plant):
    """A plant for pose sensors, a photodiode and thrusters."""

    def __init__(self, bed: Testbed, module: Module) -> None:
        super().__init__(bed)
        self._heading = bed.layout.root_q(module).start + 2
        self._rate = bed.layout.root_u(module).start + 2
        self._middle = float(self._state.q[self._heading])
        self._amplitude = 0.0
        self._period = 1.0
        self._start = 0.0

    def swing(self, amplitude: float, period: float) -> None:
        """Hang it up and let it go now at this angle [rad]; at zero it floats at rest."""
        self._amplitude, self._period, self._start = amplitude, period, self.t
        self._state.q[self._heading] = self._middle + amplitude
        self._state.u[:] = 0.0

    def light(self, t: float) -> float:
        """1, or 0 while the flag is in front of the photodiode; between them at its edges."""
        if not self._amplitude:
            return 1.0
        angle = cos(2 * pi * (t - self._start) / self._period)
        return min(max((abs(angle - _OFF_CENTRE) - _FLAG) / _EDGE + 0.5, 0.0), 1.0)

    def _go(self, stride: StepKernel) -> None:
        if not self._amplitude:
            super()._go(stride)
            return
        last = self._steps + stride.steps
        phase = 2 * pi * (np.arange(self._steps + 1, last + 1) * self.step_s - self._start) / self._period
        path = np.tile(np.concatenate((self._state.q, self._state.u)), (stride.steps, 1))
        path[:, self._heading] = self._middle + self._amplitude * np.cos(phase)
        path[:, len(self._state.q) + self._rate] = -2 * pi / self._period * self._amplitude * np.sin(phase)
        self._state.q[:], self._state.u[:] = np.split(path[-1], [len(self._state.q)])
        self._steps = last
        for observer in self.observers:
            observer.observe(last, path)
