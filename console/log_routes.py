"""Requests about logs: the list, the head of one, its signals and scenes, differences of two, notes."""

from __future__ import annotations

import asyncio
import json

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from granite.console.log_shelf import LogShelf
from granite.console.requests import RequestBody, number
from granite.console.worker import Worker

#: pixels of a plot at most
_WIDEST = 8000


class LogRoutes:
    """Answers them with the worker that reads logs."""

    def __init__(self, shelf: LogShelf, worker: Worker) -> None:
        self._shelf, self._worker = shelf, worker

    def routes(self) -> list[Route]:
        """By path."""
        return [
            Route("/api/logs", self._list),
            Route("/api/log", self._head),
            Route("/api/log/progress", self._progress),
            Route("/api/log/sketch", self._sketch),
            Route("/api/log/signals", self._signals),
            Route("/api/log/difference", self._difference),
            Route("/api/log/scenes", self._scenes),
            Route("/api/log/compare", self._compare),
            Route("/api/log/notes", self._notes, methods=["POST"]),
        ]

    def _path(self, request: Request, key: str = "path") -> str:
        return str(self._shelf.known(request.query_params.get(key, "")))

    async def _list(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._shelf.listed))

    async def _head(self, request: Request) -> Response:
        return JSONResponse(await self._worker.ask("log", self._path(request), "head"))

    async def _progress(self, request: Request) -> Response:
        return JSONResponse({"part": self._worker.progress})

    async def _sketch(self, request: Request) -> Response:
        return JSONResponse(await self._worker.ask("sketch", self._path(request)))

    async def _signals(self, request: Request) -> Response:
        return _numbers(await self._worker.ask("log", self._path(request), "signals", *_asked(request)))

    async def _difference(self, request: Request) -> Response:
        paths = self._path(request), self._path(request, "other")
        return _numbers(await self._worker.ask("difference", *paths, *_asked(request)))

    async def _scenes(self, request: Request) -> Response:
        """Scenes in a time: the length of the heads, the heads in JSON, then the points of each."""
        t0, t1, step = (number(request, key) for key in ("t0", "t1", "step"))
        n = min(int((t1 - t0) / max(step, 1e-3)) if t1 > t0 else 0, 500)
        times = (t0 + max(step, 1e-3) * np.arange(n + 1)).tolist()
        scenes = await self._worker.ask("log", self._path(request), "scenes", times)
        heads = json.dumps([{"t": t, "points": len(points), **facts} for t, facts, points in scenes]).encode()
        heads += b" " * (-(4 + len(heads)) % 8)
        return _numbers(len(heads).to_bytes(4, "little") + heads + b"".join(points for _, _, points in scenes))

    async def _compare(self, request: Request) -> Response:
        paths = [str(self._shelf.known(path)) for path in request.query_params.getlist("path")]
        return JSONResponse(await self._worker.ask("compare", paths))

    async def _notes(self, request: Request) -> Response:
        body = await RequestBody.of(request)
        path = self._shelf.known(body.text("path"))
        text, tags = body.text("text", ""), body.texts("tags")
        return JSONResponse(await asyncio.to_thread(self._shelf.note, path, text, tags))


def _asked(request: Request) -> tuple[list[str], float, float, int]:
    """Names, time and pixels of a plot."""
    names = [name for name in request.query_params.get("names", "").split(",") if name]
    t0, t1, pixels = (number(request, key) for key in ("t0", "t1", "pixels"))
    return names, t0, t1, int(min(max(pixels, 1), _WIDEST))


def _numbers(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")
