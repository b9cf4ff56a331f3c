"""Brushless servos of mjbots: moteus over CAN FD (`docs/devices.md`)."""
