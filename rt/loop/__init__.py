"""The loop: its clocks, the limit of lateness and the watchdog."""
