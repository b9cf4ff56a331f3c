"""A run on ROS 2 while it goes on, without a ROS installation: DDS by Cyclone, names and types as ROS 2 has them."""
