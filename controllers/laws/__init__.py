"""From state and reference to demanded accelerations and forces."""
