"""The decoders in C and Python agree on every frame, accept nothing that was altered, and find the next whole frame.

`python -m tests.firmware.frame_storm 10000000` does it with ten million frames.
"""

import pytest

from granite.drivers.board.wire import FrameVerdict
from tests.firmware.frame_storm import storm


@pytest.mark.parametrize("number", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_random_and_mutated_frames(number: int):
    tally = storm(number, seed=number)
    assert tally["frames"] == number
    assert all(tally[verdict.name.lower()] > 0 for verdict in FrameVerdict)
