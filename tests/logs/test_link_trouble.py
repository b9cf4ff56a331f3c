"""Trouble on links: each change for the worse has its time and its sentence."""

from granite.drivers.link_history import LinkHistory
from granite.logs.link_trouble import link_trouble


def test_a_good_link_has_none():
    assert list(link_trouble({"board a": {"t_s": [0.0, 1.0], "bad_crc": [0, 0], "received": [1, 200]}})) == []


def test_each_change_for_the_worse_is_named_once_with_its_time():
    numbers = {"t_s": [0.0, 1.0, 2.0, 2.0], "bad_crc": [0, 3, 3, 3], "missed": [0, 1, 1, 2], "received": [1, 2, 3, 4]}
    assert list(link_trouble({"board a": numbers})) == [
        (1.0, "board a: bad_crc 3, missed 1"),
        (2.0, "board a: missed 2"),
    ]


def test_a_history_has_a_row_for_every_second_and_one_for_the_end():
    count = [0.0]
    history = LinkHistory("board a", lambda: {"bad_crc": count[0]})
    for k in range(500):
        count[0] = float(k)
        history.note(0.005 * k)
    assert history.summary() == {"t_s": [0.0, 1.0, 2.0, 2.0], "bad_crc": [0.0, 200.0, 400.0, 499.0]}


def test_a_history_of_a_long_run_thins_out_and_keeps_its_begin():
    history = LinkHistory("board a", lambda: {"bad_crc": 0.0})
    for k in range(5000):
        history.note(float(k))
    t = history.summary()["t_s"]
    assert len(t) < 600
    assert (t[0], t[1] - t[0]) == (0.0, t[2] - t[1])
