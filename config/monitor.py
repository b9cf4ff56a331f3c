"""Limits of the monitor: how far measurements, motion and commands may disagree before the run ends."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.calibration import CalibrationTable


class MonitorTable(Table):
    """Disagreement that no healthy device shows."""

    #: files of `granite calibrate residuals`
    calibration: tuple[CalibrationTable, ...] = ()
    #: innovation beyond which a frame is not used, in standard deviations
    gate_sigma: Positive = 5.0
    #: frames in a row that may be beyond the gate
    refused_frames: Annotated[int, Field(ge=1)] = 10
    #: the gate is open for this long after the state is ready, because velocities are not known before
    settling_s: NotNegative = 2.0
    #: compare motion with commands (residual force, mean innovation); false where pushes are expected
    judges_motion: bool = True
    #: time constant of the mean innovation and of the residual force
    window_s: Positive = 1.0
    #: time constant of the mean disturbance of a base, in which a fault of a thruster must be found to explain it
    patience_s: Positive = 4.0
    #: mean innovation of a signal, in standard deviations of the mean
    mean_innovation_sigma: Positive = 8.0
    #: mean force on a root that neither model nor disturbance estimate explain, as a part of the weakest thruster's,
    #: and moment likewise
    residual_thrust_ratio: Positive = 0.5
    #: mean disturbance of a root, as a part of the same, where no fault of a thruster explains it
    disturbance_thrust_ratio: Positive = 0.4
    #: mean torque on a joint that is not explained by the model, as a part of the motor's limit
    residual_torque_ratio: Positive = 0.03
    #: beside it, in parts of the friction that the joint's own key has: what is not known of it in motion, and what a
    #: joint at rest may hold in addition
    friction_error: NotNegative = 0.5
    static_friction: NotNegative = 1.5  #: the same for a joint at rest
    #: beyond this multiple of the limit of a joint, or of the disturbance of a root, the run ends; below it the model
    #: is doubted: a warning, then a hold
    stop_ratio: Annotated[float, Field(ge=1)] = 2.0
    #: part of its torque that a motor lacks at least where its gain is called wrong
    gain_error: Annotated[float, Field(gt=0, lt=1)] = 0.3
    #: least torque (root mean square over window_s) that the wrong gain explains, by joint; default: the limit of the
    #: mean torque
    gain_evidence_n_m: dict[Name, Positive] = Field(default_factory=dict)
    #: the limits as numbers, by coordinate, instead of a part of the data sheet
    residual_n: dict[Name, Positive] = Field(default_factory=dict)
    residual_n_m: dict[Name, Positive] = Field(default_factory=dict)  #: the same for moments and torques
    disturbance_n: dict[Name, Positive] = Field(default_factory=dict)  #: limit of the mean disturbance, by coordinate
    disturbance_n_m: dict[Name, Positive] = Field(default_factory=dict)  #: the same for moments
    #: mean difference between the age at which poses arrive and latency_s of their data sheet: a warning
    time_stamp_error_s: Positive = 0.015
    #: frames that the counter of a sensor may advance between two ticks
    counter_step: Annotated[int, Field(ge=1)] = 100
    #: change of the reference between two ticks beyond what its own velocity explains
    reference_step_m: Positive = 0.05
    reference_step_rad: Positive = 0.1  #: the same for angles
    #: change of a torque between two ticks, as a part of the motor's limit; none: laws that switch may step at will
    torque_step_ratio: Positive | None = None
