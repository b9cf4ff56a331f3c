"""Messages of the autopilot PX4 (`px4_msgs`), as the versions from 1.15 on have them."""

from __future__ import annotations

from struct import Struct

ODOMETRY, MOTORS = "px4_msgs/msg/VehicleOdometry", "px4_msgs/msg/ActuatorMotors"
OFFBOARD, CONTROL_MODE = "px4_msgs/msg/OffboardControlMode", "px4_msgs/msg/VehicleControlMode"
COMMAND = "px4_msgs/msg/VehicleCommand"
#: outputs that PX4 has for motors, thrusters among them
OUTPUTS = 12

#: those of 1.15 and 1.16; later versions have others after the first five
_FLAGS = (
    *("armed", "multicopter_position_control_enabled", "control_manual_enabled", "control_auto_enabled"),
    *("control_offboard_enabled", "control_position_enabled", "control_velocity_enabled", "control_altitude_enabled"),
    *("control_climb_rate_enabled", "control_acceleration_enabled", "control_attitude_enabled"),
    *("control_rates_enabled", "control_allocation_enabled", "control_termination_enabled"),
)
_WAYS = "position", "velocity", "acceleration", "attitude", "body_rate", "thrust_and_torque", "direct_actuator"
DEFINITIONS = {
    ODOMETRY: """uint64 timestamp
        uint64 timestamp_sample
        uint8 pose_frame
        float32[3] position
        float32[4] q
        uint8 velocity_frame
        float32[3] velocity
        float32[3] angular_velocity
        float32[3] position_variance
        float32[3] orientation_variance
        float32[3] velocity_variance
        uint8 reset_counter
        int8 quality""",
    MOTORS: f"uint64 timestamp\nuint64 timestamp_sample\nuint16 reversible_flags\nfloat32[{OUTPUTS}] control",
    OFFBOARD: "uint64 timestamp" + "".join(f"\nbool {way}" for way in _WAYS),
    CONTROL_MODE: "uint64 timestamp" + "".join(f"\nbool flag_{flag}" for flag in _FLAGS) + "\nuint8 source_id",
    COMMAND: """uint64 timestamp
        float32 param1
        float32 param2
        float32 param3
        float32 param4
        float64 param5
        float64 param6
        float32 param7
        uint32 command
        uint8 target_system
        uint8 target_component
        uint8 source_system
        uint16 source_component
        uint8 confirmation
        bool from_external""",
}

#: head of CDR; a time of 0 is that of arrival, to PX4
_HEAD = b"\0\1\0\0"
_MOTORS, _OFFBOARD = Struct(f"<4sQQH2x{OUTPUTS}f"), Struct("<4sQ7?")
_COMMAND = Struct("<4sQ4f2dfI3BxHB?")
#: armed, and offboard control, which stand there in all versions
_CONTROL_MODE = Struct("<4xQ?3x?")
#: VEHICLE_CMD_COMPONENT_ARM_DISARM, and its second parameter to disarm in any state
_ARM_DISARM, _IN_ANY_STATE = 400, 21196.0


def motors(outputs: list[float]) -> bytes:
    """Normalised thrust of each output; NaN where it has none."""
    return _MOTORS.pack(_HEAD, 0, 0, 0, *outputs)


def offboard() -> bytes:
    """What PX4 needs at least twice a second, to let others set its outputs."""
    return _OFFBOARD.pack(_HEAD, 0, *(way == "direct_actuator" for way in _WAYS))


def disarm() -> bytes:
    """All outputs off, now."""
    return _COMMAND.pack(_HEAD, 0, 0.0, _IN_ANY_STATE, 0.0, 0.0, 0.0, 0.0, 0.0, _ARM_DISARM, 1, 1, 1, 1, 0, True)


def control_mode(message: bytes) -> tuple[bool, bool] | None:
    """Whether PX4 is armed, and in offboard mode; None for a damaged message."""
    if len(message) < _CONTROL_MODE.size:
        return None
    _, is_armed, is_offboard = _CONTROL_MODE.unpack_from(message)
    return is_armed, is_offboard
