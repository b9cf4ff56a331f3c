"""The live view: a run as it is now, for clients of the Foxglove WebSocket protocol."""
