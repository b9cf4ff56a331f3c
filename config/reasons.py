"""Reasons of the guard's verdict and of the end of a run: one name each, the same in log, summary and documents."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Below 10 all is well or nearly so; from 10 on it is a fault, whose response `safety.responses` has."""

    PASSED = 0
    WAITING_FOR_SENSORS = 1
    SETPOINT_CLAMPED = 2
    MEASUREMENT_REFUSED = 3
    GRIP_SLIPS = 4
    CONTACT_LOST = 5
    THRUSTER_DEAD = 6
    THRUSTER_STUCK_OPEN = 7
    POSE_TIME_STAMPS = 8
    DISTRIBUTION_RELAXED = 9
    SENSORS_NEVER_REPORTED = 10
    SAMPLE_NOT_FINITE = 11
    STATE_NOT_FINITE = 12
    COMMAND_NOT_FINITE = 13
    SETPOINT_OUT_OF_RANGE = 14
    REFERENCE_NOT_FINITE = 15
    DEMAND_NOT_FINITE = 16
    APPLIED_NOT_FINITE = 17
    APPLIED_OUT_OF_RANGE = 18
    SENSOR_SATURATED = 19
    SENSOR_STALE = 20
    SENSOR_FAULT = 21
    ACTUATOR_FAULT = 22
    SENSOR_AHEAD = 23
    SENSOR_TIME_BACK = 24
    SENSOR_COUNTER = 25
    SENSOR_FROZEN = 26
    SENSOR_OUTLIERS = 27
    SENSOR_BIASED = 28
    SENSORS_DISAGREE = 29
    TABLE_EDGE = 30
    BASE_TOO_FAST = 31
    JOINT_LIMIT = 32
    JOINT_TOO_FAST = 33
    TRACKING_ERROR = 34
    MOTION_UNEXPLAINED = 35
    REFERENCE_JUMP = 36
    TORQUE_STEP = 37
    DISTRIBUTION_FAILED = 38
    TABLE_EDGE_AHEAD = 39
    OVERRUN = 40
    OPERATOR_STOP = 41
    FAULT = 42
    PLANT_LOST = 43
    TOO_LATE = 44
    WATCHDOG = 45
    STOP_NOT_CONFIRMED = 46
    OVERRUN_BURST = 47
    RECORDER_LOST = 48
    DISK_FULL = 49
    OPERATOR_LOST = 50
    EMERGENCY_STOP = 51
    OPERATOR_HOLD = 52
    OPERATOR_FLOAT = 53
    LOW_PRESSURE = 54
    BRAKE_FAILS = 55
    KEEP_OUT = 56
    KEEP_OUT_AHEAD = 57
    MODEL_DOUBTED = 58
    MOTOR_GAIN = 59

    @property
    def stops(self) -> bool:
        """Whether it is a fault: the run ends, unless the response to it is milder."""
        return self >= 10

    @property
    def text(self) -> str:
        """One sentence for people."""
        return _TEXT[self]


_TEXT = {
    Reason.PASSED: "the command went out unchanged",
    Reason.WAITING_FOR_SENSORS: "a sensor has not reported yet, so the actuators rest",
    Reason.SETPOINT_CLAMPED: "a set point was beyond the actuator's limit and was clamped to it",
    Reason.MEASUREMENT_REFUSED: "a frame was too far from its prediction and was not used",
    Reason.GRIP_SLIPS: "the force of a grip was outside its friction cone: it slips, or would without a pin",
    Reason.DISTRIBUTION_RELAXED: "no grasp wrenches kept all limits: those of least violation were used",
    Reason.CONTACT_LOST: "a grip pushed less than its least force: it has hardly any contact",
    Reason.THRUSTER_DEAD: "a thruster gives no thrust and is not used any more",
    Reason.THRUSTER_STUCK_OPEN: "a thruster does not close; the others act against it",
    Reason.POSE_TIME_STAMPS: "poses arrive at another age than latency_s says: wrong time stamps, or a wrong latency_s",
    Reason.SENSORS_NEVER_REPORTED: "a sensor did not report within safety.start_up_s",
    Reason.SAMPLE_NOT_FINITE: "a measurement was not a finite number",
    Reason.STATE_NOT_FINITE: "the estimate was not a finite number",
    Reason.COMMAND_NOT_FINITE: "the command was not a finite number",
    Reason.REFERENCE_NOT_FINITE: "the reference was not a finite number",
    Reason.DEMAND_NOT_FINITE: "the demand was not a finite number",
    Reason.APPLIED_NOT_FINITE: "an actuator reported a set point that was not a finite number",
    Reason.APPLIED_OUT_OF_RANGE: "an actuator reported a set point outside its range",
    Reason.SENSOR_SATURATED: "a measurement was at the end of the sensor's range",
    Reason.SETPOINT_OUT_OF_RANGE: "a set point was outside the range of its actuator",
    Reason.SENSOR_STALE: "the newest frame of a sensor was older than safety.age_s allows",
    Reason.SENSOR_FAULT: "a sensor reported that it is broken",
    Reason.ACTUATOR_FAULT: "an actuator was silent, refused its set point, or reported that it is broken",
    Reason.SENSOR_AHEAD: "a frame of a sensor has a time in the future",
    Reason.SENSOR_TIME_BACK: "a new frame of a sensor was measured before the last one",
    Reason.SENSOR_COUNTER: "the frame counter of a sensor went back or jumped",
    Reason.SENSOR_FROZEN: "a sensor repeated a value in new frames, although its noise must change it",
    Reason.SENSOR_OUTLIERS: "too many frames of a sensor in a row were too far from their prediction",
    Reason.SENSOR_BIASED: "frames of a sensor were always on one side of their prediction: drift, or an unknown force",
    Reason.SENSORS_DISAGREE: "a sensor contradicts the estimate from the others: one of them is wrong",
    Reason.TABLE_EDGE: "a base left the area of safety.table_m",
    Reason.BASE_TOO_FAST: "a base was faster than safety.base_speed_m_s or safety.base_rate_rad_s",
    Reason.JOINT_LIMIT: "a joint was outside its limits in safety.joints",
    Reason.JOINT_TOO_FAST: "a joint was faster than its rate_rad_s in safety.joints",
    Reason.TRACKING_ERROR: "a coordinate was further from its reference than safety allows",
    Reason.MOTION_UNEXPLAINED: "model and commands do not explain the motion: an actuator, a pose sensor, or a push",
    Reason.REFERENCE_JUMP: "the reference jumped by more than safety.monitor allows",
    Reason.TORQUE_STEP: "a torque changed in one tick by more than safety.monitor allows",
    Reason.DISTRIBUTION_FAILED: "the force distribution found no answer: numbers not finite, or iterations used up",
    Reason.TABLE_EDGE_AHEAD: "a base could not have stopped inside safety.table_m with the deceleration of its brake",
    Reason.OVERRUN: "a tick missed its deadline and loop.overrun is 'stop'",
    Reason.OPERATOR_STOP: "the operator stopped the run",
    Reason.FAULT: "an exception was raised inside the loop",
    Reason.PLANT_LOST: "the simulated plant left the range of its model",
    Reason.TOO_LATE: "a command was later than loop.longest_lateness_s and was not written",
    Reason.WATCHDOG: "no tick ended within loop.watchdog_s",
    Reason.STOP_NOT_CONFIRMED: "the run reached its end, but an actuator did not confirm its stop",
    Reason.OVERRUN_BURST: "more than safety.burst_overruns ticks missed their deadline within a second",
    Reason.RECORDER_LOST: "the recorder's process ended during the run",
    Reason.DISK_FULL: "the disk of the log is nearly full",
    Reason.OPERATOR_LOST: "an operator who watches fell silent, or the operator channel ended or hangs",
    Reason.EMERGENCY_STOP: "the emergency stop was pressed",
    Reason.OPERATOR_HOLD: "the operator asked for a hold",
    Reason.OPERATOR_FLOAT: "the operator asked to float",
    Reason.LOW_PRESSURE: "the supply pressure of thrusters was low",
    Reason.KEEP_OUT: "a body was in a zone of safety.keep_out, or in another module",
    Reason.KEEP_OUT_AHEAD: "a body could not have stopped before a zone or another module",
    Reason.MODEL_DOUBTED: "the motion differs from the model by more than is known of it: the model, or a fault",
    Reason.MOTOR_GAIN: "a motor gives less torque than commanded, or the other way",
    Reason.BRAKE_FAILS: "a rate grew in a brake, or too fast for one: an actuator acts the wrong way, or too strongly",
}
