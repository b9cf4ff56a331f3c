"""The vision sensor from pixels to poses: pure functions on arrays, with the sources of frames at the edge."""
