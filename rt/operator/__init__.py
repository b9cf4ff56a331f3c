"""The operator channel: people talk to a running loop over ZeroMQ with CURVE keys, from another process."""
