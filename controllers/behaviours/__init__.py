"""What the robot is told to do."""
