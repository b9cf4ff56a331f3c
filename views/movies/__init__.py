"""Films of a recorded run: the motion in space, and signals over time beneath it."""
