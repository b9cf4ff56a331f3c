"""The simulated camera in the loop: poses from rendered pixels beside those of the ideal source."""

import numpy as np
import pytest

import granite
from granite.config.devices.camera import Camera, Target
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.modules import Module
from granite.drivers.camera.view import view_of
from granite.sim.camera.device import SimulatedCamera
from granite.sim.camera.render import RenderedFrame
from granite.sim.camera.scene import FilmedScene, sensor_of
from granite.sim.camera.whole_frames import WholeFrames
from tests.support.prescribed import PrescribedMotion, new_frames, swaying, swaying_pose, swaying_velocity

QUIET = ["devices.vision.simulated.latency_jitter_s=0.0", "devices.vision.simulated.dropout_probability=0.0"]


def device(*overrides, seed=0):
    return swaying("free-flyer/camera", list(overrides), SimulatedCamera, seed)


def test_a_pose_from_pixels_is_that_of_its_exposure_and_states_its_error():
    arrivals = new_frames(device(*QUIET), 1.5)
    assert len(arrivals) > 80
    errors = np.array([frame.values[:3] - swaying_pose(frame.t) for _, frame in arrivals])
    sigmas = errors / np.array([frame.values[3:] for _, frame in arrivals])
    assert np.abs(errors[:, :2]).max() < 2.74e-3 / 10
    assert sigmas.std() == pytest.approx(1.0, abs=0.15)
    late = np.array([read - frame.t for read, frame in arrivals])
    assert late.min() >= 0.035 - 1e-9
    assert late.max() < 0.035 + 0.005 + 1e-9


def test_frames_are_lost_and_late_as_configured():
    arrivals = new_frames(device("devices.vision.simulated.dropout_probability=0.5"), 2.0)
    assert 40 < len(arrivals) < 80
    late = [read - frame.t for read, frame in arrivals]
    assert max(late) - min(late) > 0.006


def test_a_seed_repeats_every_pixel():
    one, again, other = (new_frames(device(seed=seed), 0.5)[-1][1].values for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_true_lens_other_than_the_calibrated_one_shows_as_an_error():
    bed = load("free-flyer/camera")
    camera = bed.devices["vision"]
    assert isinstance(camera, Camera)
    bent = camera.calibrated.model_copy(update={"distortion": (-0.02, 0.0, 0.0, 0.0, 0.0)})
    errors = camera.simulated.model_copy(update={"view": bent})
    crooked = camera.model_copy(update={"simulated": errors})
    plant = PrescribedMotion(
        bed, lambda t: np.append(swaying_pose(t), [0.0, 0.0]), lambda t: np.append(swaying_velocity(t), [0.0, 0.0])
    )
    arrivals = new_frames(SimulatedCamera(crooked, plant, np.random.default_rng(0)), 0.2)
    off = [np.abs(frame.values[:2] - swaying_pose(frame.t)[:2]).max() for _, frame in arrivals]
    assert max(off) > 1e-3


def test_the_free_flyer_flies_from_pixels_and_replays():
    bed = load("free-flyer/camera", {"loop.duration_s": 1.5})
    one, again = granite.simulate(bed), granite.simulate(bed)
    assert one.summary["ended"] == "completed"
    np.testing.assert_array_equal(one["/truth"].base_x_m, again["/truth"].base_x_m)
    assert granite.replay(one).first is None
    off = one["/truth"].base_x_m - one["/reference"].base_x_m
    assert np.abs(off[20:]).max() < 2e-3  # the first ticks wait for the first frame


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("devices.vision.targets=[]", "targets = 0: expected the targets of the body, or a `tag`"),
        ("devices.vision.field_m=[0.0, 0.0, -1.0, 2.0]", "expected least x, least y, greatest x, greatest y"),
        ("devices.vision.field_m=none", "field_m is missing, expected the part of the plane"),
        ("devices.vision.simulated.perfect=true", "because a camera renders its frames"),
    ],
)
def test_a_camera_that_can_not_see_is_refused(change, sentence):
    with pytest.raises(InputError, match=sentence):
        load("free-flyer/camera", [change])


def test_a_body_with_a_tag_is_seen_too():
    pytest.importorskip("cv2")
    arrivals = new_frames(device(*QUIET, "devices.vision.targets=[]", "devices.vision.tag={size_m=0.16}"), 0.09)
    assert len(arrivals) >= 3
    assert max(np.abs(frame.values[:2] - swaying_pose(frame.t)[:2]).max() for _, frame in arrivals) < 1e-3


def test_bodies_that_can_not_be_told_apart_are_refused_before_the_run():
    square = "[{position_m=[0.1,0.1]},{position_m=[-0.1,0.1]},{position_m=[-0.1,-0.1]},{position_m=[0.1,-0.1]}]"
    with pytest.raises(InputError, match="base: turned, 4 of its targets lie as before"):
        device(f"devices.vision.targets={square}")


def test_two_bodies_with_a_camera_device_each_are_both_seen():
    bed = load("free-flyer/camera", QUIET)
    first = bed.devices["vision"]
    assert isinstance(first, Camera)
    puck = Module.model_validate(
        {
            "name": "puck",
            "dimension": "planar",
            "base": "floating",
            "bodies": [{"name": "disc", "mass_kg": 5.0, "inertia_kg_m2": 0.1}],
        }
    )
    pair = ({"position_m": (0.2, 0.0)}, {"position_m": (-0.14, 0.0), "radius_m": 0.024})
    targets = tuple(Target.model_validate(target) for target in pair)
    devices = {
        "vision": first.model_copy(update={"module": "vehicle"}),
        "other": first.model_copy(update={"module": "puck", "body": None, "targets": targets}),
    }
    both = bed.model_copy(update={"modules": (*bed.modules, puck), "devices": devices})
    elsewhere, drift = np.array([2.2, 1.6, 1.0]), np.array([-0.2, 0.1, 0.4])
    plant = PrescribedMotion(
        both,
        lambda t: np.concatenate((swaying_pose(t), [0.0, 0.0], elsewhere + t * drift)),
        lambda t: np.concatenate((swaying_velocity(t), [0.0, 0.0], drift)),
    )
    cameras = [SimulatedCamera(device, plant, np.random.default_rng(k)) for k, device in enumerate(devices.values())]
    for k in range(40):
        seen = [camera.read(0.005 * k) for camera in cameras]
    assert min(frame.number for frame in seen) > 8
    np.testing.assert_allclose(seen[0].values[:3], swaying_pose(seen[0].t), atol=1e-3)
    np.testing.assert_allclose(seen[1].values[:3], elsewhere + seen[1].t * drift, atol=1e-3)


def test_a_camera_describes_its_image_and_marks():
    bed = load("free-flyer/camera")
    assert bed.devices["vision"].describe(bed)[1] == "1280 x 1024 pixels, exposure 2 ms, 4 targets"


BED = granite.load("free-flyer/camera", {"devices.vision.size_px": [320, 256]})
CAMERA = BED.devices["vision"]


def test_they_are_equal_and_differ_from_frame_to_frame():
    view, sensor = view_of(CAMERA), sensor_of(CAMERA)
    # Half of the targets are beyond the edge of the image.
    spots, light = FilmedScene(BED, CAMERA).light([(np.array([0.05, 2.7, 0.3]), np.array([0.2, 0.1, 0.3]))])
    frames, same = (WholeFrames(view, sensor, np.random.default_rng(3)) for _ in range(2))
    shown = [frames.render(spots, light) for _ in range(3)]
    rendered = [np.asarray(RenderedFrame(view, spots, sensor, same._noise)) for _ in range(3)]
    for one, other in zip(shown, rendered, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (shown[0] != shown[1]).mean() > 0.3
