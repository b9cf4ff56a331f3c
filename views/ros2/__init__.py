"""A run in the standard messages of ROS 2."""
