"""`granite see`: pictures of what a camera sees."""

import socket
import time

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from granite.cli.app import app
from granite.config.errors import InputError
from granite.drivers.pose_stream.message import PoseMessage

run = CliRunner().invoke


def see(*arguments):
    result = run(app, ["see", *map(str, arguments)])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_frames_of_a_simulated_run_are_written_and_tracked_again_from_their_folder(tmp_path):
    raw, marked = tmp_path / "raw", tmp_path / "marked"
    said = see("free-flyer/camera", "--out", raw, "--raw", "--every", 0.1, "--duration", 0.15)
    again = see("free-flyer/camera", "--from", raw, "--out", marked, "--every", 0)
    assert "4 targets" in said
    assert said.splitlines()[:-1] == again.splitlines()[:-1]
    plain, drawn = (np.asarray(Image.open(folder / "000002.png")) for folder in (raw, marked))
    assert plain.shape == (1024, 1280)
    assert drawn.shape == (1024, 1280, 3)
    colours = (drawn.reshape(-1, 3).max(axis=1).astype(int) - drawn.reshape(-1, 3).min(axis=1)) > 60
    assert 200 < colours.sum() < 20_000  # marks over a grey picture


def test_poses_of_recorded_frames_are_published(tmp_path):
    see("free-flyer/camera", "--out", tmp_path / "raw", "--raw", "--every", 0, "--duration", 0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as received:
        received.bind(("127.0.0.1", 0))
        received.settimeout(5)
        address = f"udp://127.0.0.1:{received.getsockname()[1]}"
        began = time.monotonic()
        said = see("free-flyer/camera", "--from", tmp_path / "raw", "--publish", address)
        frames = int(said.split(" frames")[0].split()[-1])
        messages = [PoseMessage.unpack(received.recv(4096)) for _ in range(frames)]
    assert f"base {frames}" in said
    assert [(m.body, m.number, m.is_tracked) for m in messages] == [("base", k, True) for k in range(1, frames + 1)]
    assert all(began < m.exposed <= m.sent < time.monotonic() for m in messages)
    with pytest.raises(InputError, match="expected a source of frames, by --from"):
        see("free-flyer/camera", "--publish", address)


def test_a_testbed_without_camera_is_refused(tmp_path):
    with pytest.raises(InputError, match="no device of kind camera, expected a camera, as free-flyer/camera has one"):
        see("free-flyer", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "note.txt").write_text("keep")
    with pytest.raises(InputError, match="exists: expected a new folder"):
        see("free-flyer/camera", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
