"""Granite: real-time hardware-in-the-loop control of air-bearing robots.

The public API: names in `__all__` are stable, everything else may change. Names are imported when they are first
used, so that `import granite` is fast.

>>> import granite
>>> bed = granite.load("free-flyer", {"loop.duration_s": 1.0})
>>> log = granite.simulate(bed)
>>> float(log["/truth"].base_x_m[-1])  # doctest: +SKIP

The packages behind this name lie at the top of the repository, one folder each; links beside this file lead to them.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from granite.config.behaviour import Behaviour as Behaviour
    from granite.config.behaviour import StateNote as StateNote
    from granite.config.coordinates import Coordinate as Coordinate
    from granite.config.devices.device import Device as Device
    from granite.config.distribution import ForceDistributionTable as ForceDistributionTable
    from granite.config.distribution import Objective as Objective
    from granite.config.errors import GraniteError as GraniteError
    from granite.config.errors import InputError as InputError
    from granite.config.law import LawTable as LawTable
    from granite.config.loader import load as load
    from granite.config.loader import presets as presets
    from granite.config.measurement import Bias as Bias
    from granite.config.measurement import Measurement as Measurement
    from granite.config.parts import PartTable as PartTable
    from granite.config.records import Command as Command
    from granite.config.records import Demand as Demand
    from granite.config.records import Frame as Frame
    from granite.config.records import Reference as Reference
    from granite.config.records import Sample as Sample
    from granite.config.records import State as State
    from granite.config.records import Status as Status
    from granite.config.testbed import Testbed as Testbed
    from granite.controllers.behaviours.state_machine import Action as Action
    from granite.controllers.behaviours.state_machine import Instant as Instant
    from granite.controllers.behaviours.state_machine import StateMachine as StateMachine
    from granite.controllers.behaviours.task_plan import TaskPlan as TaskPlan
    from granite.controllers.distribution.force_distribution import DistributionOutcome as DistributionOutcome
    from granite.controllers.distribution.force_distribution import ForceDistribution as ForceDistribution
    from granite.controllers.distribution.grasp import Grasp as Grasp
    from granite.controllers.distribution.grasp import GraspShape as GraspShape
    from granite.controllers.distribution.grasp import Grip as Grip
    from granite.controllers.model import ControlModel as ControlModel
    from granite.controllers.symbolic import SymbolicBehaviour as SymbolicBehaviour
    from granite.controllers.symbolic import SymbolicEstimator as SymbolicEstimator
    from granite.controllers.symbolic import SymbolicLaw as SymbolicLaw
    from granite.controllers.symbolic import SymbolicPart as SymbolicPart
    from granite.controllers.trajectories.quintic import Quintic as Quintic
    from granite.drivers.contract import Actuator as Actuator
    from granite.drivers.contract import Sensor as Sensor
    from granite.kernels.function_part import named_function as named_function
    from granite.logs.log import Log as Log
    from granite.logs.log import read_log as read_log
    from granite.logs.summary import metrics as metrics
    from granite.mrds.kinematics import Kinematics as Kinematics
    from granite.mrds.linearisation import linearise as linearise
    from granite.mrds.start import start_of as start_of
    from granite.mrds.system import System as System
    from granite.mrds.vibration_modes import modes as modes
    from granite.rt.api import plot as plot
    from granite.rt.api import simulate as simulate
    from granite.rt.environment import Environment as Environment
    from granite.rt.operator.client import Operator as Operator
    from granite.rt.replay import replay as replay
    from granite.rt.run import Run as Run
    from granite.rt.run_options import RunOptions as RunOptions
    from granite.rt.together import simulate_together as simulate_together
    from granite.tuning.many_runs import ManyRun as ManyRun
    from granite.tuning.many_runs import simulate_many as simulate_many

#: the module of each public name, read from the imports above, which only type checkers carry out
_HOME = {
    name: module
    for module, name in re.findall(r"\n    from (\S+) import \w+ as (\w+)", Path(__file__).read_text("utf-8"))
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'granite' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
