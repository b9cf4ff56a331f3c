"""A log: the testbed and the rows of a run, bit for bit, also from a truncated file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from granite.config.errors import InputError
from granite.config.optional_packages import required
from granite.config.paths import meant_in_runs, missing_part
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.log_content import RowsWatch, read_content
from granite.logs.logged_rows import LoggedRows, blocks_of, gathered
from granite.logs.run_summary import RunSummary


class _Rows:
    """The attribute `rows` of a log: from a file they are read when they are first asked for."""

    def __set__(self, log: Log, rows: Array | LoggedRows) -> None:
        log.__dict__["_rows"] = rows

    def __get__(self, log: Log | None, owner: type[Log]) -> Array:
        if log is None:
            raise AttributeError("rows are those of a log")
        rows: Array | LoggedRows = log.__dict__["_rows"]
        if isinstance(rows, LoggedRows):
            rows = gathered(rows.blocks(), len(rows), slice(None))
            rows.flags.writeable = False
            log.__dict__["_rows"] = rows
        return rows


@dataclass(frozen=True, repr=False)
class Log:
    """A run as it was recorded."""

    bed: Testbed
    #: the metadata of the run: format, granite, bed, seed, mode, start_ns and those of `rt.run.describe`
    info: dict[str, str]
    channels: Channels
    #: one row per tick, all in memory and read only; `blocks` and the signals need less of a long run
    rows: Array
    events: tuple[dict[str, Any], ...]
    #: the summary of the run; None if the recorder was killed before it wrote one
    summary: RunSummary | None
    #: False if the file is truncated or damaged: rows then end before the run did
    complete: bool
    #: why it is not complete
    damage: str | None = None

    def __repr__(self) -> str:
        """One line: testbed, length and ending; the fields of a run would fill screens."""
        return f"<Log of {self.bed.name}: {', '.join(f'{name} {value}' for name, value in self._head())}>"

    def _repr_html_(self) -> str:
        """A table for notebooks: the head of the run, and the tracking errors of its last 5 s."""
        rows = [("testbed", self.bed.name), *self._head()]
        errors = self.summary.get("tracking_error", {}) if self.summary else {}
        for name, error in errors.items():
            rows.append((f"{name}, largest error of the last 5 s", f"{error['max_in_last_5_s']:.3g} {error['unit']}"))
        cells = (f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
        return f"<table>{''.join(cells)}</table>"

    def _head(self) -> list[tuple[str, str]]:
        ending = self.summary["ended"] if self.summary else self.damage or "unknown"
        length = f"{self.ticks * self.bed.loop.period_s:g} s"
        return [("ticks", str(self.ticks)), ("length", length), ("events", str(len(self.events))), ("ended", ending)]

    @property
    def ticks(self) -> int:
        """The number of rows."""
        return len(self.__dict__["_rows"])

    def blocks(self) -> Iterator[Array]:
        """The rows in their order, some at a time: a run of any length in little memory."""
        rows: Array | LoggedRows = self.__dict__["_rows"]
        return rows.blocks() if isinstance(rows, LoggedRows) else blocks_of(rows)

    def rows_between(self, first: int, last: int) -> Array:
        """Rows `first` up to `last`, without it; of a long run only these are read."""
        rows: Array | LoggedRows = self.__dict__["_rows"]
        return rows.between(first, last) if isinstance(rows, LoggedRows) else rows[max(first, 0) : last]

    def columns(self, columns: list[int]) -> Array:
        """These columns of all rows, such as those that `channels.column` finds."""
        return gathered(self.blocks(), self.ticks, columns)

    def __getitem__(self, topic: str) -> Signals:
        """The signals of a topic over time: `log["/truth"].base_x_m`; `InputError` where there is no such topic."""
        return Signals(self, topic)

    def to_pandas(self, topic: str | None = None) -> Any:
        """The signals of a topic, or of all as `topic.signal`, as a pandas DataFrame over the time of the tick [s].

        Raises
        ------
        InputError
            Where pandas is not installed.
        """
        pandas = required("pandas", "pandas")
        topics = [self.channels.topic(topic)] if topic else self.channels.topics
        names = [value.key if topic else f"{each.name[1:]}.{value.key}" for each in topics for _, value in each.values]
        values = self.columns([column for each in topics for column in range(each.start, each.stop)])
        return pandas.DataFrame(values, columns=names, index=pandas.Index(self.t, name="t_s"))

    @property
    def t(self) -> Array:
        """When each tick was due [s]."""
        return self.columns([self.channels.column("/timing", "scheduled_s")])[:, 0]


Log.rows = _Rows()  # type: ignore[assignment]  # after the dataclass, to which it would be a default


class Signals:
    """The signals of one topic of a log: an array over time for each, as attribute or by key."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log, self._topic = log, log.channels.topic(topic)

    def keys(self) -> list[str]:
        """The signals, each with its unit."""
        return [value.key for _, value in self._topic.values]

    def __getitem__(self, key: str) -> Array:
        return self._log.columns([self._log.channels.column(self._topic.name, key)])[:, 0]

    def __getattr__(self, key: str) -> Array:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self[key]
        except InputError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.keys()]


def read_log(path: Path | str, *, without_rows: bool = False, watch: RowsWatch | None = None) -> Log:
    """Read the log of a run.

    Parameters
    ----------
    path
        An MCAP file that Granite recorded; truncated or damaged ones are read up to the damage.
    without_rows
        Accept a run that ended before its first tick, for its ending.
    watch
        Called with the rows of each chunk of the file as it is read, and the part that is read so far, 0 to 1.

    Returns
    -------
    Log
        `complete` is False where the file was truncated or damaged.

    Raises
    ------
    InputError
        Where the file can't be read, is of another format, has rows that no run can have, or no complete tick.
    """
    try:
        content = read_content(path, watch=watch)
    except OSError as error:
        reason = error.strerror if Path(path).parent.is_dir() else missing_part(Path(path))
        known = f"a log, as granite runs lists them{meant_in_runs(Path(path), '.mcap')}"
        expected = known if isinstance(error, FileNotFoundError) else ""
        raise InputError(f"log '{path}' can't be read: {reason}", expected=expected) from error
    if not len(content.rows) and not (without_rows and content.summary):
        raise InputError(f"log '{path}' has no complete tick: the run ended before the first, or the file is cut off")
    return Log(
        content.bed,
        content.info,
        content.channels,
        content.rows,  # type: ignore[arg-type]  # which the attribute turns into an array
        content.events,
        content.summary,
        content.damage is None,
        content.damage,
    )
