"""A log as a table for other programs: CSV, Parquet or MAT, with the unit of every signal.

    CSV       one column for each signal, named `topic.signal`; the name ends in the unit, as in `truth.base_x_m`
    Parquet   the same columns; the unit stands in the metadata of the column too
    MAT       one structure for each topic with the signals as vectors, and `units` with the same names

Numbers are written in full: what is read back is equal to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from granite.config.optional_packages import required
from granite.config.whole_file import write_whole
from granite.logs.log import Log


class ExportedSignal(NamedTuple):
    """A column of the table."""

    topic: str  #: without its slash
    key: str
    unit: str
    column: int  #: in the rows of the log

    @property
    def name(self) -> str:
        """As in an expression."""
        return f"{self.topic}.{self.key}"


def export_log(log: Log, path: Path, topics: Sequence[str] = (), overwrite: bool = False) -> int:
    """Write the signals of some topics, or of all, into a file; how many signals there are.

    Raises
    ------
    InputError
        Where there is no such topic, the format is unknown, a package is missing, or the file can't be written.
    """
    chosen = [log.channels.topic(name) for name in topics] or list(log.channels.topics)
    signals = [
        ExportedSignal(topic.name.removeprefix("/"), value.key, value.unit, topic.start + i)
        for topic in chosen
        for i, (_, value) in enumerate(topic.values)
    ]
    with write_whole("table", path, SUFFIXES, overwrite) as unfinished:
        _WRITERS[path.suffix.lower()](log, signals, unfinished)
    return len(signals)


def _write_csv(log: Log, signals: Sequence[ExportedSignal], path: Path) -> None:
    columns = [signal.column for signal in signals]
    time = log.channels.column("/timing", "scheduled_s")
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(["t_s", *(signal.name for signal in signals)]) + "\n")
        for rows in log.blocks():  # a run of any length in little memory
            for row in rows[:, [time, *columns]].tolist():
                file.write(",".join(map(repr, row)) + "\n")


def _write_parquet(log: Log, signals: Sequence[ExportedSignal], path: Path) -> None:
    arrow, parquet = required("pyarrow", "parquet"), required("pyarrow.parquet", "parquet")
    fields = [arrow.field("t_s", arrow.float64(), metadata={"unit": "s"})]
    fields += [arrow.field(signal.name, arrow.float64(), metadata={"unit": signal.unit}) for signal in signals]
    schema = arrow.schema(fields, metadata={"bed": log.bed.name, **log.info})
    columns = [log.channels.column("/timing", "scheduled_s"), *(signal.column for signal in signals)]
    with parquet.ParquetWriter(str(path), schema) as writer:
        for rows in log.blocks():
            arrays = [arrow.array(rows[:, column]) for column in columns]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _write_mat(log: Log, signals: Sequence[ExportedSignal], path: Path) -> None:
    from scipy.io import savemat

    content: dict[str, object] = {"t_s": log.t, "bed": log.bed.name, "seed": float(log.bed.seed)}
    for topic in dict.fromkeys(signal.topic for signal in signals):
        own = [signal for signal in signals if signal.topic == topic]
        values = log.columns([signal.column for signal in own])
        content[topic] = {
            **{signal.key: values[:, i] for i, signal in enumerate(own)},
            "units": {signal.key: signal.unit for signal in own},
        }
    savemat(path, content, long_field_names=True, oned_as="column")


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".mat": _write_mat}
#: how the name of an export may end
SUFFIXES = tuple(_WRITERS)
