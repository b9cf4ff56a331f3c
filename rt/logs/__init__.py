"""Logs and what is read from them: the layout of rows, MCAP files, replay, events, summaries, comparisons."""
