"""Granite: real-time hardware-in-the-loop control of air-bearing robots.

The packages behind this name lie at the top of the repository, one folder each; links beside this file lead to them.
"""
