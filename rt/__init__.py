"""The loop, its clocks, guard, recording, replay and the command line."""
