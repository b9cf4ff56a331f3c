"""The scene of a run as messages of the Foxglove SDK."""
