"""Lens and plane from a rendered plate of dots, against the true ones and against OpenCV."""

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.drivers.camera.calibration import PlateView, calibrate, homography
from granite.drivers.camera.plate import Plate, find_corners, find_dots
from granite.drivers.camera.pose import fit_pose, placed
from granite.drivers.camera.view import Lens, PlaneView, mapped
from granite.sim.camera.render import LightSpot, NoiseBank, RenderedFrame
from tests.support.moving_bodies import NOISY, VIEW

SIZE = (640, 512)
PLATE = Plate(15, 12, 0.2)
POSE = (0.35, 0.25, 0.02)
#: barrel distortion, off-centre, and a camera that looks down at a slant
TRUE = PlaneView(
    Lens(640.0, (322.0, 251.0), (-0.12, 0.03, 1e-3, -5e-4, 0.0)),
    np.array([[3.66, 0.0, 1.83], [0.0, -3.66, 1.37], [0.02, -0.03, 1.0]]),
    SIZE,
)
GRID = np.array([(x, y) for x in np.linspace(40, 600, 9) for y in np.linspace(40, 470, 8)])
rng = np.random.default_rng(7)


def picture(plate=PLATE, pose=POSE, view=TRUE):
    spots = [LightSpot(x, y, 0.025, 190.0) for x, y in placed(plate.points, np.array(pose))]
    return np.asarray(RenderedFrame(view, spots, NOISY, NoiseBank(view.size, np.random.default_rng(0))))


def ideal(plate=PLATE, pose=POSE, noise=0.0):
    pixels = TRUE.to_pixel(placed(plate.points, np.array(pose)))
    return PlateView(plate.points, pixels + noise * rng.standard_normal(pixels.shape))


def test_a_plate_in_a_frame_gives_back_lens_and_plane():
    view = calibrate([find_dots(picture(), PLATE)], SIZE, POSE)
    off = np.hypot(*(view.view.to_plane(GRID) - TRUE.to_plane(GRID)).T)
    assert off.max() < 2.74e-3 / 5  # a thousandth of the field is the aim
    assert view.view.residual < 0.03
    assert len(view.residual) == 180


def test_a_small_plate_slid_over_the_table_does_as_well():
    small = Plate(7, 6, 0.2)
    poses = [(0.3, 0.3, 0.05), (1.9, 0.4, -0.1), (0.5, 1.3, 0.1), (1.9, 1.3, 0.0)]
    view = calibrate([ideal(small, pose, 0.01) for pose in poses], SIZE, poses[0])
    off = np.hypot(*(view.view.to_plane(GRID) - TRUE.to_plane(GRID)).T)
    assert off.max() < 2.74e-3 / 2


@pytest.mark.slow
def test_the_stated_uncertainty_is_that_of_repeated_calibrations():
    middle = (np.array([SIZE]) - 1) / 2
    sigmas = []
    for _ in range(60):
        view = calibrate([ideal(noise=0.05)], SIZE, POSE)
        off = view.view.to_plane(middle) - TRUE.to_plane(middle)
        sigmas += (off / view.deviation(middle)).ravel().tolist()
        assert view.view.residual == pytest.approx(0.05, rel=0.25)
    assert np.std(sigmas) == pytest.approx(1.0, abs=0.2)


def test_the_place_of_the_plate_is_as_uncertain_as_a_plate_elsewhere_differs():
    """The numbers move with the place of the plate as they do in a calibration with the plate elsewhere."""
    placed_by = (2e-3, 0.0, 1e-3)
    here = calibrate([ideal()], SIZE, POSE)
    added = calibrate([ideal()], SIZE, POSE, placed_by=placed_by).covariance - here.covariance
    elsewhere = [calibrate([ideal()], SIZE, np.add(POSE, np.diag(placed_by)[k])).numbers for k in (0, 2)]
    moved = np.array([numbers - here.numbers for numbers in elsewhere])
    np.testing.assert_allclose(np.sqrt(added.diagonal()), np.sqrt((moved**2).sum(axis=0)), rtol=0.02, atol=2e-6)


def test_our_lens_is_that_of_opencv():
    cv2 = pytest.importorskip("cv2")
    lens = TRUE.lens
    direction = rng.uniform(-0.5, 0.5, (50, 2))
    matrix = np.array([[lens.focal, 0, lens.centre[0]], [0, lens.focal, lens.centre[1]], [0, 0, 1]])
    points = np.column_stack((direction, np.ones(50)))
    theirs, _ = cv2.projectPoints(points, np.zeros(3), np.zeros(3), matrix, np.array(lens.distortion))
    np.testing.assert_allclose(lens.to_pixel(direction), theirs.reshape(-1, 2), atol=1e-9)
    np.testing.assert_allclose(lens.to_direction(lens.to_pixel(direction)), direction, atol=1e-10)


def test_a_view_maps_there_and_back():
    np.testing.assert_allclose(TRUE.to_pixel(TRUE.to_plane(GRID)), GRID, atol=1e-8)
    _, scale = VIEW.with_scale(GRID)
    np.testing.assert_allclose(scale, 3.66 / 1280, rtol=1e-9)
    H = np.array([[1.1, 0.1, 0.3], [-0.2, 0.9, 0.1], [0.05, -0.02, 1.0]])
    fitted = homography(GRID, mapped(H, GRID))
    np.testing.assert_allclose(fitted / fitted[2, 2], H, atol=1e-9)


def test_a_checkerboard_is_found_by_opencv():
    pytest.importorskip("cv2")
    board = Plate(9, 7, 0.25)
    pose = np.array([0.5, 0.55, 0.0])
    fine = [(np.arange(2 * n) + 0.5) / 2 - 0.5 for n in SIZE]
    columns, rows = np.meshgrid(*fine)
    x, y = (TRUE.to_plane(np.column_stack((columns.ravel(), rows.ravel()))) - pose[:2]).T / board.pitch
    inside = (x > -1) & (x < board.columns) & (y > -1) & (y < board.rows)
    dark = inside & ((np.floor(x) + np.floor(y)) % 2 == 0)
    light = np.where(dark, 30.0, 220.0).reshape(SIZE[1], 2, SIZE[0], 2).mean(axis=(1, 3))
    corners = find_corners(light.astype(np.uint8), board)
    off = corners.pixels - TRUE.to_pixel(placed(corners.points, pose))
    assert np.hypot(*off.T).max() < 0.3
    with pytest.raises(InputError, match="no checkerboard found, expected 9 x 7 inner corners"):
        find_corners(np.zeros(SIZE[::-1], np.uint8), board)


def test_a_plate_that_is_not_all_in_the_image_is_refused():
    with pytest.raises(InputError, match="a grid of 15 x 12 dots, of 180 spots, expected 16 x 12"):
        find_dots(picture(), Plate(16, 12, 0.2))
    with pytest.raises(InputError, match="a grid of 0 x 0 dots, of 0 spots"):
        find_dots(np.zeros(SIZE[::-1], np.uint8), PLATE)


def test_too_few_dots_and_dots_on_a_line_are_refused():
    with pytest.raises(InputError, match="12 dots in 1 views, expected 20 or more"):
        calibrate([ideal(Plate(4, 3, 0.3))], SIZE, POSE)
    with pytest.raises(InputError, match="its dots are collinear, expected dots all over the image"):
        calibrate([ideal(Plate(25, 1, 0.1))], SIZE, POSE)


@pytest.mark.slow
def test_poses_by_a_calibrated_view_are_off_by_what_it_leaves():
    """Lens, plane and the place of the plate differ from one calibration to the next; the targets are seen exactly."""
    corners = 0.18 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    placed_by, off, seeds = (3e-4, 3e-4, 3e-4), [], 100
    for _ in range(seeds):
        laid = np.array(POSE) + placed_by * rng.standard_normal(3)
        view = calibrate([ideal(pose=tuple(laid), noise=0.1)], SIZE, POSE, placed_by=placed_by)
        position, heading = view.offsets()
        for _ in range(6):
            pose = rng.uniform((0.4, 0.3, -3.0), (3.2, 2.4, 3.0))
            seen = view.view.to_plane(TRUE.to_pixel(placed(corners, np.array(pose))))
            fit = fit_pose(corners, seen, np.full(4, 1e-3))
            error = np.array(fit.pose) - pose
            off.append(error / (position, position, heading))
    x, y, heading = np.square(off).mean(axis=0)
    print(f"NEES {x}, {y}, {heading}")
    assert abs((x + y) / 2 - 1) < 1.96 * np.sqrt(2 / seeds)
    assert abs(heading - 1) < 1.96 * np.sqrt(2 / seeds)
