"""Reasons of the guard's verdict and of the end of a run: one name each, the same in log, summary and documents."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Below 10 the run continues; from 10 on it ends with valves closed and motors at zero."""

    PASSED = 0
    WAITING_FOR_SENSORS = 1
    SETPOINT_CLAMPED = 2
    SENSORS_NEVER_REPORTED = 10
    SAMPLE_NOT_FINITE = 11
    STATE_NOT_FINITE = 12
    COMMAND_NOT_FINITE = 13
    SETPOINT_OUT_OF_RANGE = 14
    REFERENCE_NOT_FINITE = 15
    SENSOR_STALE = 20
    SENSOR_FAULT = 21
    ACTUATOR_FAULT = 22
    SENSOR_AHEAD = 23
    TABLE_EDGE = 30
    BASE_TOO_FAST = 31
    JOINT_LIMIT = 32
    JOINT_TOO_FAST = 33
    TRACKING_ERROR = 34
    OVERRUN = 40
    OPERATOR_STOP = 41
    FAULT = 42
    PLANT_LOST = 43
    TOO_LATE = 44
    WATCHDOG = 45
    STOP_NOT_CONFIRMED = 46

    @property
    def stops(self) -> bool:
        """Whether the run ends."""
        return self >= 10

    @property
    def text(self) -> str:
        """One sentence for people."""
        return _TEXT[self]


_TEXT = {
    Reason.PASSED: "the command went out unchanged",
    Reason.WAITING_FOR_SENSORS: "a sensor has not reported yet, so the actuators rest",
    Reason.SETPOINT_CLAMPED: "a set point was beyond the actuator's limit and was clamped to it",
    Reason.SENSORS_NEVER_REPORTED: "a sensor did not report within safety.start_up_s",
    Reason.SAMPLE_NOT_FINITE: "a measurement was not a finite number",
    Reason.STATE_NOT_FINITE: "the estimate was not a finite number",
    Reason.COMMAND_NOT_FINITE: "the command was not a finite number",
    Reason.REFERENCE_NOT_FINITE: "the reference was not a finite number",
    Reason.SETPOINT_OUT_OF_RANGE: "a set point was outside the range of its actuator",
    Reason.SENSOR_STALE: "the newest frame of a sensor was older than safety.age_s allows",
    Reason.SENSOR_FAULT: "a sensor reported that it is broken",
    Reason.ACTUATOR_FAULT: "an actuator was silent, refused its set point, or reported that it is broken",
    Reason.SENSOR_AHEAD: "a frame of a sensor has a time in the future",
    Reason.TABLE_EDGE: "a base left the area of safety.table_m",
    Reason.BASE_TOO_FAST: "a base was faster than safety.base_speed_m_s or safety.base_rate_rad_s",
    Reason.JOINT_LIMIT: "a joint was outside its limits in safety.joints",
    Reason.JOINT_TOO_FAST: "a joint was faster than its rate_rad_s in safety.joints",
    Reason.TRACKING_ERROR: "a coordinate was further from its reference than safety allows",
    Reason.OVERRUN: "a tick missed its deadline and loop.overrun is 'stop'",
    Reason.OPERATOR_STOP: "the operator stopped the run",
    Reason.FAULT: "an exception was raised inside the loop",
    Reason.PLANT_LOST: "the simulated plant left the range of its model",
    Reason.TOO_LATE: "a command was later than loop.longest_lateness_s and was not written",
    Reason.WATCHDOG: "no tick ended within loop.watchdog_s",
    Reason.STOP_NOT_CONFIRMED: "the run reached its end, but an actuator did not confirm its stop",
}
