"""Counters of links reach the live view once each, whole or not at all."""

from granite.rt.live.link_news import LinkNews


def test_what_is_new_is_taken_once():
    news = LinkNews()
    first = {"board a": (1.0, {"received": 200, "clock_drift": float("nan")}), "board b": (1.0, {"received": 7})}
    news.put(first)
    news.put(first)
    news.put({**first, "board b": (2.0, {"received": 9})})
    assert news.take() == [
        {"link": "board a", "t_s": 1.0, "received": 200, "clock_drift": None},
        {"link": "board b", "t_s": 1.0, "received": 7},
        {"link": "board b", "t_s": 2.0, "received": 9},
    ]
    assert news.take() == []
    news.close()


def test_a_reader_that_is_late_loses_lines_and_a_long_line_is_left_out():
    news = LinkNews()
    for t in range(100):
        news.put({"board": (float(t), {"received": t})})
    assert [line["received"] for line in news.take()] == list(range(64))
    news.put({"b" * 3000: (1.0, {})})
    assert news.take() == []
    news.close()
