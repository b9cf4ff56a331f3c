"""AprilTags on rendered frames, through OpenCV."""

import numpy as np
import pytest

pytest.importorskip("cv2")

from granite.config.devices.camera import Tag
from granite.config.errors import InputError
from granite.drivers.camera.tags import TagFinder
from granite.drivers.camera.tracker import NO_MEMORY
from granite.sim.camera.render import NoiseBank, RenderedFrame
from granite.sim.camera.tag_light import tag_light
from tests.support.moving_bodies import NOISY, VIEW

ONE, TWO = Tag(id=3, size_m=0.16), Tag(id=7, size_m=0.16)


@pytest.mark.slow
def test_tags_give_poses_within_their_stated_deviation():
    rng = np.random.default_rng(2)
    finder, bank = TagFinder(VIEW, {"one": ONE, "two": TWO}), NoiseBank(VIEW.size, rng)
    sigmas = []
    for _ in range(2):
        poses = {"one": np.array([0.9, 1.2, 0.0]), "two": np.array([2.3, 1.5, 0.0])}
        for pose in poses.values():
            pose += rng.uniform((-0.4, -0.6, -3), (0.4, 0.6, 3))
        tags = [(ONE, poses["one"], np.zeros(3)), (TWO, poses["two"], np.zeros(3))]
        frame = RenderedFrame(VIEW, [], NOISY, bank, tag_light(VIEW, tags, 190.0, 0.002))
        _, seen = finder.see(NO_MEMORY, frame, 0.0)
        assert {sighting.body for sighting in seen.sightings} == {"one", "two"}
        for sighting in seen.sightings:
            off = sighting.pose - poses[sighting.body]
            off[2] = np.remainder(off[2] + np.pi, 2 * np.pi) - np.pi
            assert np.abs(off[:2]).max() < 2.74e-3
            sigmas.append(off / sighting.deviation)
    assert 0.2 < np.std(sigmas) < 2.5


def test_two_bodies_with_the_same_tag_are_refused():
    with pytest.raises(InputError, match=r"two.tag.id = 3: 'one' has the same tag"):
        TagFinder(VIEW, {"one": ONE, "two": ONE})
    with pytest.raises(InputError, match="tags of the families 25h9, 36h11, expected one family"):
        TagFinder(VIEW, {"one": ONE, "two": Tag(id=1, family="25h9", size_m=0.1)})
