"""An emergency stop passes whatever else a page asked for, and whatever the console's threads wait for."""

import asyncio
import threading
from typing import Any

import pytest

from granite.console import page_control
from granite.console.page_control import FOR_ALL, PageControl


class SlowLoop:
    """Connections to a loop that answers stops alone until it is let go."""

    over = threading.Event()

    def __init__(self, address: str, name: str) -> None:
        self.lock = threading.Lock()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        with self.lock:
            assert do in FOR_ALL or self.over.wait(20)
            return {"ok": True, "text": "done", "do": do}

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("stop", FOR_ALL)
def test_a_stop_waits_for_no_other_command(monkeypatch: pytest.MonkeyPatch, stop: str):
    monkeypatch.setattr(page_control, "Operator", SlowLoop)
    SlowLoop.over.clear()

    async def stopped_beside_others() -> tuple[dict[str, Any], bool]:
        control = PageControl("tcp://127.0.0.1:1")
        control.holder = 1
        usual = ("set_gain", "go", "plan", "jog", "arm", "start")
        others = [asyncio.create_task(control.ask(1, do, {})) for do in usual]
        others.append(asyncio.create_task(control.watch(1)))
        await asyncio.sleep(0.05)
        # Threads that read files for pages are busy, too.
        readers = [asyncio.create_task(asyncio.to_thread(SlowLoop.over.wait, 20)) for _ in range(64)]
        try:
            answer = await asyncio.wait_for(control.ask(2, stop, {}), 10)
            return answer, any(task.done() for task in others)
        finally:
            SlowLoop.over.set()
            await asyncio.gather(*others, *readers)
            await control.close()

    answer, any_done = asyncio.run(stopped_beside_others())
    assert (answer["ok"], answer["do"]) == (True, stop)
    assert not any_done


def test_keys_are_exchanged_before_the_first_stop(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []

    class Counted(SlowLoop):
        def __init__(self, address: str, name: str) -> None:
            super().__init__(address, name)
            made.append(address)

    async def stopped() -> None:
        control = PageControl("tcp://127.0.0.1:1")
        await control.connect()
        assert len(made) == 1
        for stop in FOR_ALL:
            await control.ask(1, stop, {})
        assert len(made) == 1
        await control.close()

    monkeypatch.setattr(page_control, "Operator", Counted)
    asyncio.run(stopped())


class PlanningLoop:
    """A loop that plans every goal alike, and notes the paths that it is to follow."""

    columns = {"t_s": [0.0, 1.0], "base_x_m": [1.0, 1.1]}  # noqa: RUF012
    asked: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012

    def __init__(self, address: str, name: str) -> None:
        """Of no use here."""

    def ask(self, do: str, wait_s: float | None = None, **more: Any) -> dict[str, Any]:
        self.asked.append((do, more))
        assert (wait_s or 0) > 60 or do == "go"
        return {"ok": True, "text": "done", **({"columns": self.columns} if do == "plan" else {})}

    def close(self) -> None:
        """Nothing is open."""


def test_a_page_follows_the_newest_plan_by_its_number_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_control, "Operator", PlanningLoop)
    PlanningLoop.asked.clear()

    async def asked() -> list[dict[str, Any]]:
        control = PageControl("tcp://127.0.0.1:1")
        control.holder = 1
        answers = [await control.ask(1, "follow", {"plan": 0})]
        plans = [(await control.ask(1, "plan", {"target": {"base_x_m": x}}))["plan"] for x in (1.0, 1.1)]
        for do, more in (
            ("follow", {"plan": plans[0]}),
            ("follow", {}),
            ("follow", {"plan": plans[1], "target": {}}),
            ("go", {"target": {}, "plan": True}),
            ("follow", {"plan": plans[1]}),
        ):
            answers.append(await control.ask(1, do, more))
        await control.close()
        return answers

    answers = asyncio.run(asked())
    assert [answer["ok"] for answer in answers] == [False] * 5 + [True]
    assert all(answer["text"].startswith("refused: plan") for answer in answers[:5])
    assert [do for do, _ in PlanningLoop.asked] == ["plan", "plan", "follow"]
    assert PlanningLoop.asked[-1][1] == {"columns": PlanningLoop.columns}
