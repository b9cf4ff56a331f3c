"""Operating a run from pages: one page is in control, everybody may stop, and a page that is gone is a lost operator.

Urgent commands have a connection of their own: an emergency stop never waits for the answer to another command.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from granite.config.errors import InputError
from granite.config.expected_modes import POSSIBLE_IN
from granite.config.run_modes import RunMode
from granite.rt.operator.client import PLANNING_S, Operator
from granite.rt.operator.keys import CONSOLE

T = TypeVar("T")
#: what every page may ask for, in control or not
FOR_ALL = ("hold", "stop", "emergency_stop")
#: time between two looks at the gains [s]
_GAINS_S = 0.4
_COMMANDS = ("arm", "start", "restart", "float", "reset", "set_gain", "go", "plan", "follow", "jog", "act", "lease")
#: a jog is repeated while a hand moves, and a plan takes seconds: nothing waits behind them
_LANES = {
    "jog": "jog", "emergency_stop": "urgent", "stop": "urgent", "hold": "urgent", "plan": "plan", "follow": "plan",
}  # fmt: skip


def possible_commands() -> dict[str, list[str]]:
    """By mode: the commands that the loop would not refuse in it."""
    names = [*FOR_ALL, *_COMMANDS]
    limited = {ask.name.lower(): [mode.name.lower() for mode in modes] for ask, modes in POSSIBLE_IN.items()}
    modes = [mode.name.lower() for mode in RunMode if mode not in (RunMode.STOPPED, RunMode.STOPPING)]
    return {mode: [name for name in names if mode in limited.get(name, modes)] for mode in modes}


class PageControl:
    """The operator's connections to one run, and which page is in control of it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connections: dict[str, Operator] = {}
        self._locks = {lane: asyncio.Lock() for lane in ("urgent", "usual", "jog", "plan", "watch")}
        #: a thread for each: a stop never waits for threads that read files for pages
        self._threads = ThreadPoolExecutor(len(self._locks), "operator")
        #: the page in control, by its number, and its last sign of life by `time.monotonic`
        self.holder: int | None = None
        self.heard_at = 0.0
        self.gains: list[dict[str, Any]] = []
        #: what goals may name, as the channel lists it
        self.goals: dict[str, Any] = {}
        #: the path that was planned last, by its number: pages don't send it back
        self._plan: tuple[int, dict[str, Any]] = 0, {}
        #: who has the controls of goals, and since when, as the loop said last
        self.lease: dict[str, Any] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._read_at = 0.0

    async def ask(self, page: int, do: str, more: dict[str, Any]) -> dict[str, Any]:
        """The answer of the loop to a command of a page: `ok`, `text`, `mode`, and how long it took.

        That of `plan` has the number by which `follow` names its path.
        """
        if do not in (*FOR_ALL, *_COMMANDS):
            return {"ok": False, "text": f"refused: no command '{do[:40]}'"}
        if do not in FOR_ALL and page != self.holder:
            return {"ok": False, "text": "refused: another page is in control, expected take control first"}
        began = time.perf_counter()
        try:
            if do == "follow":
                more = {"columns": self._planned(more)}
            elif "plan" in more:
                raise InputError(key="plan", value=more["plan"], expected="only with follow")
            answer = await self._send(_LANES.get(do, "usual"), do, **more)
        except InputError as error:
            return {"ok": False, "text": f"refused: {error}"}
        if do == "set_gain":
            await self.read_gains()
        if "columns" in answer:
            self._plan = self._plan[0] + 1, answer["columns"]
            answer["plan"] = self._plan[0]
        return {**answer, "took_ms": round(1e3 * (time.perf_counter() - began), 1)}

    def _planned(self, more: dict[str, Any]) -> dict[str, Any]:
        number, columns = self._plan
        if not columns or more != {"plan": number}:
            raise InputError(key="plan", value=more.get("plan"), expected="the number of the newest plan")
        return columns

    async def connect(self) -> None:
        """Exchange keys before the first stop: it must not wait for that."""
        with contextlib.suppress(InputError):
            async with self._locks["urgent"]:
                await self._connection("urgent")

    async def read_gains(self) -> None:
        """The gains of the law with their bounds."""
        with contextlib.suppress(InputError):
            self.gains = (await self._send("usual", "gains")).get("gains", [])

    async def read_goals(self) -> None:
        """The goals that the behaviour takes."""
        with contextlib.suppress(InputError):
            answer = await self._send("usual", "goals")
            self.goals = {key: answer[key] for key in ("coordinates", "actions", "jog_s") if key in answer}

    def read_gains_soon(self) -> None:
        """Look from time to time, not more often than twice a second: another operator may have changed one."""
        if (self._reading is None or self._reading.done()) and time.monotonic() - self._read_at > _GAINS_S:
            self._read_at = time.monotonic()
            self._reading = asyncio.create_task(self.read_gains())

    async def take(self, page: int) -> None:
        """Let a page be in control from now on."""
        self.holder = page
        await self.watch(page)

    async def watch(self, page: int) -> None:
        """A sign of life of the page in control: the run holds when it stays away for `operator.silence_s`."""
        if page != self.holder:
            return
        self.heard_at = time.monotonic()
        with contextlib.suppress(InputError):
            await self._send("watch", "watch")

    async def release(self, page: int) -> None:
        """Give up control on purpose: nobody watches then, and the run goes on."""
        if page == self.holder:
            self.holder = None
            with contextlib.suppress(InputError):
                await self._send("watch", "leave")

    async def close(self) -> None:
        """Close the connections; a page in control is not said to leave: it is lost with the console."""
        if self._reading is not None:
            self._reading.cancel()
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await asyncio.to_thread(connection.close)
        self._threads.shutdown(wait=False)

    async def _send(self, lane: str, do: str, **more: Any) -> dict[str, Any]:
        async with self._locks[lane]:
            connection = await self._connection(lane)
            patience = {"wait_s": PLANNING_S} if lane == "plan" else {}
            answer: dict[str, Any] = await self._run(partial(connection.ask, do, **patience, **more))
            self.lease = answer.get("lease")
            return answer

    async def _connection(self, lane: str) -> Operator:
        if lane not in self._connections:
            self._connections[lane] = await self._run(partial(Operator, self._address, CONSOLE))
        return self._connections[lane]

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
