"""One page that watches a run: frames of signals and scene at the pace at which it draws, and its commands.

A frame goes out when the last but one was drawn, with all rows since: a slow page gets fewer and larger frames, a
hidden one none, and no queue grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from granite.config.errors import InputError
from granite.console.page_control import FOR_ALL, PageControl, possible_commands
from granite.console.run_feed import RunFeed
from granite.console.shown_signals import column_of, topics_of
from granite.logs.extremes import known

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

#: frames that may be under way, and signals of a page
_UNDER_WAY, _MOST_SIGNALS = 2, 64
#: commands and previews of a page that may wait for their answers
_MOST_TASKS = 16
#: frames a second at most; time between two looks at health and status [s]; rows that health looks at [s]
_FRAME_S, _STATUS_S, _HEALTH_S = 1 / 32, 0.5, 2.0
#: a frame that a page has not drawn after this time is not waited for: it was hidden [s]
_PATIENCE_S = 2.0
_CONTROLS = ("take", "take_over", "pass_on", "release")
#: of the first frame: points of a signal, at most
_HISTORY = 4000
#: points of the path so far, at most twice as many
_PATH = 200

#: fields of a command beside its name
_FIELDS = frozenset(("gain", "value", "target", "rates", "action", "duration_s", "plan"))

_numbers = count(1)


class LivePage:
    """A connected page; `serve` returns when it is gone."""

    def __init__(self, socket: WebSocket, feed: RunFeed, operation: PageControl | None, may_operate: bool) -> None:
        self.number = next(_numbers)
        self._socket, self._feed = socket, feed
        self._operation = operation if may_operate else None
        self._columns: list[int] = []
        self._seen = 0
        self._under_way: list[float] = []
        self._drawn = asyncio.Event()
        self._sending = asyncio.Lock()
        self._events_seen = 0
        self._asked_by: int | None = None
        #: the goal that was judged last with its path, and that of the plan
        self._judged: tuple[dict[str, Any], list[list[float]]] = {}, []
        self._planned: list[list[float]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, pages: Mapping[int, LivePage]) -> None:
        """Until the page is gone; `pages` are all pages of the run."""
        self._pages = pages
        self._seen = max(0, self._feed.count - 1)  # the path and the history of signals are messages of their own
        if self._operation is not None:
            await self._operation.connect()
            await self._operation.read_gains()
        await self._say(
            "hello", page=self.number, may_operate=self._operation is not None, possible=possible_commands()
        )
        tasks = [asyncio.create_task(work()) for work in (self._hear, self._draw, self._tell)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*tasks, *self._tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def ask_for_control(self, page: int) -> None:
        """Another page asks this one, which is in control, to pass it on."""
        self._asked_by = page

    async def _hear(self) -> None:
        """The messages of the page."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                text = await self._socket.receive_text()
                try:
                    message = json.loads(text)
                    kind = message.pop("kind")
                    await getattr(self, f"_on_{_KINDS[kind]}")(**message)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputError) as error:
                    await self._say("refused", text=f"refused: {type(error).__name__}: {error}"[:300])

    async def _on_drawn(self) -> None:
        if self._under_way:
            self._under_way.pop(0)
        self._drawn.set()

    async def _on_signals(self, names: list[str]) -> None:
        """The signals of the frames from now on, and what is known of them."""
        if self._feed.channels is None:
            return
        if len(names) > _MOST_SIGNALS:
            raise InputError(f"{len(names)} signals", expected=f"at most {_MOST_SIGNALS}")
        self._columns = [column_of(self._feed.channels, str(name)) for name in names]
        self._seen = self._feed.count
        await self._send_frame("history", self._feed.rows_after(0, _HISTORY))

    async def _on_ask(self, number: int, do: str, **more: Any) -> None:
        if self._operation is None:
            await self._say("answer", number=number, do=do, ok=False, text="refused: this page may only look")
            return
        if unknown := more.keys() - _FIELDS:
            raise InputError(f"unknown fields {sorted(unknown)}", expected=", ".join(_FIELDS))
        if len(self._tasks) >= _MOST_TASKS and do not in FOR_ALL:
            raise InputError(f"{len(self._tasks)} requests are under way", expected="their answers first")
        self._begin(self._answer(number, do, more))

    async def _answer(self, number: int, do: str, more: dict[str, Any]) -> None:
        assert self._operation is not None
        answer = await self._operation.ask(self.number, do, more)
        if "columns" in answer:
            answer |= self._feed.planned(answer.pop("columns"))
            self._planned = answer.get("path", [])
        elif answer["ok"] and do in ("go", "follow", "jog"):
            goal, judged = self._judged
            path = self._planned if do == "follow" else judged if goal == more else []
            self._feed.fly(path, answer.get("duration_s", 0.0))
        await self._say("answer", **{**answer, "number": number, "do": do})
        if do == "set_gain":
            await self._say("gains", gains=self._operation.gains)

    async def _on_preview(self, number: int, goal: dict[str, Any]) -> None:
        """Where a goal would lead, and why the loop would refuse it; nothing is sent to the loop."""
        if not {"target"} <= goal.keys() <= {"target", "duration_s"}:
            raise InputError(f"a goal with the keys {', '.join(goal)[:80]}", expected="target, perhaps duration_s")
        if self._operation is not None and len(self._tasks) < _MOST_TASKS:
            self._begin(self._answer_preview(number, goal))

    async def _answer_preview(self, number: int, goal: dict[str, Any]) -> None:
        judged = await self._feed.preview(goal)
        self._judged = goal, judged.get("path", [])
        await self._say("preview", number=number, **judged)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it beside hearing: an emergency stop must be heard while another answer is under way."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _on_alive(self) -> None:
        """A sign of life: of the page in control it becomes one of an operator."""
        if self._operation is not None and self._operation.holder == self.number:
            await self._operation.watch(self.number)

    async def _on_control(self, what: str) -> None:
        """Take, take over, pass on or release control."""
        operation = self._operation
        if operation is None or what not in _CONTROLS:
            raise InputError("no such change of control", expected=f"one of {', '.join(_CONTROLS)}, by a page that may")
        if what == "release":
            await operation.release(self.number)
        elif what == "pass_on":
            if operation.holder == self.number and (next_one := self._pages.get(self._asked_by or 0)):
                await operation.take(next_one.number)
        elif what == "take" and (holder := self._pages.get(operation.holder or 0)) and holder is not self:
            holder.ask_for_control(self.number)
        elif what in ("take", "take_over"):
            await operation.take(self.number)
        self._asked_by = None
        await self._tell_status()

    async def _draw(self) -> None:
        """Frames, as fast as the page draws them."""
        feed = self._feed
        while not feed.is_over:
            began = time.monotonic()
            await feed.wait(self._seen, 0.5)
            self._under_way = [at for at in self._under_way if began - at < _PATIENCE_S]
            if len(self._under_way) >= _UNDER_WAY:
                self._drawn.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._drawn.wait(), 0.5)
                continue
            if feed.count > self._seen:
                rows, picture = feed.rows_after(self._seen, _HISTORY), feed.picture(self._seen)
                self._seen = feed.count
                self._under_way.append(time.monotonic())
                await self._send_frame("frame", rows, picture)
            await asyncio.sleep(max(0.0, _FRAME_S - (time.monotonic() - began)))
        await self._tell_status()

    async def _tell(self) -> None:
        """Status, health and events, twice a second; the shapes when they are known."""
        knows_shapes = False
        plan: list[list[float]] = []
        while True:
            feed = self._feed
            if not knows_shapes and feed.scene is not None and feed.channels is not None and feed.bed is not None:
                knows_shapes = True
                await self._say(
                    "run",
                    bed=feed.bed.name,
                    shapes=feed.scene.shapes(),
                    sides=feed.scene.sides(feed.rows_after(feed.count - 1)),
                    topics=topics_of(feed.channels),
                    has_vision=feed.scene.has_vision,
                    path=feed.scene.path(feed.rows_after(0, _PATH)),
                    log=feed.run.log,
                )
                if self._operation is not None:
                    await self._say("gains", gains=self._operation.gains)
                    await self._operation.read_goals()
                    await self._say("goals", **self._operation.goals)
            if knows_shapes and plan != feed.plan:
                plan = feed.plan
                await self._say("plan", points=plan)
            await self._tell_status()
            if feed.health is not None and feed.count:
                ticks = int(_HEALTH_S / (feed.bed.loop.period_s if feed.bed else 1.0))
                links = {name: link.shown() for name, link in feed.links.items()}
                await self._say("health", **feed.health.of(feed.rows_after(feed.count - ticks)), links=links)
            new = [event for event in feed.events if event["number"] > self._events_seen]
            if new:
                self._events_seen = new[-1]["number"]
                await self._say("events", events=new)
            await asyncio.sleep(_STATUS_S)

    async def _tell_status(self) -> None:
        status = {**self._feed.status(), "control": self._control(), "pages": len(self._pages)}
        if self._operation is not None and not self._feed.is_over:
            # As they were asked for: those of the rows are on their way there.
            self._operation.read_gains_soon()
            status["lease"] = self._operation.lease
            status["gains"] = [gain["value"] for gain in self._operation.gains]
        await self._say("status", **status, asked_by=self._asked_by)

    def _control(self) -> str:
        """Who is in control: this page, another one, or nobody; or why there is nothing to control."""
        if self._feed.run.operator_address is None:
            return "no operator"
        if self._operation is None:
            return "look"
        holder = self._operation.holder
        return "mine" if holder == self.number else "other" if holder in self._pages else "free"

    async def _say(self, kind: str, **more: Any) -> None:
        async with self._sending:
            await self._socket.send_text(json.dumps({"kind": kind, **more}))

    async def _send_frame(self, kind: str, rows: Any, picture: Any = None) -> None:
        """A frame: length of the head, the head in JSON, then points, times and signals of the rows."""
        assert self._feed.channels is not None
        t = rows[:, self._feed.channels.column("/sample", "t_s")]
        facts, points = picture or ({}, b"")
        head = {"kind": kind, "rows": len(rows), "signals": len(self._columns), "points": len(points), **facts}
        if kind == "frame":
            head["at_ms"] = round(self._feed.at_ms, 1)
        text = json.dumps(head, separators=(",", ":")).encode()
        text += b" " * (-(4 + len(text) + len(points)) % 8)
        shown = known(self._feed.channels, rows)[:, self._columns]
        signals = np.ascontiguousarray(shown.T).astype("<f4").tobytes()
        whole = struct.pack("<I", len(text)) + text + points + t.astype("<f8").tobytes() + signals
        async with self._sending:
            await self._socket.send_bytes(whole)


_KINDS = {kind: kind for kind in ("drawn", "signals", "ask", "alive", "control", "preview")}
