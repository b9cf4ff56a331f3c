"""A plot of a recorded run: the motion in space, and signals over time."""

from granite.views.plots.figure_file import SUFFIXES as SUFFIXES
from granite.views.plots.figure_file import Picture as Picture
from granite.views.plots.figure_file import picture_of as picture_of
from granite.views.plots.figure_file import plot_log as plot_log
