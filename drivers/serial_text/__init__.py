"""Sensors and actuators that speak in lines of numbers on a serial port."""
