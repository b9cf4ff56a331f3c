"""The ring: rows come out as they went in, and a full ring loses rows but never stops its producer."""

import os
import subprocess
import sys

import numpy as np
import pytest

from granite.rt.process.ring import Ring
from tests.support.recorded_ticks import bits


@pytest.fixture
def ring():
    ring = Ring.create(rows=4, width=3)
    yield ring
    ring.close()


def test_rows_come_out_in_order_with_the_same_bits_also_round_the_end(ring):
    awkward = np.array([np.nan, -0.0, 5e-324])
    sent, received = [], []
    for k in range(11):
        row = awkward + k if k % 2 else awkward
        ring.put(row.tobytes())
        sent.append(row)
        if k % 3 == 2:
            while len(rows := ring.take()):
                received.extend(rows)
    received.extend(ring.take())
    np.testing.assert_array_equal(bits(received), bits(sent))
    assert ring.lost == 0


def test_a_full_ring_counts_what_it_loses_and_keeps_what_it_has(ring):
    taken = [ring.put(np.full(3, float(k)).tobytes()) for k in range(7)]
    assert taken == [True] * 4 + [False] * 3
    assert ring.waiting == ring.size
    assert ring.lost == 3
    np.testing.assert_array_equal(ring.take()[:, 0], [0, 1, 2, 3])
    assert ring.waiting < ring.size
    assert ring.put(np.full(3, 9.0).tobytes())
    np.testing.assert_array_equal(ring.take()[:, 0], [9])
    assert (ring.put_count, ring.taken_count, ring.lost) == (5, 5, 3)


def test_what_was_taken_is_not_overwritten(ring):
    ring.put(np.ones(3).tobytes())
    rows = ring.take()
    for _ in range(4):
        ring.put(np.zeros(3).tobytes())
    np.testing.assert_array_equal(rows, np.ones((1, 3)))


def test_the_consumer_sees_that_the_producer_has_finished(ring):
    other = Ring(os.dup(ring.descriptor), 4, 3)
    assert not other.finished
    ring.finish()
    assert other.finished
    other.close()


def test_an_interrupt_inside_the_barrier_does_not_stop_the_ring(ring):
    ring._barrier.release()  # as a Ctrl-C between release and acquire leaves it
    assert ring.put(np.ones(3).tobytes())
    assert len(ring.take()) == 1


_PRODUCER = """
import sys, numpy as np
from granite.rt.process.ring import Ring
ring = Ring(int(sys.argv[1]), 64, 16)
k = 0
while k < 6000:
    if ring.waiting < ring.size:
        ring.put(np.full(16, float(k)).tobytes())
        k += 1
ring.finish()
"""


def test_two_processes_at_full_speed_neither_tear_nor_lose_a_row():
    ring = Ring.create(rows=64, width=16)
    producer = subprocess.Popen([sys.executable, "-c", _PRODUCER, str(ring.descriptor)], pass_fds=(ring.descriptor,))
    expected = 0
    while True:
        last = ring.finished or producer.poll() is not None
        rows = ring.take()
        if len(rows):
            assert (rows == rows[:, :1]).all(), "a torn row"
            np.testing.assert_array_equal(rows[:, 0], np.arange(expected, expected + len(rows)))
            expected += len(rows)
        elif last:
            break
    assert producer.wait() == 0
    assert (expected, ring.lost) == (6000, 0)
    ring.close()
