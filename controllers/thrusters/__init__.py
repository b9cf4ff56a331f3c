"""From a wrench on the root body to valves: sharing it among the thrusters, and modulating each."""
