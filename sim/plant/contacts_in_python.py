"""The contacts of a compiled plant: closed and opened in Python, between two of its steps."""

from __future__ import annotations

from collections.abc import Mapping

from granite.config.records import Array
from granite.sim.plant.plant import Plant


class ContactsInPython:
    """Does what `SimulatedGrips.write` and `Plant.advance` do where commanded contacts change: a few times in a run.

    Parameters
    ----------
    plant
        At its start; its contacts must have a status that changes by command only. It is not used up.
    memory
        That of the compiled plant and grips.
    """

    def __init__(self, plant: Plant, memory: Mapping[str, Array]) -> None:
        assert plant.contacts is not None
        self._plant, self._memory = plant, memory
        self._n_q, self._n_u = len(plant.q), len(plant.u)
        self.restart()

    def restart(self) -> None:
        """Begin another run."""
        assert self._plant.contacts is not None
        self._contacts = self._plant.contacts.copy()

    def grip(self, setpoint: Array) -> None:
        """The grips get a set point, and report what they hold."""
        contacts, memory = self._contacts, self._memory
        contacts.grip(setpoint)
        memory["grips_commanded"][:] = setpoint != 0.0
        self._report()

    def switch(self) -> None:
        """Close and open contacts as commanded, before the next step."""
        contacts, memory = self._contacts, self._memory
        q, u = self._motion()
        q[:], u[:] = contacts.command(q, u)
        memory["plant_set"][0] = self._plant.set_number(contacts.label)
        memory["plant_closed"][:] = contacts.closed
        memory["plant_caught"][:] = contacts.caught
        memory["plant_lost"][0] = contacts.lost
        self._report()

    def _report(self) -> None:
        self._memory["plant_switches"][0] = self._contacts.is_switching
        self._memory["grips_holding"][:] = self._contacts.gripped(self._motion()[0].copy())

    def _motion(self) -> tuple[Array, Array]:
        """Views of the true coordinates and velocities."""
        state = self._memory["plant_state"]
        return state[: self._n_q], state[self._n_q : self._n_q + self._n_u]
