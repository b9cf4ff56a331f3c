"""The truth in shared memory: a reader finds a whole one, whenever it comes."""

from __future__ import annotations

import os
import threading

import numpy as np

from granite.config.records import NOTHING, Truth
from granite.sim.emulation.shared_truth import SharedTruth


def truth_of(k: int) -> Truth:
    """All of its numbers are k."""
    return Truth(float(k), np.full(50, float(k)), np.full(50, float(k)), np.full(8, float(k)), NOTHING)


def test_there_is_none_before_the_first():
    shared = SharedTruth()
    assert shared.get([50, 50, 8, 0], 1) is None
    shared.close()


def test_a_reader_in_another_place_finds_whole_ones_while_they_are_written():
    writer = SharedTruth()
    reader = SharedTruth(os.dup(writer.descriptor))
    ended = threading.Event()

    def write() -> None:
        k = 0
        while not ended.is_set():
            k += 1
            writer.put(truth_of(k), [(float(k), 1.0)])

    thread = threading.Thread(target=write)
    thread.start()
    seen = set()
    for _ in range(3000):
        torn = reader.get([50, 50, 8, 0], 1)
        if torn is not None:
            truth, boards = torn
            assert {truth.t} == set(truth.q) == set(truth.u) == set(truth.thrust) == {boards[0]}
            assert len(truth.tank) == 0
            seen.add(truth.t)
    ended.set()
    thread.join()
    assert len(seen) > 1
    for shared in (writer, reader):
        shared.close()


def test_a_reader_that_interrupts_the_writer_finds_the_truth_before(monkeypatch):
    shared = SharedTruth()
    shared.put(truth_of(1), [])
    content = []

    class Interrupting(np.ndarray):
        def __setitem__(self, place, value):
            super().__setitem__(place, value)
            if not content:
                content.append(shared.get([50, 50, 8, 0], 0))  # before the count is changed

    shared._numbers = shared._numbers.view(Interrupting)
    shared.put(truth_of(2), [])
    assert content[0][0].t == 1.0
    assert shared.get([50, 50, 8, 0], 0)[0].t == 2.0
    shared.close()
