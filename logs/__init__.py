"""Logs: the layout of rows, MCAP files, replay, events, summaries, comparisons."""
