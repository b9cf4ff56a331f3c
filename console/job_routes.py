"""Requests that start, show and stop commands of Granite: new runs, films, plots, exports, replays, tuning.

A page never sends a command line: it names a kind and its values, from which the words are made here.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from granite.config.catalogue import catalogue
from granite.config.errors import InputError
from granite.console.jobs import Jobs
from granite.console.log_shelf import LogShelf
from granite.console.requests import RequestBody, number
from granite.console.worker import Worker
from granite.tuning.toml_text import toml_value

#: what `granite export` and `granite movie` write
_EXPORTS, _FILMS, _PLOTS = ("csv", "parquet", "mat", "mcap"), ("mp4", "gif"), ("png", "svg", "pdf")
_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".mp4": "video/mp4", ".gif": "image/gif"}
_MONTE_CARLO = ".montecarlo.json"
#: lengths of a change of a testbed, and of a name of one
_LONGEST_CHANGE, _LONGEST_BED = 500, 200

Words = tuple[list[str], Path | None]


class JobRoutes:
    """Answers them with the jobs and the worker for testbeds and sessions."""

    def __init__(self, shelf: LogShelf, worker: Worker, jobs: Jobs) -> None:
        self._shelf, self._worker, self._jobs = shelf, worker, jobs
        self._kinds: dict[str, Callable[[RequestBody], Words]] = {
            "plot": lambda body: self._of_log(body, "plot", _PLOTS),
            "movie": lambda body: self._of_log(body, "movie", _FILMS),
            "export": lambda body: self._of_log(body, "export", _EXPORTS),
            "replay": lambda body: (["replay", str(self._shelf.known(body.text("path")))], None),
            "run": self._run,
            "tune": self._tune,
            "promote": self._promote,
            "montecarlo": self._monte_carlo,
            "again": self._again,
        }

    def routes(self) -> list[Route]:
        """By path."""
        return [
            Route("/api/testbeds", self._testbeds),
            Route("/api/check", self._check, methods=["POST"]),
            Route("/api/jobs", self._list),
            Route("/api/jobs/start", self._start, methods=["POST"]),
            Route("/api/jobs/stop", self._stop, methods=["POST"]),
            Route("/api/jobs/result", self._result),
            Route("/api/tuning", self._sessions),
            Route("/api/tuning/session", self._session),
            Route("/api/montecarlo", self._monte_carlos),
        ]

    async def _testbeds(self, request: Request) -> Response:
        """Presets with their variants, and testbed files beside the console."""
        groups = await asyncio.to_thread(catalogue)
        presets = [
            {"name": entry.name, "title": entry.traits.title, "variants": list(entry.variants), "group": group}
            for group, entries in groups.items()
            for entry in entries
        ]
        files = [{"name": str(path), "title": "", "variants": [], "group": "Files"} for path in sorted(_files())]
        return JSONResponse([*presets, *files])

    async def _check(self, request: Request) -> Response:
        body = await RequestBody.of(request)
        changes, duration, seed = _changes(body), body.text("duration", ""), body.text("seed", "")
        _numeric(duration, seed)
        return JSONResponse(await self._worker.ask("check", _bed(body), changes, duration, seed))

    async def _list(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._jobs.told))

    async def _start(self, request: Request) -> Response:
        body = await RequestBody.of(request)
        kind = body.text("kind")
        if kind not in self._kinds:
            raise InputError("no such kind of job", key="kind", value=kind[:40], expected=", ".join(self._kinds))
        words, result = self._kinds[kind](body)
        return JSONResponse(
            await asyncio.to_thread(self._jobs.start, kind, words, result, not body.flag("outlives_console"))
        )

    async def _stop(self, request: Request) -> Response:
        body = await RequestBody.of(request)
        return JSONResponse(await asyncio.to_thread(self._jobs.stop, body.whole("number", 1, 10**9)))

    async def _result(self, request: Request) -> Response:
        """The file that a job wrote; pictures and films are shown, others saved."""
        job = self._jobs.of(int(number(request, "number")))
        if job.result is None or not job.result.is_file():
            raise InputError("the job has no result", key="number", value=job.number)
        kind = _TYPES.get(job.result.suffix)
        shown = "inline" if kind else "attachment"
        return FileResponse(job.result, media_type=kind, filename=job.result.name, content_disposition_type=shown)

    async def _sessions(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._shelf.sessions))

    async def _session(self, request: Request) -> Response:
        folder = self._shelf.session(request.query_params.get("path", ""))
        return JSONResponse(await self._worker.ask("session", str(folder)))

    async def _monte_carlos(self, request: Request) -> Response:
        """The Monte Carlo results in the folder, newest first; of one, with `name`, everything."""
        name = request.query_params.get("name")
        if name is None:
            paths = sorted(self._shelf.folder.glob(f"*{_MONTE_CARLO}"), reverse=True)
            return JSONResponse([path.name for path in paths])
        return JSONResponse(await asyncio.to_thread(self._read_monte_carlo, name))

    def _read_monte_carlo(self, name: str) -> Any:
        if "/" in name or not name.endswith(_MONTE_CARLO):
            raise InputError(f"no result '{name}'", expected="one of the list")
        try:
            return json.loads((self._shelf.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"result '{name}' can't be read: {error}") from None

    def _of_log(self, body: RequestBody, command: str, formats: tuple[str, ...]) -> Words:
        path, form = self._shelf.known(body.text("path")), body.text("format", formats[0])
        if form not in formats:
            raise InputError(key="format", value=form, expected=", ".join(formats))
        out = path.with_name(f"{path.stem}-scene.mcap" if form == "mcap" else f"{path.stem}.{form}")
        return [command, str(path), "--out", str(out), "--overwrite"], out

    def _run(self, body: RequestBody) -> Words:
        mode = body.text("mode")
        if mode not in ("simulate", "realtime", "rehearse"):
            raise InputError(key="mode", value=mode, expected="simulate, realtime or rehearse")
        words = ["rehearse" if mode == "rehearse" else "sim", _bed(body), *_set(_changes(body))]
        words += [f"--{key}={value}" for key in ("duration", "seed") if (value := body.text(key, ""))]
        _numeric(body.text("duration", ""), body.text("seed", ""))
        if mode == "realtime":
            words.append("--realtime")
        if mode != "simulate":
            words += ["--live", *(["--operator"] if body.flag("operator") else [])]
        out = self._new(_bed(body), ".mcap")
        return [*words, "--out", str(out)], out

    def _tune(self, body: RequestBody) -> Words:
        if body.text("resume", ""):
            folder = self._shelf.session(body.text("resume"))
            words = ["tune", _bed(body), *_set(_changes(body)), "--resume", str(folder)]
        else:
            folder = self._new(f"{_bed(body)}-tuning", "")
            words = ["tune", _bed(body), *_set(_changes(body)), "--out", str(folder)]
        if table := body.text("tuning", ""):
            words += ["--tuning", str(_file(table))]
        words += ["--trials", str(body.whole("trials", 1, 100_000, 50))]
        words += ["--processes", str(body.whole("processes", 1, 256, 1))]
        return words, None

    def _promote(self, body: RequestBody) -> Words:
        folder, trial = self._shelf.session(body.text("path")), body.whole("trial", 0, 10**7)
        name = body.text("name")
        if not re.fullmatch(r"[\w-][\w.-]{0,80}\.toml", name):
            raise InputError(key="name", value=name, expected="a file name that ends in .toml")
        out = Path(name).absolute()
        return ["tune", "promote", str(folder), str(trial), "--out", str(out)], out

    def _monte_carlo(self, body: RequestBody) -> Words:
        words = ["montecarlo", _bed(body), *_set(_changes(body)), "--runs", str(body.whole("runs", 1, 100_000, 100))]
        words += [
            "--seed",
            str(body.whole("seed", 0, 10**9, 1)),
            "--processes",
            str(body.whole("processes", 1, 256, 1)),
        ]
        if table := body.text("tuning", ""):
            words += ["--tuning", str(_file(table))]
        out = self._new(_bed(body), _MONTE_CARLO)
        return [*words, "--save", str(out)], out

    def _again(self, body: RequestBody) -> Words:
        """One run of a Monte Carlo result, as a full log."""
        result = self._read_monte_carlo(body.text("name"))
        try:
            run = result["runs"][body.whole("run", 0, 10**7)]
            changes = [f"{key}={toml_value(value, float('inf'))}" for key, value in run["changes"].items()]
            bed, typed = str(result["typed"]), [str(change) for change in result["overrides"]]
        except (KeyError, IndexError, TypeError, AttributeError):
            raise InputError("no such run", key="run", expected="one of the result") from None
        out = self._new(f"{bed}-seed-{run['seed']}", ".mcap")
        return ["sim", bed, *_set([*typed, *changes]), "--out", str(out)], out

    def _new(self, bed: str, end: str) -> Path:
        """A name in the folder that nobody has."""
        stem = re.sub(r"[^\w.-]+", "-", bed.removesuffix(".toml"))
        self._shelf.folder.mkdir(parents=True, exist_ok=True)
        names = (self._shelf.folder / f"{stem}-{i:03d}{end}" for i in itertools.count(1))
        parts = ".part.mcap"
        return next(p for p in names if not p.exists() and not p.with_name(f"{p.stem}{parts}").exists())


def _bed(body: RequestBody) -> str:
    """A preset, a variant of one, or a testbed file beside the console."""
    name = body.text("bed").strip()
    if name.endswith(".toml"):
        return str(_file(name))
    if not re.fullmatch(r"[\w][\w.-]*(/[\w.-]+)?", name) or len(name) > _LONGEST_BED or ".." in name:
        raise InputError(key="bed", value=name[:60], expected="the name of a testbed")
    return name


def _file(name: str) -> Path:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or name.startswith("-") or path not in set(_files()):
        raise InputError(key="bed", value=name[:60], expected="a testbed file in the folder of the console")
    return path


def _files() -> list[Path]:
    """Testbed and tuning files in the folder of the console, and one below."""
    return [path for pattern in ("*.toml", "*/*.toml") for path in Path().glob(pattern)][:500]


def _changes(body: RequestBody) -> list[str]:
    changes = [change.strip() for change in body.texts("changes")]
    for change in changes:
        if len(change) > _LONGEST_CHANGE or "=" not in change or "\n" in change:
            key = change.partition("=")[0].strip()[:60]
            raise InputError("no change of a testbed", key=key, expected="KEY=VALUE")
    return changes


def _set(changes: list[str]) -> list[str]:
    return [f"--set={change}" for change in changes]


def _numeric(duration: str, seed: str) -> None:
    """Refuse what is no number: the short forms of the command line would be read as TOML."""
    if duration and not re.fullmatch(r"[0-9.]{1,12}(e[0-9]{1,3})?", duration):
        raise InputError(key="duration", value=duration[:30], expected="seconds")
    if seed and not re.fullmatch(r"[0-9]{1,18}", seed):
        raise InputError(key="seed", value=seed[:30], expected="a whole number from 0")
