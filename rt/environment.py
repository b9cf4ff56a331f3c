"""A run step by step: the same tick, called from outside, with set points of the caller where given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from granite.config.errors import InputError, one_of
from granite.config.loader import changed, load
from granite.config.reasons import Reason
from granite.config.records import Array, Command, Demand, Reference, State, Tick
from granite.config.testbed import Testbed
from granite.controllers.stack import ControlAllocation
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Loop
from granite.rt.run import Run


class Environment:
    """A simulated testbed that advances by one tick for each call of `step`.

    Parameters
    ----------
    bed
        A testbed, or the name of one.
    pushable
        Bodies that `push` may act on, by name.

    Examples
    --------
    >>> env = Environment("free-flyer")
    >>> tick = env.reset()
    >>> tick = env.step({"motors": [0.1, 0.0]})
    """

    def __init__(self, bed: Testbed | str, pushable: Sequence[str] = ()) -> None:
        whole = load(bed) if isinstance(bed, str) else bed
        still = [{"kind": "push", "at_s": 0.0, "duration_s": 1e-9, "body": body} for body in pushable]
        events = [*whole.model_dump()["simulation"]["events"], *still]
        self.bed = changed(whole, {"simulation.events": events}) if still else whole
        self.reset()

    def reset(self, seed: int | None = None) -> Tick:
        """Start again, with another seed if one is given.

        Returns
        -------
        Tick
            The records of the first tick.
        """
        if seed is not None:
            self.bed = changed(self.bed, {"seed": seed})
        self.run = Run(self.bed)
        self._actuation = _OverriddenActuation(self.run.stack.actuation, self.bed)
        self.run.stack = replace(self.run.stack, actuation=self._actuation)
        self._last = _LastRow()
        self._loop: Loop = self.run.loop(VirtualClock(), self._last)
        self._k = 0
        self.done = False
        self.run.devices.open()
        return self.step()

    def step(self, command: Mapping[str, ArrayLike] | None = None) -> Tick:
        """One tick.

        Parameters
        ----------
        command
            Set points by actuator, in the units of their signals, in place of the controllers'; actuators that are not
            named are left to the controllers. They pass the guard like any other command.

        Returns
        -------
        Tick
            Everything that was measured, estimated, commanded and applied; `done` says whether the run is over.

        Raises
        ------
        InputError
            Where an actuator is unknown, or a set point has another size.
        """
        if self.done:
            raise InputError("the run is over", key="step", expected="a call of reset")
        self._actuation.override(command or {})
        period = self.bed.loop.period_s
        verdict = self._loop.tick(self._k, self._k * period, 0.0)
        assert self.run.lab is not None
        self.run.lab.advance((self._k + 1) * period)
        self._k += 1
        self.done = verdict.stop or self._k >= self.run.ticks
        if self.done:
            self.run.devices.stop(self._k * period)
            self.run.devices.close()
        return self.run.channels.read(np.frombuffer(self._last.row))

    def push(self, body: str, force_n: Sequence[float] = (0.0, 0.0), moment_n_m: float = 0.0) -> None:
        """Apply a wrench to a body from now on, until the next call with this body.

        Parameters
        ----------
        body
            One of `pushable`.
        force_n
            Force at the mass centre, in world axes [N].
        moment_n_m
            Moment about z [N m].

        Raises
        ------
        InputError
            Where the body is not pushable.
        """
        assert self.run.lab is not None
        self.run.lab.push(body, force_n, moment_n_m)

    @property
    def reason(self) -> Reason:
        """The guard's reason for the last command."""
        return Reason(self.run.channels.read(np.frombuffer(self._last.row)).verdict.reason)


class _OverriddenActuation:
    """The allocate step, with some set points given from outside."""

    def __init__(self, actuation: ControlAllocation, bed: Testbed) -> None:
        self._actuation = actuation
        self._sizes = {name: len(device.signals(bed)) for name, device in bed.actuators.items()}
        self._given: dict[int, Array] = {}

    def override(self, command: Mapping[str, ArrayLike]) -> None:
        self._given = {}
        names = list(self._sizes)
        for name, values in command.items():
            if name not in names:
                raise InputError("no such actuator", key="command", value=name, expected=one_of(name, names))
            setpoint = np.array(values, dtype=np.float64)
            if setpoint.shape != (self._sizes[name],):
                expected = f"{self._sizes[name]} numbers"
                raise InputError(key=f"command.{name}", value=setpoint.tolist(), expected=expected)
            self._given[names.index(name)] = setpoint

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        command = self._actuation.allocate(state, reference, demand)
        if not self._given:
            return command
        setpoints = tuple(self._given.get(i, setpoint) for i, setpoint in enumerate(command.setpoints))
        return command._replace(setpoints=setpoints)


class _LastRow:
    """Keeps the row of the last tick."""

    row = b""

    def record(self, row: bytes) -> int:
        self.row = row
        return 0
