"""The guard: limits of a tick, and limits that need the ticks before."""
