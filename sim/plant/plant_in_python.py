"""The plant of a compiled run in Python: the steps, loads and events that its compiled form leaves to it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from granite.config.records import NOTHING, Array
from granite.kernels.compiled_form import CompiledParts
from granite.sim.plant.equations import PlantState
from granite.sim.plant.plant import Plant


class PlantInPython(Plant):
    """A plant on the state of the compiled one: it goes on where that stopped, and leaves it where it goes on.

    Parameters
    ----------
    plant
        At its start; it is not used up.
    parts
        The library of the compiled plant and of its devices, which give thrust and torque, and observe the motion.
    """

    def __init__(self, plant: Plant, parts: CompiledParts) -> None:
        vars(self).update(vars(plant))
        self._start, self._memory = plant, parts.memory
        self._whole = self._memory["plant_state"]
        self._state = PlantState(*(self._whole[part] for part in self._parts))
        self.dependent = {}
        self._devices = _CompiledDevices(parts, len(self.bed.thrusters))
        self.thrust_sources = [self._devices] if self.bed.thrusters else []
        torque, n = self._memory["sim_torque"], len(self.bed.motors)
        self.torque_sources, self.pushes = [SimpleNamespace(torque=torque[:n])], torque[n:]
        self.observers = [self._devices]

    def restart(self, exposures: Array) -> None:
        """Begin another run, with these exposures of the cameras."""
        self._devices.exposures = exposures
        self.contacts = self._start.contacts.copy() if self._start.contacts else None

    def happen(self, t: float, events: Callable[[float], None]) -> None:
        """Let the timed events of time t act."""
        self._take()
        events(t)
        self._give()

    def finish(self, t: float) -> None:
        """The steps that are left of the advance to time t."""
        self._take()
        try:
            self._finish(int(self._memory["plant_first"][0]), t)
        finally:
            self._give()

    def find_loads(self) -> None:
        """Loads of the contacts."""
        self._take()
        loads, memory = self.contact_loads(), self._memory
        memory["plant_wrench"][:], memory["plant_squeeze"][:] = loads.wrench, loads.squeeze
        memory["plant_errors"][:] = loads.gap, loads.slip, loads.independence

    def grip(self, setpoint: Array) -> None:
        """The grips get a set point, and report what they hold."""
        assert self.contacts is not None
        self._take()
        self.contacts.grip(setpoint)
        self._memory["grips_commanded"][:] = setpoint != 0.0
        self._give()

    def _take(self) -> None:
        """The numbers of the compiled plant that are not in the state."""
        memory = self._memory
        self._steps, self._held = int(memory["plant_steps"][0]), self.every_set[int(memory["plant_set"][0])]
        self._averaged, self._next = memory["plant_averaged"].item(0), memory["plant_next"].item(0)
        self._last, self._loads = self._held.step, None
        self._last.thrust[-1], self._last.torque[:] = memory["plant_last_thrust"], memory["plant_last_torque"]

    def _give(self) -> None:
        """The same numbers, as they are now."""
        memory, contacts = self._memory, self.contacts
        memory["plant_steps"][0], memory["plant_set"][0] = self._steps, self.every_set.index(self._held)
        memory["plant_last_thrust"][:], memory["plant_last_torque"][:] = self._inputs_of_last_step()
        memory["plant_averaged"][0], memory["plant_next"][0] = self._averaged, self._next
        if contacts is not None:
            memory["plant_closed"][:], memory["plant_caught"][:] = contacts.closed, contacts.caught
            memory["plant_lost"][0], memory["plant_switches"][0] = contacts.lost, contacts.is_switching
            if len(memory["grips_holding"]):
                memory["grips_holding"][:] = contacts.gripped(self.q)


class _CompiledDevices:
    """The compiled thrusters and cameras, as the plant sees them."""

    def __init__(self, parts: CompiledParts, n_thrusters: int) -> None:
        pointer, whole = ctypes.c_void_p, ctypes.c_long
        self._n, self.exposures = n_thrusters, NOTHING
        self._thrust, self._addresses = parts.function("plant_thrust", whole, whole, pointer)
        self._observe, _ = parts.function("plant_observe", pointer, whole, pointer, ctypes.c_int)

    def thrust(self, first: int, last: int) -> Array:
        """Of all thrusters in each step [N]."""
        thrust = np.empty((last - first, self._n))
        self._thrust(*self._addresses, first, last, thrust.ctypes.data)
        return thrust

    def observe(self, last: int, path: Array) -> None:
        """Let the cameras see these steps."""
        rows = np.ascontiguousarray(path)
        self._observe(*self._addresses, self.exposures.ctypes.data, last, rows.ctypes.data, len(rows))
