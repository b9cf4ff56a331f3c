"""How a page looks: its size, colours and lines."""

from __future__ import annotations

from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

#: a slide of 16:9; taller where many panels need their room
SIZE_IN = (13.33, 7.5)
DPI = 130

#: Okabe and Ito's colours, distinct for every kind of colour vision; grey for black, olive for yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#4D4D4D", "#8C7A00")
INK, SOFT, PALE = "#22262B", "#5D666F", "#E2E5E8"
STOP, WARNING = "#B8001F", "#B87700"
GRANITE, PATH, PLUME = "#DFE0E3", "#0072B2", "#F28C1E"
HULL_FIRST, HULL_LAST, ARM = "#F3F6F9", "#8FB3D5", "#FFFFFF"
STAND, CONTACT, TIP = "#C9CDD2", "#00835F", "#56B4E9"

#: background of text in the view; an outline around the letters would turn them into shapes
HALO: dict[str, Any] = {"boxstyle": "round,pad=0.12", "fc": (1.0, 1.0, 1.0, 0.75), "ec": "none"}

STYLE: dict[str, Any] = {
    "agg.path.chunksize": 10000,  # the line of a long run is too much for one piece
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.grid": True,
    "axes.labelsize": 8.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": PALE,
    "legend.borderaxespad": 0.2,
    "legend.frameon": False,
    "legend.handlelength": 1.5,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,  # letters stay letters, to be searched and edited
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # a title may have a dollar sign in it
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


def colours(n: int) -> list[str]:
    """Colours of n series: all different, or where they are too many for that, from dark to light."""
    if n <= len(COLOURS):
        return list(COLOURS[:n])
    return [to_hex(colormaps["viridis"](0.92 * i / (n - 1))) for i in range(n)]


def words(name: str) -> str:
    """A name as people read it."""
    return name.replace("_", " ")
