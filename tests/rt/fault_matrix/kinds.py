"""The table that the matrix is made from: kinds of faults, the devices they can hit, how they are made, and their end.

A time of None is the age that the guard allows the device, and a tenth of a second.
"""

from __future__ import annotations

from typing import NamedTuple

from granite.config.devices.device import Device
from granite.config.devices.emergency_stop import EmergencyStop
from granite.config.devices.force_gauges import ForceGauges
from granite.config.devices.grips import Grips
from granite.config.devices.joint_sensors import JointSensors
from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.devices.motors import Motors
from granite.config.devices.strain_gauges import StrainGauges
from granite.config.devices.thrusters import Thrusters
from granite.config.devices.vision import Vision
from tests.rt.fault_matrix.injections import FIRST, BedChange, Done, Event, Injection, OnLine, OnStream

Classes = tuple[type[Device], ...]


class Kind(NamedTuple):
    """A kind of fault on some kinds of devices."""

    fault: str
    on: Classes
    in_sim: Injection | None
    in_rehearsal: Injection | None
    noticed_by: str  #: names of reasons, any of which is right
    within_s: float | None
    #: where the ports make another fault of it
    rehearsed_by: str = ""
    rehearsed_within_s: float | None = None


JOINTS, CAMERA, BUTTON = (JointSensors,), (Vision,), (EmergencyStop,)
GAUGES = (StrainGauges, ForceGauges)
ON_BOARDS: Classes = (JointSensors, *GAUGES, EmergencyStop)
ACTUATORS: Classes = (Motors, Thrusters, MomentumWheels, Grips)

STALE, FROZEN, OUTLIERS, BIASED = "sensor_stale", "sensor_frozen", "sensor_outliers", "sensor_biased"
UNEXPLAINED, SILENT = "motion_unexplained", "actuator_fault"
MOTOR = f"motor_gain {UNEXPLAINED} {BIASED} {OUTLIERS}"
#: a line that is silent: the sensors on it are too old, or the actuators do not answer, whichever is noticed first
NO_ANSWER = "sensor_stale actuator_fault"
TROUBLE = "link_trouble"


def _signed(*rows: tuple[str, Classes, str, str, float, str, float]) -> list[Kind]:
    """Faults of values: the same event of the simulated device, behind the ports in a rehearsal."""
    return [
        Kind(fault, on, event := Event(what, unit, value), event, noticed_by, within)
        for fault, on, what, unit, value, noticed_by, within in rows
    ]


KINDS = (
    # Sensors: frames that do not come, come damaged, or have wrong numbers and times.
    Kind("missing", ON_BOARDS, Event("silent"), OnLine("lost"), STALE, None, NO_ANSWER),
    Kind("missing", CAMERA, Event("silent"), OnStream("lost"), STALE, None),
    Kind("every frame damaged", ON_BOARDS, None, OnLine("damaged"), NO_ANSWER, None),
    Kind("every frame damaged", CAMERA, None, OnStream("damaged"), STALE, None),
    Kind("frames of another version", JOINTS, None, OnLine("other_version"), NO_ANSWER, None),
    Kind("frames of another version", CAMERA, None, OnStream("other_version"), STALE, None),
    Kind("numbers go back", ON_BOARDS, Event("counter_jump", None, -50), OnLine("old_numbers"), "sensor_counter", 0.01,
         NO_ANSWER),
    Kind("numbers go back", CAMERA, Event("counter_jump", None, -50), OnStream("old_numbers"), "sensor_counter", 0.1,
         STALE),
    Kind("sequence gap", ON_BOARDS, Event("counter_jump", None, 1000), OnLine("gap"), "sensor_counter", 0.01, TROUBLE,
         1.5),
    Kind("sequence gap", CAMERA, Event("counter_jump", None, 1000), OnStream("gap"), "sensor_counter", 0.1, TROUBLE,
         1.5),
    Kind("every frame twice", JOINTS, None, OnLine("repeated"), TROUBLE, 1.5),
    Kind("every frame twice", CAMERA, None, OnStream("repeated"), TROUBLE, 1.5),
    Kind("time goes back", ON_BOARDS, Event("time_jump", None, -0.04), OnLine("time_back"), "sensor_time_back", 0.01,
         TROUBLE, 1.5),
    Kind("time goes back", CAMERA, Event("time_jump", None, -0.3), OnStream("time_back"), "sensor_time_back", 0.1,
         TROUBLE, 1.5),
    Kind("time in the future", ON_BOARDS, Event("time_jump", None, 1.0), OnLine("time_ahead"), "sensor_ahead", 0.01,
         TROUBLE, 1.5),
    Kind("time in the future", CAMERA, Event("time_jump", None, 1.0), OnStream("time_ahead"), "sensor_ahead", 0.1,
         TROUBLE, 1.5),
    Kind("later by 0.7 s", CAMERA, None, OnStream("delayed"), STALE, 0.8),
    Kind("body not seen", CAMERA, None, OnStream("untracked"), STALE, None),
    Kind("another body", CAMERA, None, OnStream("other_body"), STALE, None),
    # Sensors: values.
    Kind("NaN", (*JOINTS, *CAMERA, *GAUGES), Event("not_finite"), None, "sample_not_finite", 0.1),
    Kind("NaN", BUTTON, Event("not_finite"), None, "emergency_stop", 0.1),
    Kind("NaN", CAMERA, None, OnStream("not_finite"), "sample_not_finite", 0.1),
    Kind("frozen", (*JOINTS, *GAUGES), Event("frozen"), Event("frozen"), f"{FROZEN} {OUTLIERS}", 0.2),
    Kind("frozen", CAMERA, Event("frozen"), Event("frozen"), f"{FROZEN} {OUTLIERS} {UNEXPLAINED}", 0.6),
    *_signed(
        ("angle jumps by 0.05 rad", JOINTS, "offset", "elbow_angle_rad", 0.05, OUTLIERS, 0.1),
        ("rate jumps by 0.05 rad/s", JOINTS, "offset", "elbow_rate_rad_s", 0.05, f"{BIASED} {UNEXPLAINED} {OUTLIERS}",
         0.6),
        ("pose jumps by 0.1 m", CAMERA, "offset", "base_x_m", 0.1, OUTLIERS, 0.4),
        ("heading jumps by 0.5 rad", CAMERA, "offset", "base_heading_rad", 0.5, OUTLIERS, 0.4),
        ("implausible: beyond the range", JOINTS, "offset", "elbow_angle_rad", 4.0, "sensor_saturated", 0.1),
        ("implausible: beyond the range", (StrainGauges,), "offset", FIRST, 0.01, "sensor_saturated", 0.1),
        ("implausible: beyond the range", (ForceGauges,), "offset", FIRST, 50.0, "sensor_saturated", 0.1),
        ("pose contradicts model: drifts by 20 mm/s", CAMERA, "drift", "base_x_m", 0.02, f"{UNEXPLAINED} {OUTLIERS}",
         1.0),
        ("heading contradicts model: 0.05 rad/s", CAMERA, "drift", "base_heading_rad", 0.05,
         f"{UNEXPLAINED} {OUTLIERS}", 1.0),
    ),
    # Where the time of a sample is known to 1 ms, the angle of an elbow at 1 rad/s is known to 1 mrad.
    Kind("angle contradicts rate: drifts by 0.02 rad/s", JOINTS, Event("drift", "elbow_angle_rad", 0.02),
         Event("drift", "elbow_angle_rad", 0.02), BIASED, 0.5, BIASED, 1.2),
    Kind("rate contradicts angle: drifts by 0.05 rad/s2", JOINTS, Event("drift", "elbow_rate_rad_s", 0.05),
         Event("drift", "elbow_rate_rad_s", 0.05), BIASED, 0.5, f"{BIASED} {OUTLIERS}", 1.7),
    Kind("poses off by 0.1 m for 35 ms", CAMERA, Event("offset", "base_x_m", 0.1, 0.035),
         Event("offset", "base_x_m", 0.1, 0.035), "measurement_refused", 0.1),
    Kind("pressed", BUTTON, BedChange(("devices.emergency_stop={simulated={pressed_at_s=2.5}}",)),
         BedChange(("devices.emergency_stop={simulated={pressed_at_s=2.5}}",)), "emergency_stop", 0.01),
    # Actuators.
    Kind("missing", ACTUATORS, Event("silent"), OnLine("lost"), SILENT, 0.01, NO_ANSWER, 0.2),
    Kind("refuses", ACTUATORS, Event("refuses"), Done("press the board's emergency stop"), SILENT, 0.01, SILENT, 0.1),
    Kind("commands do not arrive: board's watchdog", ACTUATORS, None, OnLine("deaf"), NO_ANSWER, 0.3),
    Kind("reports NaN", ACTUATORS, Event("not_finite"), None, "applied_not_finite", 0.01),
    Kind("reports more than its range", (Motors, MomentumWheels), Event("offset", FIRST, 1e6), OnLine("report"),
         "applied_out_of_range", 0.01),
    Kind("reports more than its range", (Thrusters, Grips), Event("offset", FIRST, 2.0), None, "applied_out_of_range",
         0.01),
    Kind("reports more than its range", (Grips,), None, OnLine("report"), "applied_out_of_range", 0.1),
    *_signed(
        ("does not follow: dead", (Motors,), "torque_factor", "elbow", 0.0, MOTOR, 2.0),
        ("does not follow: half the torque", (Motors,), "torque_factor", "elbow", 0.5, MOTOR, 5.0),
    ),
    Kind("stuck open", (Thrusters,), Event("stuck_open", "r5"), Event("stuck_open", "r5"),
         f"{UNEXPLAINED} model_doubted thruster_stuck_open", 8.0),
    Kind("dead", (Thrusters,), Event("dead", "r5"), Event("dead", "r5"),
         f"{UNEXPLAINED} model_doubted thruster_dead", 8.0),
    # The board itself.
    Kind("port unplugged", (Motors,), None, OnLine("cut"), NO_ANSWER, 0.2),
    Kind("board killed", (Motors,), None, Done("kill the board"), NO_ANSWER, 0.2),
    Kind("board suspended for 1 s", (Motors,), None, Done("suspend the board"), NO_ANSWER, 0.2),
)  # fmt: skip
