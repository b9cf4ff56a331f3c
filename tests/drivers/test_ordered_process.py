"""A process that carries out an order: it answers when it is ready or why it is not, and ends with its input."""

from pathlib import Path

import pytest

from granite.drivers.ordered_process import OrderedProcess

MODULE = """
import sys

from granite.config.errors import InputError
from granite.drivers.ordered_process import carry_out


def work(order):
    if order["does"] == "refuses":
        raise InputError("no such thing", key="thing", value=1)
    if order["does"] == "dies":
        sys.exit(3)
    yield {"ready": True, "order": order}
    while line := sys.stdin.readline():
        yield {"heard": line.strip()}
    sys.exit(7)


carry_out(work)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "worker.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "worker"


def test_it_answers_that_it_is_ready_hears_messages_and_ends_with_its_input(module: str):
    order = {"does": "works", "size": [1, 2.5]}
    process = OrderedProcess(module, order)
    assert process.answer(60.0) == {"ready": True, "order": order}
    process.tell({"go": 1})
    assert process.answer(60.0) == {"heard": '{"go": 1}'}
    process.end(60.0)
    assert process.returncode == 7  # by itself, not by a signal


@pytest.mark.parametrize(("does", "failure"), [("refuses", "thing = 1: no such thing"), ("dies", "its process ended")])
def test_where_it_can_not_begin_the_reason_is_its_answer(module: str, does: str, failure: str):
    process = OrderedProcess(module, {"does": does})
    assert process.answer(60.0) == {"failure": failure}
    process.tell({"go": 1})  # to nobody
    process.end(60.0)
