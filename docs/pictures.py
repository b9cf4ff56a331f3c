"""Makes the pictures of docs/gallery.md, docs/tutorial.md and other pages, and the gallery's page.

python -m docs.pictures              # all
python -m docs.pictures gallery spot # these testbeds or examples alone
python -m docs.pictures pages safety # of these pages alone
python -m docs.pictures tutorial     # runs the commands and programs of the page: some minutes
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from PIL import Image

import granite
from docs.small_png import small_png
from granite.config.catalogue import catalogue
from granite.views.plots import plot_log
from granite.views.plots.layout import lay_out_view
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import STYLE
from granite.views.plots.view import View, known_ticks
from granite.views.plots.view_axes import draw_view, to_one_scale
from tests.support.pages import shell_script

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
#: width of a picture of the gallery as it is drawn [in], and as it is saved [pixels]
DRAWN_IN, SAVED = 5.0, 400
#: width of a picture of the tutorial [pixels]
WIDTH = 800
#: variants that move in another way than their presets
VARIANTS = {
    "spot": ("spot/arm",),
    "two-flyers": ("two-flyers/beam", "two-flyers/docking"),
    "fixed-dual-arm": ("fixed-dual-arm/pick-and-place", "fixed-dual-arm/carry-flexible"),
    "leap": ("leap/one-by-one", "leap/crawl"),
}


#: runs that show what a page is about: testbed, changes, panels of the plot
RUNS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "calibration": ("free-flyer", {"behaviour": {"kind": "survey"}, "loop.duration_s": 240.0}, ["view"]),
    "devices": ("spot/arm", {"loop.duration_s": 20.0}, ["torques", "valves"]),
    "faults": (
        "free-flyer",
        {
            "simulation.events": [
                {"at_s": 12.0, "kind": "fault", "device": "thrusters", "unit": "r5", "what": "stuck_open"}
            ]
        },
        ["tracking", "valves"],
    ),
    "pose-stream": ("three-flyers", {}, ["view"]),
    "safety": (
        "free-flyer",
        {
            "loop.duration_s": 20.0,
            "behaviour.check_moves": False,
            "behaviour.waypoints": [{"duration_s": 12.0, "target": {"base_x_m": 3.6}}],
        },
        ["view"],
    ),
    "simulated-lab": ("free-flyer/harsh", {}, ["tracking", "wrench"]),
}


def save(picture: Image.Image, path: Path, width: int) -> None:
    """Write a picture as a small PNG."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(small_png(picture, width))
    print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1e3:.0f} kB", flush=True)


def scene(log: granite.Log, title: str) -> Image.Image:
    """The motion in space alone, without the plot's panels."""
    run = PlottedRun(log)
    view = View(run, known_ticks(run.q))
    room = lay_out_view(view, DRAWN_IN)
    content = io.BytesIO()
    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(DRAWN_IN, room.height), layout="constrained")
        column = list(figure.subplots(len(room.heights), 1, squeeze=False, height_ratios=room.heights)[:, 0])
        draw_view(column, view, room.inch)
        column[0].get_legend().remove()
        column[0].set_title(title, loc="left", fontsize=13)
        if len(column) > 1:
            figure.get_layout_engine().execute(figure)
            to_one_scale(column)
        figure.savefig(content, format="png", dpi=200)
    return Image.open(content)


def last_run(script: Path) -> Image.Image | None:
    """The motion of the last run that an example leaves in memory or in its folder, if it leaves one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.argv = [str(script)]
        with contextlib.redirect_stdout(io.StringIO()):
            left = runpy.run_path(str(script), run_name="__main__")
        logs = [value for value in left.values() if isinstance(value, granite.Log)]
        logs += [granite.read_log(path) for path in Path(folder).glob("*.mcap")]
        return scene(logs[-1], script.name) if logs else None


def gallery(names: Sequence[str] = ()) -> None:
    """The picture of each testbed and of each example that flies, and the page that shows them."""
    page = ["# Gallery", "", "*What comes with Granite?*"]
    for title, beds in catalogue().items():
        page += ["", f"## {title}", ""]
        for bed in (bed for preset in beds for bed in (preset.name, *VARIANTS.get(preset.name, ()))):
            path = DOCS / "gallery" / f"{bed.replace('/', '-')}.png"
            if not names or bed in names:
                save(scene(granite.simulate(bed), bed), path, SAVED)
            if path.exists():
                page.append(f"![{bed}](gallery/{path.name})")
    page += ["", "## Examples", ""]
    for script in sorted(EXAMPLES.glob("*.py")):
        path = DOCS / "gallery" / f"{script.stem}.png"
        picture = last_run(script) if not names or script.name in names else None
        if picture is not None:
            save(picture, path, SAVED)
        if path.exists():
            page.append(f"[![{script.name}](gallery/{path.name})](../examples/{script.name})")
    (DOCS / "gallery.md").write_text("\n".join(page) + "\n")


def pages(names: Sequence[str] = ()) -> None:
    """The plots of runs."""
    with tempfile.TemporaryDirectory() as folder:
        for page in names or RUNS:
            bed, changes, panels = RUNS[page]
            path = Path(folder) / f"{page}.png"
            plot_log(granite.simulate(granite.load(bed, changes)), path, panels=panels)
            save(Image.open(path), DOCS / "plots" / path.name, WIDTH)


def tutorial() -> None:
    """Run the page as a script, and keep the pictures that its commands write."""
    with tempfile.TemporaryDirectory() as folder:
        script = shell_script(DOCS / "tutorial.md")
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, check=True)
        for path in Path(folder).glob("*.png"):
            save(Image.open(path), DOCS / "tutorial" / path.name, WIDTH)


if __name__ == "__main__":
    which, *names = sys.argv[1:] or ("",)
    if which in ("", "gallery"):
        gallery(names)
    if which in ("", "pages"):
        pages(names)
    if which in ("", "tutorial"):
        tutorial()
