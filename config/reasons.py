"""Reasons of the guard's verdict and of the end of a run: one name each, the same in log, summary and documents."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class WordedCode(IntEnum):
    """Numbers, each with a sentence for people."""

    text: str

    def __new__(cls, number: int, text: str = "") -> Self:
        """A member; from the number alone, the member that has it."""
        code = int.__new__(cls, number)
        code._value_ = number
        code.text = text
        return code


class Reason(WordedCode):
    """Below 10 all is well or nearly so; from 10 on it is a fault, whose response `safety.responses` has."""

    PASSED = 0, "the command went out unchanged"
    WAITING_FOR_SENSORS = 1, "a sensor has not reported yet, so the actuators rest"
    SETPOINT_CLAMPED = 2, "a set point was beyond the actuator's limit and was clamped to it"
    MEASUREMENT_REFUSED = 3, "a frame was too far from its prediction and was not used"
    GRIP_SLIPS = 4, "the force of a grip was outside its friction cone: it slips, or would without a pin"
    CONTACT_LOST = 5, "a grip pushed less than its least force: it has hardly any contact"
    THRUSTER_DEAD = 6, "a thruster gives no thrust and is not used any more"
    THRUSTER_STUCK_OPEN = 7, "a thruster does not close; the others act against it"
    POSE_TIME_STAMPS = 8, "poses arrive at another age than latency_s says: wrong time stamps, or a wrong latency_s"
    DISTRIBUTION_RELAXED = 9, "no grasp wrenches kept all limits: those of least violation were used"
    SENSORS_NEVER_REPORTED = 10, "a sensor did not report within safety.start_up_s"
    SAMPLE_NOT_FINITE = 11, "a measurement was not a finite number"
    STATE_NOT_FINITE = 12, "the estimate was not a finite number"
    COMMAND_NOT_FINITE = 13, "the command was not a finite number"
    SETPOINT_OUT_OF_RANGE = 14, "a set point was outside the range of its actuator"
    REFERENCE_NOT_FINITE = 15, "the reference was not a finite number"
    DEMAND_NOT_FINITE = 16, "the demand was not a finite number"
    APPLIED_NOT_FINITE = 17, "an actuator reported a set point that was not a finite number"
    APPLIED_OUT_OF_RANGE = 18, "an actuator reported a set point outside its range"
    SENSOR_SATURATED = 19, "a measurement was at the end of the sensor's range"
    SENSOR_STALE = 20, "the newest frame of a sensor was older than safety.age_s allows"
    SENSOR_FAULT = 21, "a sensor reported that it is broken"
    ACTUATOR_FAULT = 22, "an actuator was silent, refused its set point, or reported that it is broken"
    SENSOR_AHEAD = 23, "a frame of a sensor has a time in the future"
    SENSOR_TIME_BACK = 24, "a new frame of a sensor was measured before the last one"
    SENSOR_COUNTER = 25, "the frame counter of a sensor went back or jumped"
    SENSOR_FROZEN = 26, "a sensor repeated a value in new frames, although its noise must change it"
    SENSOR_OUTLIERS = 27, "too many frames of a sensor in a row were too far from their prediction"
    SENSOR_BIASED = 28, "frames of a sensor were always on one side of their prediction: drift, or an unknown force"
    SENSORS_DISAGREE = 29, "a sensor contradicts the estimate from the others: one of them is wrong"
    TABLE_EDGE = 30, "a base left the area of safety.table_m"
    BASE_TOO_FAST = 31, "a base was faster than safety.base_speed_m_s or safety.base_rate_rad_s"
    JOINT_LIMIT = 32, "a joint was outside its limits in safety.joints"
    JOINT_TOO_FAST = 33, "a joint was faster than its rate_rad_s in safety.joints"
    TRACKING_ERROR = 34, "a coordinate was further from its reference than safety allows"
    MOTION_UNEXPLAINED = 35, "model and commands do not explain the motion: an actuator, a pose sensor, or a push"
    REFERENCE_JUMP = 36, "the reference jumped by more than safety.monitor allows"
    TORQUE_STEP = 37, "a torque changed in one tick by more than safety.monitor allows"
    DISTRIBUTION_FAILED = 38, "the force distribution found no answer: numbers not finite, or iterations used up"
    TABLE_EDGE_AHEAD = 39, "a base could not have stopped inside safety.table_m with the deceleration of its brake"
    OVERRUN = 40, "a tick missed its deadline and loop.overrun is 'stop'"
    OPERATOR_STOP = 41, "the operator stopped the run"
    FAULT = 42, "an exception was raised inside the loop"
    PLANT_LOST = 43, "the simulated plant left the range of its model"
    TOO_LATE = 44, "a command was later than loop.longest_lateness_s and was not written"
    WATCHDOG = 45, "no tick ended within loop.watchdog_s"
    STOP_NOT_CONFIRMED = 46, "the run reached its end, but an actuator did not confirm its stop"
    OVERRUN_BURST = 47, "more than safety.burst_overruns ticks missed their deadline within a second"
    RECORDER_LOST = 48, "the recorder's process ended during the run"
    DISK_FULL = 49, "the disk of the log is nearly full"
    OPERATOR_LOST = 50, "an operator who watches fell silent, or the operator channel ended or hangs"
    EMERGENCY_STOP = 51, "the emergency stop was pressed"
    OPERATOR_HOLD = 52, "the operator asked for a hold"
    OPERATOR_FLOAT = 53, "the operator asked to float"
    LOW_PRESSURE = 54, "the supply pressure of thrusters was low"
    BRAKE_FAILS = 55, "a rate grew in a brake, or too fast for one: an actuator acts the wrong way, or too strongly"
    KEEP_OUT = 56, "a body was in a zone of safety.keep_out, or in another module"
    KEEP_OUT_AHEAD = 57, "a body could not have stopped before a zone or another module"
    MODEL_DOUBTED = 58, "the motion differs from the model by more than is known of it: the model, or a fault"
    MOTOR_GAIN = 59, "a motor gives less torque than commanded, or the other way"

    @property
    def stops(self) -> bool:
        """Whether it is a fault: the run ends, unless the response to it is milder."""
        return self >= 10
