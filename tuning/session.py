"""A tuning session: a folder with the testbed as it was, what is tuned, the study, logs of the best trials, notes.

session.json    version, testbed and tuning table, exactly; parameters, scenarios, SHA-256 of files with own parts
testbed.toml    the testbed, for people: granite sim SESSION/testbed.toml
study.db        the trials (Optuna on SQLite)
logs/           the start and the best trials in the first scenario
notes.md        yours
session.lock    locked by the process that works on it; logs.lock by one that records logs
"""

from __future__ import annotations

import fcntl
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.config.overrides import assign
from granite.config.parts import BUILT_IN, named_files, running_only, sources, vouched
from granite.config.paths import meant_in_runs
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.config.whole_file import write_whole
from granite.rt.process.testbed_file import write_testbed
from granite.rt.run import simulate
from granite.tuning.measures import Band, Measures, goals_of
from granite.tuning.parameters import SearchParameter, resolve_all
from granite.tuning.results import best_of, front_of
from granite.tuning.scenarios import Scenario, scenarios_of
from granite.tuning.study import TrialResult, TuningStudy
from granite.tuning.toml_text import content_of, toml_text, with_numbers

FORMAT = 2
_FILE, _TESTBED, _STUDY, _LOGS, _NOTES = "session.json", "testbed.toml", "study.db", "logs", "notes.md"
_LOCK, _LOGS_LOCK = "session.lock", "logs.lock"
#: the first line of a promoted testbed, as `Session._head` writes it
_HEAD = re.compile(r"\A# \S+ with the gains of trial \d+ of [^\r\n]*")
#: trials of the front whose logs are kept beside the start
_KEPT = 3
#: that some editors put in front, and the loader accepts
_BYTE_ORDER_MARK = "\ufeff"


_PARAMETERS, _SCENARIOS = TypeAdapter(list[SearchParameter]), TypeAdapter(list[Scenario])
_SOURCES = TypeAdapter(dict[str, str])


class Session:
    """A folder, its testbed and its tuning table; `create` begins one, `read` opens one, `resumed` goes on with it.

    One that was read has no code of a user's own parts: it may be a stranger's.
    """

    def __init__(
        self,
        folder: Path,
        bed: Testbed,
        table: TuningTable,
        parameters: list[SearchParameter] | None = None,
        scenarios: list[Scenario] | None = None,
        own_sources: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.bed, self.table = folder, bed, table
        #: the version of Granite that began it
        self.version = version("granite-robotics")
        self.parameters = resolve_all(bed, table.parameters) if parameters is None else parameters
        self.scenarios = scenarios_of(bed, table) if scenarios is None else scenarios
        #: SHA-256 of the files with a user's own parts when it began
        self.sources = sources(bed) if own_sources is None else own_sources
        #: whether the code of all parts is there
        self.can_run = True

    @classmethod
    def create(cls, folder: Path, bed: Testbed, table: TuningTable) -> Session:
        """Begin a session in a new folder; everything that can be refused is refused before it is made.

        Raises
        ------
        InputError
            Where the folder exists, or the table does not fit the testbed.
        """
        session = cls(folder, bed, table)
        Measures(bed, goals_of(table), Band())
        if folder.exists():
            expected = f"a new name, or --resume {shlex.quote(str(folder))}"
            raise InputError(f"session '{folder}' exists", expected=expected)
        try:
            (folder / _LOGS).mkdir(parents=True)
            content = content_of(bed)
            (folder / _TESTBED).write_text(toml_text(content), encoding="utf-8")
            (folder / _NOTES).write_text(f"# Notes on tuning {bed.name}\n", encoding="utf-8")
            session._write()
        except OSError as error:
            raise session._unwritable(error) from None
        return session

    @classmethod
    def read(cls, folder: Path) -> Session:
        """Open the session in a folder, to be looked at: nothing that it names is run.

        Raises
        ------
        InputError
            Where there is none, or another version of Granite wrote it.
        """
        try:
            content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        except OSError:
            expected = f"a folder that granite tune BED made{meant_in_runs(folder)}"
            raise InputError(f"'{folder}' is not a session", expected=expected) from None
        except ValueError as error:
            raise InputError(f"session '{folder}' is damaged ({error})", expected="session.json as written") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            version = content.get("format") if isinstance(content, dict) else None
            problem = f"session '{folder}' has format {version}: another version of Granite wrote it"
            raise InputError(problem, expected=f"format {FORMAT}")
        try:
            bed = from_json(content["testbed"], f"session '{folder}'", looked_up=BUILT_IN)
            table = TuningTable.model_validate_json(content["tuning"])
            parameters = _PARAMETERS.validate_python(content["parameters"])
            scenarios = _SCENARIOS.validate_python(content["scenarios"])
            own_sources = _SOURCES.validate_python(content["sources"])
        except (KeyError, TypeError, ValidationError) as error:
            words = " ".join(str(error).split())[:150]
            raise InputError(f"session '{folder}' is damaged ({words})", expected="session.json as written") from None
        session = cls(folder, bed, table, parameters, scenarios, own_sources)
        session.version = str(content.get("granite"))
        session.can_run = not named_files(bed)
        return session

    def resumed(self, bed: Testbed, table: TuningTable, trust: bool = False) -> Session:
        """The same session with the code of its testbed, which is `bed` as it is loaded now.

        Raises
        ------
        InputError
            Where its trials would not be those of one study; the number of trials may differ. That is where it is of
            another testbed, code or version of Granite, or tunes or judges otherwise. With `trust` the code may differ.
        """
        if self.version != (mine := version("granite-robotics")):
            problem = f"session '{self.folder}' was begun by Granite {self.version}, this is {mine}"
            raise InputError(problem, file=bed.name, expected="the version that began it, or a new session")
        mine, theirs = json.loads(to_json(self.bed)), json.loads(to_json(bed))
        if mine != theirs:
            other = _first_difference(mine, theirs)
            problem = f"session '{self.folder}' is of another testbed, which differs in {other}"
            raise InputError(problem, file=bed.name, expected="the testbed as it was, or a new session")
        own, other_table = (one.model_dump(mode="json", exclude={"trials"}) for one in (self.table, table))
        if own != other_table:
            key = _first_difference(own, other_table)
            problem = f"session '{self.folder}' was tuned otherwise: tuning.{key} differs"
            raise InputError(problem, file=bed.name, expected="the table as it was, or a new session")
        try:
            vouched(bed, self.sources, trust)
        except InputError as refusal:
            raise refusal.within(file=f"session '{self.folder}'") from None
        return Session(self.folder, bed, self.table)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A context in which no other process works on the session; reading it needs no such context.

        The study is read inside it: what was read before may lack trials of the process that worked on it until then.

        Raises
        ------
        InputError
            Where another process works on it, or its folder can't be written.
        """
        with self._locked(_LOCK, wait=False):
            yield

    def with_trials(self, trials: int) -> Session:
        """The same session with more trials, also in its file; `InputError` where it has more than that already."""
        told = self.study().told
        if trials < told:
            expected = f"at least {told}, which the session has"
            raise InputError("a session is prolonged", key="--trials", value=trials, expected=expected)
        self.table = self.table.model_copy(update={"trials": trials})
        self._write()
        return self

    def study(self) -> TuningStudy:
        """The trials."""
        return TuningStudy(self.folder / _STUDY, self.parameters, self.table)

    def results(self) -> list[TrialResult]:
        """Every trial that has ended, by number; `InputError` where there is none."""
        results = self.study().results()
        if not results:
            expected = "some: granite tune BED --resume SESSION"
            raise InputError(f"session '{self.folder}' has no trial", expected=expected)
        return results

    def trial(self, number: int | None) -> TrialResult:
        """A trial by its number, or the best one."""
        results = self.results()
        if number is None:
            best = best_of(self.table, results)
            if best is None:
                raise InputError(f"session '{self.folder}' has no trial with a result", expected="some: --resume it")
            return best
        by_number = {result.number: result for result in results}
        if number not in by_number:
            expected = f"0 to {max(by_number)}"
            raise InputError(f"session '{self.folder}' has no such trial", key="trial", value=number, expected=expected)
        return by_number[number]

    def testbed_of(self, result: TrialResult) -> Testbed:
        """The testbed in the first scenario, with the parameters of a trial."""
        return self.bed.with_changes({**self.scenarios[0].changes, **result.parameters})

    def keep_logs(self) -> dict[str, Path]:
        """Record the start and the best trials in the first scenario, where there is no log of them yet.

        Nothing is recorded where that would run code of a user's own in a session that was only read.
        """
        results = self.study().results()
        best, front = best_of(self.table, results), front_of(self.table, results)
        kept = {result.number: result for result in (*results[:1], *([best] if best else []), *front[:1], *front[-1:])}
        logs = {number: self.log_of(number) for number in list(kept)[: 1 + _KEPT]}
        if self.can_run and not all(path.exists() for path in logs.values()):
            with self._locked(_LOGS_LOCK, wait=True):  # a report may need the same logs as the process that tunes
                for number, path in logs.items():
                    if not path.exists():
                        changes = [f"{key}={value!r}" for key, value in kept[number].parameters.items()]
                        simulate(self.testbed_of(kept[number]), path, overwrite=True, changes=changes)
        return {"start" if number == 0 else f"trial {number}": path for number, path in logs.items()}

    def log_of(self, number: int) -> Path:
        """Where the log of a trial is kept."""
        return self.folder / _LOGS / (f"trial-{number:04d}.mcap")

    def promote(self, result: TrialResult, path: Path, overwrite: bool = False, trust: bool = False) -> None:
        """Write the testbed with the parameters of a trial as a file of its own; reading it runs its own parts.

        Raises
        ------
        InputError
            Where the file can't be written, or the code of own parts is not that of the session and not trusted.
        """
        try:
            files = vouched(self.bed, self.sources, trust)
        except InputError as refusal:
            raise refusal.within(file=f"session '{self.folder}'") from None
        content = content_of(self.bed)
        for key, value in result.parameters.items():
            assign(content, key.split("."), value)
        content["name"] = path.stem
        expected = to_json(self.bed.with_changes({**result.parameters, "name": path.stem}))

        def check(written: Testbed) -> None:
            if to_json(written) != expected:
                raise InputError("it would not be the testbed of the session", expected="one that TOML can hold")

        with running_only(files):
            write_testbed(path, f"{self._head(result)}\n{toml_text(content)}", overwrite=overwrite, check=check)

    def promote_into(self, result: TrialResult, path: Path) -> None:
        """Write the parameters of a trial into a testbed file that gives them already.

        Numbers have four digits: more are no gain that anybody can tell. A first line about an earlier trial, which
        `promote` wrote, is replaced too.
        """
        try:
            text = path.read_bytes().decode()  # with its own line ends
        except OSError as error:
            raise InputError(f"testbed '{path}' can't be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise InputError("not text in UTF-8", file=str(path), expected="a TOML file") from None
        content = text.removeprefix(_BYTE_ORDER_MARK)
        numbers = {key: float(f"{x:.4g}") if isinstance(x, float) else x for key, x in result.parameters.items()}
        edited = _HEAD.sub(lambda _: self._head(result), with_numbers(content, numbers, path), count=1)
        load(path, numbers)  # a number that this testbed refuses is refused by its name
        write_testbed(path, text.removesuffix(content) + edited, overwrite=True)

    def _head(self, result: TrialResult) -> str:
        """The comment in front of a promoted testbed: where its gains come from."""
        reached = zip(self.table.objectives, result.objectives, strict=False)
        goals = ", ".join(f"{goal.label} {value:.5g}" for goal, value in reached) or "no result"
        return f"# {self.bed.name} with the gains of trial {result.number} of {self.folder.name}: {goals}"

    def _locked(self, name: str, *, wait: bool) -> TextIO:
        """A file of the folder that is locked until it is closed, which the system does where the process is killed."""
        try:
            lock = (self.folder / name).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BaseException:
                lock.close()
                raise
        except BlockingIOError:
            problem = f"another process works on session '{self.folder}'"
            raise InputError(problem, expected="the end of that process, or a new session") from None
        except OSError as error:  # also of a file system without locks
            raise self._unwritable(error) from None
        return lock

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"session '{self.folder}' can't be written: {error.strerror or error}")

    def _write(self) -> None:
        content = {
            "format": FORMAT,
            "granite": self.version,
            "bed": self.bed.name,
            "testbed": to_json(self.bed),
            "tuning": self.table.model_dump_json(),
            "parameters": _PARAMETERS.dump_python(self.parameters, mode="json"),
            "scenarios": _SCENARIOS.dump_python(self.scenarios, mode="json"),
            "sources": self.sources,
        }
        with write_whole("session", self.folder / _FILE, (".json",), overwrite=True) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _first_difference(first: Any, second: Any, above: str = "") -> str:
    """The dotted key of the first value that differs."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            if first.get(key) != second.get(key):
                return _first_difference(first.get(key), second.get(key), f"{above}.{key}" if above else str(key))
    return above or "its content"
