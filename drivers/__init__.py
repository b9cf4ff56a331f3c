"""The driver contract, and the drivers of real devices, one file each."""

#: drivers by kind, as `devices.NAME.driver` names them
KINDS: dict[str, str] = {
    "board": "board.device:BoardDevice",
    "camera": "camera.device:CameraDevice",
    "dynamixel": "dynamixel.device:DynamixelDevice",
    "moteus": "moteus.device:MoteusDevice",
    "natnet": "natnet.device:NatNet",
    "pose_stream": "pose_stream.device:PoseStream",
    "px4_odometry": "ros2.px4_odometry:Px4Odometry",
    "px4_thrusters": "ros2.px4_thrusters:Px4Thrusters",
    "qualisys": "qualisys:Qualisys",
    "ros2_joint_states": "ros2.joint_states:Ros2JointStates",
    "ros2_pose": "ros2.pose:Ros2Pose",
    "ros2_wrench": "ros2.wrench:Ros2Wrench",
    "serial_text": "serial_text.device:SerialTextDevice",
    "vicon": "vicon:Vicon",
    "vrpn": "vrpn:Vrpn",
}
