"""A recorded run as one picture: what happened on the table, and what happened over time."""

from granite.rt.plots.page import plot_log as plot_log
