"""Text output for users: testbeds, runs, replays, modes and checks of the machine."""
