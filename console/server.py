"""The server of the console: the page, its socket for runs, and the logs of a folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from granite.config.errors import InputError
from granite.console.access import COOKIE, Access, Tokens
from granite.console.live_page import LivePage
from granite.console.log_reader import LogReader
from granite.console.page_control import PageControl
from granite.console.run_feed import RunFeed
from granite.logs.overview import final_error, read_overview
from granite.rt.process.run_register import registered_runs

_PAGE = Path(__file__).with_name("page")
#: pages of one run at most, and logs of a list
_MOST_PAGES, _MOST_LOGS = 32, 500
#: time for pages to close when the console ends [s]; longest message of a page [bytes]
_GRACE_S, _LONGEST_MESSAGE = 2, 4096


def server_config(app: ASGIApp) -> uvicorn.Config:
    """How the console is served: a page that is open never keeps it from ending."""
    return uvicorn.Config(
        app,
        log_level="error",
        timeout_graceful_shutdown=_GRACE_S,
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        ws_per_message_deflate=False,
    )


class Console:
    """Running loops and logs, for any number of pages.

    Parameters
    ----------
    folder
        Of the logs.
    more
        Logs elsewhere that were named.
    """

    def __init__(self, folder: Path, more: Iterable[Path] = ()) -> None:
        self.tokens = Tokens()
        self._folder, self._more = folder, [path.absolute() for path in more]
        self._feeds: dict[int, RunFeed] = {}
        self._operations: dict[int, PageControl] = {}
        self._pages: dict[int, dict[int, LivePage]] = {}
        self._reader = LogReader()

    def app(self, hosts: Iterable[str], scheme: str = "http") -> ASGIApp:
        """The application, called by these names."""
        routes = [
            Route("/", self._page),
            Mount("/page", StaticFiles(directory=_PAGE)),
            Route("/api/session", self._session, methods=["POST"]),
            Route("/api/runs", self._runs),
            Route("/api/logs", self._logs),
            Route("/api/log", self._log),
            Route("/api/log/progress", self._progress),
            Route("/api/log/signals", self._signals),
            Route("/api/log/scenes", self._scenes),
            WebSocketRoute("/socket", self._socket),
        ]
        starlette = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={InputError: _refusal})
        return Access(starlette, self.tokens, hosts, scheme, ("/page/", "/api/session"))

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._reader.start()
        yield
        self._reader.close()
        await asyncio.gather(*(feed.stop() for feed in self._feeds.values()))
        await asyncio.gather(*(operation.close() for operation in self._operations.values()))

    async def _page(self, request: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    async def _session(self, request: Request) -> Response:
        """Exchange a token for a cookie."""
        try:
            token = str((await request.json())["token"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return JSONResponse({"text": "refused: expected a token"}, 403)
        cookie = self.tokens.open_session(token)
        if cookie is None:
            return JSONResponse({"text": "refused: a wrong token"}, 403)
        answer = JSONResponse({"may_operate": self.tokens.may_operate(cookie)})
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure)
        return answer

    async def _runs(self, request: Request) -> Response:
        runs = await asyncio.to_thread(registered_runs)
        return JSONResponse([run._asdict() for run in runs if run.live_port is not None])

    async def _logs(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._listed))

    def _listed(self) -> list[dict[str, Any]]:
        """The logs, newest first; one that can't be read is left out."""
        paths = [*self._more, *self._folder.glob("*.mcap")]
        newest = sorted({path.absolute() for path in paths if path.is_file()}, key=_modified, reverse=True)
        logs = []
        for path in newest[:_MOST_LOGS]:
            with contextlib.suppress(InputError, OSError):
                seen = read_overview(path)
                logs.append(
                    {
                        "path": str(path),
                        "name": path.name,
                        "bed": seen.info.get("bed", ""),
                        "mode": seen.info.get("mode", ""),
                        "when": seen.when.isoformat(timespec="seconds"),
                        "ended": seen.summary["ended"] if seen.summary else "unfinished",
                        "text": seen.summary.get("text", "") if seen.summary else "",
                        "seconds": seen.summary.get("ended_at_s") if seen.summary else None,
                        "seed": seen.info.get("seed", ""),
                        "changes": seen.changes,
                        "error": final_error(seen.summary),
                        "size": path.stat().st_size,
                    }
                )
        return logs

    def _known(self, request: Request) -> Path:
        """The log that a request names: one of the list, or one that a run records."""
        path = Path(request.query_params.get("path", ""))
        recorded = {Path(run.log) for run in registered_runs()}
        if (
            path in recorded
            or path in self._more
            or (path.parent == self._folder.absolute() and path.suffix == ".mcap")
        ):
            return path
        raise InputError(f"no log '{path}'", expected="one of the list")

    async def _log(self, request: Request) -> Response:
        return JSONResponse(await self._reader.ask(self._known(request), "head"))

    async def _progress(self, request: Request) -> Response:
        return JSONResponse({"part": self._reader.progress.get(str(self._known(request)))})

    async def _signals(self, request: Request) -> Response:
        names = [name for name in request.query_params.get("names", "").split(",") if name]
        t0, t1, pixels = (_number(request, key) for key in ("t0", "t1", "pixels"))
        content = await self._reader.ask(self._known(request), "signals", names, t0, t1, int(min(pixels, 8000)))
        return Response(content, media_type="application/octet-stream")

    async def _scenes(self, request: Request) -> Response:
        """Scenes in a time: lines of JSON, each followed by its points in base64 of the same line."""
        t0, t1, step = (_number(request, key) for key in ("t0", "t1", "step"))
        times = np.arange(t0, t1 + 1e-9, max(step, 1e-3)).tolist() if t1 > t0 else [t0]
        scenes = await self._reader.ask(self._known(request), "scenes", times)
        heads = json.dumps([{"t": t, "points": len(points), **facts} for t, facts, points in scenes]).encode()
        heads += b" " * (-(4 + len(heads)) % 8)
        whole = len(heads).to_bytes(4, "little") + heads + b"".join(points for _, _, points in scenes)
        return Response(whole, media_type="application/octet-stream")

    async def _socket(self, socket: WebSocket) -> None:
        """A page that watches a run."""
        pid = socket.query_params.get("run", "")
        feed = await self._feed(int(pid) if pid.isdecimal() else 0)
        if feed is None or len(self._pages[feed.run.pid]) >= _MOST_PAGES:
            await socket.close(1008)
            return
        await socket.accept()
        pages = self._pages[feed.run.pid]
        page = LivePage(socket, feed, self._operations.get(feed.run.pid), socket.scope["may_operate"])
        pages[page.number] = page
        try:
            await page.serve(pages)
        finally:
            del pages[page.number]

    async def _feed(self, pid: int) -> RunFeed | None:
        """The feed of a run, which begins with its first page."""
        for known in [known for known, feed in self._feeds.items() if feed.is_over and not self._pages[known]]:
            await self._feeds.pop(known).stop()
            if operation := self._operations.pop(known, None):
                await operation.close()
        if pid not in self._feeds:
            runs = {run.pid: run for run in await asyncio.to_thread(registered_runs)}
            run = runs.get(pid)
            if run is None or run.live_port is None:
                return None
            self._feeds[pid] = RunFeed(run)
            self._pages[pid] = {}
            if run.operator_address is not None:
                self._operations[pid] = PageControl(run.operator_address)
            self._feeds[pid].start()
        return self._feeds[pid]


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _number(request: Request, key: str) -> float:
    try:
        value = float(request.query_params[key])
    except (KeyError, ValueError):
        raise InputError(key=key, value=request.query_params.get(key), expected="a number") from None
    if not np.isfinite(value):
        raise InputError(key=key, value=value, expected="a finite number")
    return value


async def _refusal(request: Request, error: Exception) -> Response:
    return JSONResponse({"text": str(error)}, 400)
