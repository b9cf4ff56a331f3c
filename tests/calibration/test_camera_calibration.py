"""`granite calibrate BED camera`: lens and plane from pictures of a plate, simulated and from a folder; refusals."""

import io
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import granite as package
from granite.calibration.camera import CameraProcedure
from granite.calibration.simulated import SimulatedOperator, repeat
from granite.config.errors import InputError
from granite.drivers.camera.sources.folder import write_frame
from granite.drivers.camera.view import view_of
from granite.rt.devices import build_devices
from tests.support.command_line import granite, left_in, sentence_of

__all__ = ["granite"]
DAY = "2026-11-17"
#: an image of half the size over half the field, and a smaller plate
SMALL = [
    "devices.vision.size_px=[640,512]",
    "devices.vision.field_m=[0.6,0.5,2.43,1.96]",
    "devices.vision.plate={ columns = 7, rows = 6, pitch_m = 0.1 }",
]
SET = [part for change in SMALL for part in ("--set", change)]
FILE = f"calibrations/camera-{DAY}.toml"
GRID = np.array([(x, y) for x in np.linspace(20, 620, 9) for y in np.linspace(20, 490, 8)])


def small(*more):
    return package.load("free-flyer/camera", [*SMALL, *more])


@pytest.fixture
def pictures(tmp_path):
    """A folder with a picture of the plate for each step, and the true numbers of the camera."""
    procedure = CameraProcedure(small())
    operator = SimulatedOperator(procedure, 5)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, step in enumerate(procedure.steps, 1):
        operator.ready(step)
        write_frame(folder, operator.bench.picture(), float(number), number)
    return folder, operator.truth


def view_with(numbers):
    """The table of a camera with these numbers of its view."""
    of = "devices.vision.view"
    distortion = (*(numbers[f"{of}.distortion.{i}"] for i in range(4)), 0.0)
    homography = (*(numbers[f"{of}.homography.{i}"] for i in range(8)), 1.0)
    nominal = small().devices["vision"].calibrated
    return nominal.model_copy(update={"distortion": distortion, "homography": homography})


def largest_error(table, truth):
    """Of points of the plane all over the image [m]."""
    camera = small().devices["vision"]
    off = view_of(camera, table).to_plane(GRID) - view_of(camera, view_with(truth)).to_plane(GRID)
    return float(np.hypot(*off.T).max())


class TypedLines(io.StringIO):
    """Lines that somebody types, or that come from a pipe."""

    is_terminal = False

    def isatty(self):
        return self.is_terminal


@pytest.fixture
def typing(granite, monkeypatch):
    """Call the command, and type lines."""

    def call(*arguments, typed="\n" * 9):
        monkeypatch.setattr(sys, "stdin", TypedLines(typed))
        return granite(*arguments)

    return call


def test_a_simulated_camera_is_recovered_within_its_stated_uncertainty():
    results = [repeat(CameraProcedure(small()), seed) for seed in (1, 2, 3)]
    assert all(each.level < 0.999 for each in results)
    assert max(each.level for each in results) > 0.05
    assert all((np.abs(each.fit.values - each.truth) < each.fit.expanded).all() for each in results)


def test_the_command_says_each_step_and_a_calibrated_camera_measures_the_true_pose(granite, tmp_path):
    said = granite("calibrate", "free-flyer/camera", "camera", "--simulate", "--date", DAY, *SET)
    assert "step 1 of 4: lay the plate of 7 x 6 dots in the plane of the targets" in said.err
    assert "a point of the plane is known to" in said.out
    assert f'calibration = "{FILE}" in [devices.vision]' in said.out
    assert left_in(tmp_path) == ["calibrations", f"calibrations/camera-{DAY}.png", FILE]
    content = tomllib.loads(Path(FILE).read_text())
    keys = [value["key"].removeprefix("devices.vision.view.") for value in content["values"]]
    assert keys[:5] == ["distortion", "homography", "focal_px", "centre_px", "residual_px"]
    assert keys[5:] == ["position_offset_m", "heading_offset_rad"]
    assert content["coverage"] == 0.99
    calibrated = f"devices.vision.calibration={FILE}"
    true = view_with(SimulatedOperator(CameraProcedure(small()), 1).truth)
    errors = []
    for changes in ([], [calibrated]):
        bed = small(*changes).with_changes({"devices.vision.simulated.view": true.model_dump()})
        devices, lab = build_devices(bed)
        frames = [devices.read(k * 0.005).frames for k in range(60)]
        [seen] = [frame.values[:3] for frame in frames[-1] if len(frame.values) == 6]
        errors.append(np.abs(seen - lab.plant.q[:3])[:2].max())
    assert not errors[0] < 3e-3  # or it finds no body at all
    assert errors[1] < 7e-4  # the plate was placed to 0.2 mm and 0.2 mrad


def test_pictures_of_a_folder_calibrate_a_real_camera(typing, pictures):
    folder, truth = pictures
    command = ("calibrate", "free-flyer/camera", "camera", "--from", folder, "--date", DAY, *SET)
    said = typing(*command, "--yes")
    assert said.code == 0, said.err
    content = tomllib.loads(Path(FILE).read_text())
    assert (content["simulated"], content["samples"]) == (False, 4 * 42)
    calibration = small(f"devices.vision.calibration={FILE}").devices["vision"].calibrated
    assert largest_error(small().devices["vision"].calibrated, truth) > 5e-3
    assert largest_error(calibration, truth) < 1.5e-3


def test_a_picture_without_the_plate_is_repeated_at_a_terminal(typing, pictures, monkeypatch):
    folder, _ = pictures
    write_frame(folder, np.zeros((512, 640), np.uint8), 0.5, 0)  # the first by its name
    command = ("calibrate", "free-flyer/camera", "camera", "--from", folder, "--date", DAY, *SET)
    monkeypatch.setattr(TypedLines, "is_terminal", True)
    ended = typing(*command, typed="\n\n\nq\n")
    assert (ended.code, Path(FILE).exists()) == (2, False)
    said = typing(*command, typed="\n" * 14)
    assert said.code == 0, said.err
    assert "devices.vision.plate: a grid of 0 x 0 dots" in said.err
    assert said.err.count("step 1 of 4") == 2


def test_bad_input_is_refused_in_one_sentence_and_nothing_is_written(typing, pictures, tmp_path):
    folder, _ = pictures
    command = ("calibrate", "free-flyer/camera", "camera", "--date", DAY, "--yes", *SET)

    def refused(*more):
        said = typing(*command, *more)
        *steps, sentence = said.err.splitlines()
        assert said.code == 2
        assert all(step.startswith(("step ", "  ")) for step in steps)
        assert not (tmp_path / "calibrations").exists()
        return sentence

    assert "devices.vision.driver is missing, expected the source of its frames, by --from" in refused()
    assert "no such source of frames" in refused("--from", "nowhere")
    other = refused("--from", folder, "--set", "devices.vision.size_px=[1280,1024]")
    assert "a frame of 640x512 pixels, expected 1280x1024" in other
    (folder / "000003.png").unlink()
    (folder / "000004.png").unlink()
    assert "2 pictures, and no more, expected one for each of 4 steps" in refused("--from", folder)
    wider = refused("--from", folder, "--set", "devices.vision.plate.columns=8")
    assert "devices.vision.plate: a grid of 7 x 6 dots, of 42 spots, expected 8 x 6" in wider
    large = refused("--set", "devices.vision.plate.pitch_m=1")
    assert "devices.vision.plate: a plate of 6 x 5 m, expected one that fits into" in large
    assert "--from = " in refused("--simulate", "--from", folder)
    assert "not used here" in sentence_of(typing("calibrate", "free-flyer", "joints", "--from", folder))
    assert "the testbed has no camera" in sentence_of(typing("calibrate", "free-flyer", "camera", "--simulate"))


def test_a_camera_that_is_not_connected_is_refused(typing):
    pytest.importorskip("cv2")
    said = typing("calibrate", "free-flyer/camera", "camera", "--from", "63", "--yes")
    assert said.code == 2
    assert "no camera 63, expected the number of a connected camera" in said.err


def test_too_few_dots_are_refused():
    procedure = CameraProcedure(small("devices.vision.plate={ columns = 4, rows = 4, pitch_m = 0.3 }"))
    assert len(procedure.steps) == 1
    with pytest.raises(InputError, match=r"devices.vision.plate: 16 dots in 1 views, expected 20 or more"):
        repeat(procedure, 1)


@pytest.mark.slow
def test_a_checkerboard_calibrates_as_well():
    pytest.importorskip("cv2")
    procedure = CameraProcedure(small("devices.vision.plate.pattern=checkerboard"))
    result = repeat(procedure, 2)
    keys = [number.key for number in result.fit.numbers]
    values, truth = (dict(zip(keys, numbers, strict=True)) for numbers in (result.fit.values, result.truth))
    assert largest_error(view_with(values), truth) < 2e-3
