"""Arms that reach for an object and carry it: computed torque in task space, then object impedance.

A state machine gives the tasks. While all grips report to hold and the coordinates of the object have a weight, the
object is carried (`object_impedance.py`, its reference is that of the coordinates); otherwise each arm follows its own
tasks as an open chain, or with the grips that hold (`task_space.py`). The integrals of carrying begin at zero with
every grasp. The estimated disturbance is not used: while an object is squeezed it is the errors of motors that push
hard, and would throw the arms when the squeeze ends, because the observer forgets slower than the torques fall.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from granite.config.errors import InputError
from granite.config.gains import LiveGain
from granite.config.records import Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.config.tunable import Tunable
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.object_impedance import ObjectImpedance
from granite.controllers.laws.task_space import TaskSpace
from granite.controllers.model import ControlModel
from granite.kernels.compiled_form import CompiledForm, joined_forms


class ReachAndCarry:
    """Both laws with the gains of a testbed."""

    class Options(ObjectImpedance.Options, TaskSpace.Options):
        """Those of `object_impedance` for the object, and of `task_space` for the free arms."""

        follows_tasks: ClassVar[bool] = True
        arguments: ClassVar[frozenset[str]] = ObjectImpedance.Options.arguments | TaskSpace.Options.arguments

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The feedback of the object, and of the coordinates of the arms."""
            return (*ObjectImpedance.Options.tunable(self, bed), *TaskSpace.Options.tunable(self, bed))

        def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
            """Those of the object, then those of the arms."""
            return (*ObjectImpedance.Options.live_gains(self, bed), *TaskSpace.Options.live_gains(self, bed))

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse what one of the laws refuses, and grips that the behaviour does not close."""
        ObjectImpedance.check(options, bed)
        TaskSpace.check(options, bed)
        for grip in arm_grips(bed, carried_object(bed, options.object), may_float=True):
            if grip.contact.name not in bed.grips:
                raise InputError(
                    f"behaviour '{bed.behaviour.kind}' does not close grip '{grip.contact.name}'", key="kind",
                    value=options.kind, expected="contact sets with all grips",
                )  # fmt: skip

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        self._carrying = ObjectImpedance(options, model)
        self._reaching = TaskSpace(options, model, uses_disturbance=False)
        carried = carried_object(bed, options.object)
        names = [grip.contact.name for grip in arm_grips(bed, carried, may_float=True)]
        self._grips = [bed.grips.index(name) for name in names]
        own = model.layout.u[carried.name]
        #: weights of the object's coordinates among the tasks
        self._weights = slice(1 + own.start, 1 + own.stop)
        #: whether the object was carried in the last tick
        self._carries = np.zeros(1)
        self._idle = _idle(options, bed)

    def compiled_form(self) -> CompiledForm:
        """Both laws in C, and which of them is in charge."""
        reaching, carrying = self._reaching.compiled_form(), self._carrying.compiled_form()
        return joined_forms(
            "reach_and_carry_control",
            [
                reaching,
                carrying,
                CompiledForm(
                    (Path(__file__).with_suffix(".c"),),
                    {
                        "CARRY_GRIPS": len(self._grips),
                        "CARRY_WEIGHT": self._weights.start,
                        "CARRY_WEIGHTS": self._weights.stop - self._weights.start,
                        "CARRY_IDLE": len(self._idle),
                    },
                    {"CARRY_GRIP": self._grips},
                    parameters={"carry_idle": self._idle},
                    memory={"carries": self._carries},
                ),
            ],
        )

    def restart(self) -> None:
        """Back to the start, for another run."""
        self._carries[0] = 0.0

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        n = len(self._carrying.gains)
        self._carrying.tune(values[:n])
        self._reaching.tune(values[n:])

    def control(self, state: State, reference: Reference) -> Demand:
        """The demand of the law in charge; of the other one nothing is recorded."""
        held = bool(state.holding[self._grips].all())
        carries = held and bool(reference.task[self._weights].any())
        if carries and not self._carries[0]:
            self._carrying.restart()
        self._carries[0] = carries
        if carries:
            return self._carrying.control(state, reference)
        return self._reaching.control(state, reference)._replace(distribution=self._idle)


def _idle(options: ReachAndCarry.Options, bed: Testbed) -> Array:
    """The recorded numbers while nothing is carried: no force, and every limit of them kept."""
    names = [c.name for c in options.recorded(bed)]
    values = np.zeros(len(names))
    for name, _, least, _ in options.judged(bed):
        values[names.index(name)] = max(least, 0.0)
    return values
