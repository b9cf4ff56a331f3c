"""The server of the console: the page, its session and its socket for runs; logs and jobs have files of their own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from types import FrameType

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
from granite.console.http_protocol import HttpProtocol
from granite.console.job_routes import JobRoutes
from granite.console.jobs import Jobs
from granite.console.live_page import LivePage
from granite.console.log_routes import LogRoutes
from granite.console.log_shelf import LogShelf
from granite.console.page_control import PageControl
from granite.console.run_feed import RunFeed
from granite.console.worker import RefusedOrderError, Worker
from granite.console.workshop import Workshop
from granite.logs.unfinished import finished_name
from granite.rt.process.other_cores import OtherCores, threads_of
from granite.rt.process.run_register import registered_runs

_PAGE = Path(__file__).with_name("page")
#: pages of one run at most
_MOST_PAGES = 32
#: time for pages to close when the console ends [s]; longest message of a page [bytes]
_GRACE_S, _LONGEST_MESSAGE = 2, 4096
#: time between two looks at the cores of loops [s]; a connection is lost whose client reads nothing for so long [ms]
_CORES_S, UNREAD_MS = 1.0, 30_000


def listening_socket(host: str, port: int) -> socket.socket:
    """Of a console; the system ends what is not read, of which the server, which waits to write, never learns."""
    listening = socket.create_server((host, port))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
    return listening


def server_config(app: ASGIApp, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Config:
    """How the console is served: a page that is open never keeps it from ending."""
    return uvicorn.Config(
        app,
        http=HttpProtocol,
        log_level="error",
        timeout_graceful_shutdown=_GRACE_S,
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        ws_per_message_deflate=False,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
    )


class Server(uvicorn.Server):
    """Says nothing of requests that it cuts off when it ends."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """After Ctrl-C."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        super().handle_exit(sig, frame)


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
        self._feeds: dict[int, RunFeed] = {}
        self._operations: dict[int, PageControl] = {}
        self._pages: dict[int, dict[int, LivePage]] = {}
        #: one for logs, and one for testbeds, plans and sessions: neither waits for the other
        self._log_worker, self._worker = Worker(Workshop, "log reader"), Worker(Workshop, "workshop")
        self._cores = OtherCores()
        self._jobs, shelf = Jobs(self._cores), LogShelf(folder, more)
        self._routes = [
            *LogRoutes(shelf, self._log_worker).routes(),
            *JobRoutes(shelf, self._worker, self._jobs).routes(),
        ]

    def app(self, hosts: Iterable[str], scheme: str = "http") -> ASGIApp:
        """The application, called by these names."""
        routes = [
            Route("/", self._page),
            Mount("/page", StaticFiles(directory=_PAGE)),
            Route("/api/session", self._session, methods=["POST"]),
            Route("/api/runs", self._runs),
            *self._routes,
            WebSocketRoute("/socket", self._socket),
        ]
        handlers = {InputError: _refusal, RefusedOrderError: _refusal}
        starlette = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)  # type: ignore[arg-type]
        return Access(starlette, self.tokens, hosts, scheme, ("/page/", "/api/session"))

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._log_worker.start()
        leaving = asyncio.create_task(self._leave_cores_to_loops())
        yield
        leaving.cancel()
        await asyncio.to_thread(self._jobs.close)
        for worker in (self._log_worker, self._worker):
            worker.close()
        await asyncio.gather(*(feed.stop() for feed in self._feeds.values()))
        await asyncio.gather(*(operation.close() for operation in self._operations.values()))

    async def _leave_cores_to_loops(self) -> None:
        while True:
            loops = [pid for pid, feed in self._feeds.items() if not feed.is_over and pid != os.getpid()]
            own = [os.getpid(), *(pid for worker in (self._log_worker, self._worker) if (pid := worker.pid))]
            self._cores.leave(loops, threads_of(*own))
            await asyncio.sleep(_CORES_S)

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
            return JSONResponse({"text": "refused: a wrong token, expected the address that this console printed"}, 403)
        answer = JSONResponse({"may_operate": self.tokens.may_operate(cookie)})
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure)
        return answer

    async def _runs(self, request: Request) -> Response:
        runs = await asyncio.to_thread(registered_runs)
        shown = [run for run in runs if run.live_port is not None]
        return JSONResponse([{**run._asdict(), "final_log": finished_name(run.log)} for run in shown])

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
            if pid in self._feeds:  # another page was faster
                return self._feeds[pid]
            self._feeds[pid] = RunFeed(run, self._worker)
            self._pages[pid] = {}
            if run.operator_address is not None:
                self._operations[pid] = PageControl(run.operator_address)
            self._feeds[pid].start()
        return self._feeds[pid]


async def _refusal(request: Request, error: InputError | RefusedOrderError) -> Response:
    return JSONResponse({"text": str(error), "key": error.key}, 400)
