"""Every preset and variant in the page: points within a pixel of those that `granite plot` draws."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granite as api
from granite.config.catalogue import catalogue
from granite.config.start import initial_motion
from granite.console.table_scene import TableScene
from granite.logs.channels import Channels
from granite.views.plots.scene import Scene
from tests.support.console_pages import opened_page
from tests.support.console_server import serving

pytestmark = pytest.mark.slow

BEDS = [
    name
    for entries in catalogue().values()
    for entry in entries
    for name in (entry.name, *(f"{entry.name}/{variant}" for variant in entry.variants))
]
DRAWN = (Path(__file__).parents[1] / "support" / "drawn_in_page.js").read_text()


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("runs")) as served:
        yield opened_page(browser, served)


@pytest.mark.parametrize("name", BEDS)
def test_a_testbed_is_drawn_where_the_plot_has_it(page: Any, name: str):
    bed = api.load(name)
    channels, q = Channels.of(bed), initial_motion(bed)[0]
    row = np.full(channels.width, np.nan)
    row[channels.columns("/truth", "q")] = q
    scene = TableScene(bed, channels, row)
    shapes, sides = scene.shapes(), scene.sides(row[None])
    facts, content = scene.picture(row[None])
    assert facts["robot"]
    sent = np.frombuffer(content, "<f4").astype(float)
    plotted = Scene(bed, bed.modules).body_points.at(np.array(q)[None])[0]
    # Ends of links and beams, and the root of each module: what is sure to be inked.
    inked = sorted(
        {i for m in shapes["modules"] for part in (*m["links"], *m["beams"]) for i in part}
        | {corner for m in shapes["modules"] if m["base"] for corner in m["base"]["corners"]}
    )
    assert inked
    for view, axes in zip(page.evaluate(DRAWN, [shapes, sides, sent.tolist()]), sides, strict=True):
        shown = np.reshape(sent, (-1, shapes["axes"]))[: len(plotted)][:, axes]
        assert np.abs(shown - plotted[:, axes]).max() * view["scale"] < 0.5
        assert np.array(view["far"])[inked].max() <= 1.0
    assert page.problems == []
