"""A node of ROS 2 itself (rclpy, Fast DDS): operates a run by topics and prints what it found, as JSON.

Run by a Python that has rclpy; it imports nothing of Granite.
"""

import json
import sys
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

POSE, JOINTS = "/granite/estimate/vehicle/pose", "/granite/estimate/joint_states"


def main(x: float, seconds: float) -> None:
    """Arm, start, fly to `x` and stop; in between the poses of some seconds."""
    rclpy.init()
    node = rclpy.create_node("somebody_else")
    poses, joints, answers = [], [], []
    node.create_subscription(PoseStamped, POSE, poses.append, 1000)
    node.create_subscription(JointState, JOINTS, joints.append, 1000)
    node.create_subscription(
        DiagnosticArray, "/diagnostics", lambda a: answers.extend((s.name, s.message) for s in a.status), 1000
    )
    command = node.create_publisher(String, "/granite/command", 10)
    goal = node.create_publisher(PoseStamped, "/granite/goal/vehicle/pose", 10)

    def until(is_done, ask=None, limit: float = 60.0):
        end, next_ask = time.monotonic() + limit, 0.0
        while not (result := is_done()):
            assert time.monotonic() < end, (poses[-1:], answers)
            if ask and time.monotonic() > next_ask:
                ask()
                next_ask = time.monotonic() + 2.0
            rclpy.spin_once(node, timeout_sec=0.05)
        return result

    def answer(name: str, ask, good: str):
        return until(lambda: next((text for who, text in answers if who == name and text.startswith(good)), None), ask)

    def fly(to: float, good: str):
        message = PoseStamped()
        message.header.frame_id = "world"
        message.pose.position.x, message.pose.position.y, message.pose.orientation.w = to, 1.0, 1.0
        return answer("goal vehicle", lambda: goal.publish(message), good)

    until(lambda: command.get_subscription_count() and goal.get_subscription_count())
    for word in ("arm", "start"):
        answers.clear()
        answer("command", lambda word=word: command.publish(String(data=word)), "done")
    refusal, flight = fly(40.0, "refused"), fly(x, "done")
    poses.clear()
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end)
    came = [(one.header.stamp.sec + 1e-9 * one.header.stamp.nanosec, one.pose.position.x) for one in poses]
    (writer,) = node.get_publishers_info_by_topic(POSE)
    report = {
        "rmw": rclpy.get_rmw_implementation_identifier(),
        "nodes": node.get_node_names_and_namespaces(),
        "topics": dict(node.get_topic_names_and_types()),
        "writer": [writer.node_name, writer.topic_type, str(writer.topic_type_hash)],
        "said": [refusal, flight],
        "poses": came,
        "joints": list(joints[-1].name),
    }
    answers.clear()
    command.publish(String(data="stop"))
    until(lambda: any(name == "command" for name, _ in answers))
    print(json.dumps(report))


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]))
