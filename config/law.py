"""The table of a law: its options, and what the testbed asks of the law before there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import SerializeAsAny

from granite.config.gains import LiveGain
from granite.config.parts import PartTable, RecordedLimit, validated

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class LawTable(PartTable):
    """The table of a law: its kind, and in subclasses its options."""

    #: it follows the tasks of a state machine, not all coordinates of the reference
    follows_tasks: ClassVar[bool] = False
    #: its demand is F = M a + h of an open chain, and the torques may exceed the limits of the motors
    gives_joint_accelerations: ClassVar[bool] = False

    #: run it where the closed loop is unstable at the start
    allow_unstable: bool = False

    def judged(self, bed: Testbed) -> tuple[RecordedLimit, ...]:
        """Bounds of the numbers that it records, which the guard checks."""
        return ()

    def followed(self, bed: Testbed) -> tuple[str, ...]:
        """Modules that it moves along the reference: all that it controls, or the object that these carry."""
        return tuple(module.name for module in bed.controlled)

    def unfollowed(self, bed: Testbed) -> frozenset[str]:
        """Names of coordinates of these modules that have no reference of their own: they follow from the others."""
        return frozenset()

    def columns(self, bed: Testbed) -> Mapping[str, Mapping[str, float | str]]:
        """Numbers by coordinate, by the title of their column: `granite show` prints them beside the coordinates."""
        return {}

    def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
        """Gains that may change during a run; the law takes them by its method `tune(values)`."""
        return ()


#: a field of a testbed that holds a law
LawPart = Annotated[SerializeAsAny[LawTable], validated("law")]
