"""Poses from a camera or a motion-capture system: one message over UDP or ZeroMQ, as `docs/pose-stream.md` has it."""
