"""Plots, films, scenes and tables of runs."""
