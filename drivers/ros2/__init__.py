"""ROS 2 without a ROS installation: a node over DDS, and sensors whose values come by a topic."""
