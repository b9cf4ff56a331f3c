"""Signals of an audited simulation beside the motion."""

from __future__ import annotations

from granite.config.coordinates import Coordinate
from granite.config.testbed import Testbed


def audit_values(bed: Testbed) -> tuple[Coordinate, ...]:
    """Names and units of the audit, in the order of its record; none where the testbed is not audited."""
    if not bed.simulation.audit:
        return ()
    return (
        Coordinate("kinetic_energy", "J"),
        #: kinetic, of gravity and of strain
        Coordinate("energy", "J"),
        #: done on the modules by motors, thrusters, table and driven contacts, less damping and closing losses
        Coordinate("work", "J"),
        *(Coordinate(f"momentum_{axis}", "N s") for axis in "xyz"),
        *(Coordinate(f"angular_momentum_{axis}", "N m s") for axis in "xyz"),
        #: of thrusters, table, hoses and pushes on the modules that float
        *(Coordinate(f"impulse_{axis}", "N s") for axis in "xyz"),
        *(Coordinate(f"angular_impulse_{axis}", "N m s") for axis in "xyz"),
        #: largest of all closed contacts, in metres and radians, and in their rates
        Coordinate("gap", "1"),
        Coordinate("slip", "1"),
        #: sine of the least angle of a constraint to the others; 1 where nothing is held
        Coordinate("independence", "1"),
    )
