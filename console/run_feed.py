"""The rows of a running loop: one client of its live view for all pages, with the last minute in memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import struct
import time
from collections import deque
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.console.health import Health, LinkHealth
from granite.console.table_scene import TablePicture, TableScene
from granite.console.worker import RefusedOrderError, Worker
from granite.logs.channels import Channels
from granite.logs.log_content import read_content
from granite.logs.mcap_file import CDR_HEADER, EVENTS
from granite.rt.live.live_view import LINKS, ROWS, ROWS_HEAD
from granite.rt.process.run_register import RegisteredRun, registered_runs

_PROTOCOL = "foxglove.sdk.v1"
#: a message with data: its kind, its subscription, its time; then what comes before the values of rows [bytes]
_HEAD, _BEFORE_ROWS = struct.Struct("<BIQ"), len(CDR_HEADER) + ROWS_HEAD.size
#: rows that are kept [s], and events
_KEPT_S, _EVENTS = 60.0, 500
#: time between two tries to connect, and to read the head of the log [s]
_RETRY_S = 0.25
#: rows that make up the jets of a scene at most
_JETS = 400
#: poses of a planned path that a page is shown
_SHOWN = 60
_STATUS = (("/operation", "mode"), ("/operation", "cause"), ("/verdict", "reason"))


class RunFeed:
    """A run as it is now; `start` connects in the background, for as long as the run lasts."""

    def __init__(self, run: RegisteredRun, worker: Worker) -> None:
        self.run, self._worker = run, worker
        #: where the robot should go, as far as that is known before: in the whole run, or to the goal that is flown
        self.plan: list[list[float]] = []
        #: the time of the run until which a goal is flown [s]
        self._flown_until = math.inf
        self.bed: Testbed | None = None
        self.channels: Channels | None = None
        self.scene: TableScene | None = None
        self.health: Health | None = None
        #: newest last, as the page shows them
        self.events: deque[dict[str, Any]] = deque(maxlen=_EVENTS)
        self.events_seen = 0
        #: by name
        self.links: dict[str, LinkHealth] = {}
        self.is_over = False
        #: when the last row came, by `time.monotonic`
        self.heard_at = -math.inf
        #: when the last tick was due, wall time [ms]
        self.at_ms = 0.0
        self._ring = np.zeros((0, 0))
        #: rows that have come so far
        self.count = 0
        self._news = asyncio.Condition()
        self._picture: tuple[int, int, TablePicture] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect, and keep on until the run is over."""
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Disconnect."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, seen: int, limit_s: float) -> None:
        """Until there is a row after the first `seen` ones, the run is over, or the time is up."""
        async with self._news:
            if self.count > seen or self.is_over:
                return
            try:
                await asyncio.wait_for(self._news.wait(), limit_s)
            except TimeoutError:
                return

    def rows_after(self, seen: int, most: int | None = None) -> Array:
        """The rows after the first `seen` ones that are still known; of more than `most` every second, third, ..."""
        size = len(self._ring)
        first = max(seen, self.count - size)
        step = max(1, (self.count - first) // most) if most else 1
        rows: Array = self._ring[np.arange(first, self.count, step) % size] if size else self._ring
        return rows

    def picture(self, seen: int) -> TablePicture | None:
        """The scene now, with the jets since the first `seen` rows; shared by the pages that ask for the same."""
        if self.scene is None or not self.count:
            return None
        if self._picture is None or self._picture[:2] != (seen, self.count):
            first = min(max(seen, self.count - _JETS), self.count - 1)
            self._picture = seen, self.count, self.scene.picture(self.rows_after(first))
        return self._picture[2]

    def status(self) -> dict[str, Any]:
        """Mode, time and verdict of the last row, and how old it is."""
        if self.channels is None or not self.count:
            return {"mode": "over" if self.is_over else "starting", "bed": self.run.bed}
        row, channels = self._ring[(self.count - 1) % len(self._ring)], self.channels
        number = {entry: int(row[channels.column(*entry)]) for entry in _STATUS}
        mode, cause = RunMode(number["/operation", "mode"]), Reason(number["/operation", "cause"])
        reason = Reason(number["/verdict", "reason"])
        age = time.monotonic() - self.heard_at
        return {
            "bed": self.run.bed,
            "mode": "over" if self.is_over else mode.name.lower(),
            "cause": cause.text if cause else "",
            "reason": reason.name.lower(),
            "t_s": float(row[channels.column("/sample", "t_s")]),
            "age_s": round(age, 3),
            "gains": [
                None if value != value else value for value in row[channels.columns("/operation", "gains")].tolist()
            ],
        }

    async def preview(self, goal: dict[str, Any]) -> dict[str, Any]:
        """A goal as the loop would judge it now: its duration, its path, the pose at its end, or the refusal."""
        if self.bed is None or self.channels is None or self.scene is None or not self.count:
            return {"ok": False, "text": "refused: the run has not begun"}
        row, columns = self._ring[(self.count - 1) % len(self._ring)], self.channels.columns
        motion = np.concatenate([row[columns("/reference", entry)] for entry in ("q", "u", "a")]).tolist()
        try:
            preview = await self._worker.ask("preview", to_json(self.bed), motion, goal)
        except RefusedOrderError as error:
            return {"ok": False, "text": f"refused: {error}"}
        return {**preview, **self.scene.preview(row, np.array(preview.pop("poses")))}

    def planned(self, columns: dict[str, list[float]]) -> dict[str, Any]:
        """The path of some samples and the pose at their end, as those of a preview."""
        if self.bed is None or self.channels is None or self.scene is None or not self.count:
            return {}
        row = self._ring[(self.count - 1) % len(self._ring)]
        samples = np.unique(np.linspace(0, len(columns["t_s"]) - 1, _SHOWN).round().astype(int))
        poses = np.tile(row[self.channels.columns("/reference", "q")], (len(samples), 1))
        for i, coordinate in enumerate(self.bed.known.positions):
            if coordinate.key in columns:
                poses[:, i] = np.array(columns[coordinate.key])[samples]
        return self.scene.preview(row, poses)

    def fly(self, path: list[list[float]], duration_s: float) -> None:
        """A goal was accepted: its path is drawn until it is reached, or the run does something else."""
        self.plan, self._flown_until = path, self.status().get("t_s", math.inf) + duration_s

    def _forget_flown(self) -> None:
        if math.isfinite(self._flown_until):
            status = self.status()
            if status["mode"] != "running" or status["t_s"] > self._flown_until:
                self.plan, self._flown_until = [], math.inf

    async def _find_plan(self, bed: Testbed) -> None:
        with contextlib.suppress(RefusedOrderError):
            path = await self._worker.ask("plan", to_json(bed))
            if not math.isfinite(self._flown_until):
                self.plan = path

    async def _follow(self) -> None:
        try:
            await self._read_head()
            assert self.bed is not None
            self._planning = asyncio.create_task(self._find_plan(self.bed))
            while not self.is_over:
                with contextlib.suppress(OSError, WebSocketException):
                    await self._listen()
                await asyncio.sleep(_RETRY_S)
                await self._look_whether_it_lives()
        finally:
            self.is_over = True
            await self._tell()

    async def _look_whether_it_lives(self) -> None:
        runs = await asyncio.to_thread(registered_runs)
        self.is_over = self.run.pid not in [run.pid for run in runs]

    async def _read_head(self) -> None:
        """Testbed and layout, from the front of the log that is being recorded."""
        while True:
            try:
                head = await asyncio.to_thread(read_content, self.run.log, head_only=True)
                break
            except (InputError, OSError):  # the recorder has not written it yet
                await asyncio.sleep(_RETRY_S)
                await self._look_whether_it_lives()
                if self.is_over:
                    raise asyncio.CancelledError from None
        self.bed, self.channels = head.bed, head.channels
        rows = int(_KEPT_S / head.bed.loop.period_s) + 1
        self._ring = np.full((rows, head.channels.width), math.nan)
        self.health = Health(head.bed, head.channels)

    async def _listen(self) -> None:
        url = f"ws://127.0.0.1:{self.run.live_port}"
        async with connect(url, subprotocols=[_PROTOCOL], max_size=None, compression=None) as link:  # type: ignore[list-item]
            topics = await self._subscribe(link)
            async for message in link:
                if isinstance(message, bytes):
                    self._take(topics, message)
                    await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _subscribe(self, link: ClientConnection) -> dict[int, str]:
        """The topic of each subscription."""
        wanted, topics = {ROWS, EVENTS, LINKS}, {}
        while wanted:
            said = json.loads(await link.recv())
            if said.get("op") != "advertise":
                continue
            subscriptions = []
            for channel in said["channels"]:
                if (name := channel["topic"]) in wanted:
                    wanted.discard(name)
                    topics[channel["id"]] = name
                    subscriptions.append({"id": channel["id"], "channelId": channel["id"]})
            await link.send(json.dumps({"op": "subscribe", "subscriptions": subscriptions}))
        return topics

    def _take(self, topics: dict[int, str], message: bytes) -> None:
        kind, subscription, at_ns = _HEAD.unpack_from(message)
        topic = topics.get(subscription) if kind == 1 else None
        if topic == ROWS:
            values = np.frombuffer(message, "<f8", offset=_HEAD.size + _BEFORE_ROWS)
            self._add(values.reshape(-1, self._ring.shape[1]), at_ns)
        elif topic == EVENTS:
            self.events_seen += 1
            self.events.append({"number": self.events_seen, **json.loads(message[_HEAD.size :])})
        elif topic == LINKS:
            link = json.loads(message[_HEAD.size :])
            self.links.setdefault(link["link"], LinkHealth()).note(link)

    def _add(self, rows: Array, at_ns: int) -> None:
        assert self.bed is not None
        assert self.channels is not None
        if self.scene is None:
            self.scene = TableScene(self.bed, self.channels, rows[0])
        rows = rows[-len(self._ring) :]
        self._ring[(self.count + np.arange(len(rows))) % len(self._ring)] = rows
        self.count += len(rows)
        self.heard_at = time.monotonic()
        self.at_ms = at_ns * 1e-6
        self._forget_flown()
