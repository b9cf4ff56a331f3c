"""Flexible links: beams bent in assumed modes."""
