"""The readable part of a log file: its configuration, then its chunks, each checked before the next is read."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections import deque
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Attachment, Metadata
from mcap.writer import MCAP0_MAGIC

from granite.config.errors import InputError
from granite.config.loader import from_json
from granite.config.parts import BUILT_IN
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.json_records import read_event, read_info, read_summary
from granite.logs.logged_rows import LoggedRows
from granite.logs.mcap_file import CHANNELS, EVENTS, FINGERPRINTS, FORMAT, METADATA, TESTBED, fingerprint
from granite.logs.mcap_records import BROKEN, BrokenError, Record, chunk_content, index_records, records
from granite.logs.row_assembly import LayoutError, RowAssembly
from granite.logs.row_layout import fits, read_layout
from granite.logs.row_rules import RowError, RowRules
from granite.logs.run_summary import RunSummary
from granite.logs.unfinished import found_log

#: longest configuration [bytes]
_LONGEST_ATTACHMENT = 4 * 2**20
#: events that are kept: the first ones, and the last ones
_FIRST_EVENTS, _LAST_EVENTS = 50_000, 1_000
#: events that a run may have beside those of its rows
_SOME_EVENTS = 100

#: takes rows, and the part of the file that is read, 0 to 1
RowsWatch = Callable[[Array, float], None]


def read_content(
    path: Path | str, salvage: bool = False, head_only: bool = False, watch: RowsWatch | None = None
) -> LogContent:
    """The content of a log, up to the damage; with `salvage` also after damaged chunks.

    With `head_only` what stands in front of the rows: the configuration, also of a log that is being recorded.
    `watch` is given the rows of each chunk after they were checked, and which part of the file is read.

    Raises
    ------
    InputError
        Where it is no log of this format, or one that no run can have written.
    OSError
        Where the file can't be read.
    """
    path = found_log(path)
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"log '{path}' is not a file: expected a log that Granite wrote")
    file = open(path, "rb")  # noqa: SIM115 - the rows are read from it later
    try:
        return LogContent(file, path, salvage, head_only, watch)
    except BaseException:
        file.close()
        raise


class LogContent:
    """The content of a log, read from its file."""

    def __init__(
        self, file: IO[bytes], path: Path | str, salvage: bool, head_only: bool, watch: RowsWatch | None = None
    ) -> None:
        self.info: dict[str, str] = {}
        self.attachments: dict[str, str] = {}
        self.summary: RunSummary | None = None
        #: why it is not whole
        self.damage: str | None = None
        #: number of chunks that could not be read
        self.skipped = 0
        self._path, self._salvage, self._head_only = path, salvage, head_only
        self._watch, self._size = watch, os.fstat(file.fileno()).st_size
        self._first_events: list[dict[str, Any]] = []
        self._last_events: deque[dict[str, Any]] = deque(maxlen=_LAST_EVENTS)
        self._n_events = 0
        self._read(file)

    @property
    def events(self) -> tuple[dict[str, Any], ...]:
        """The events; of very many the first ones and the last ones."""
        return (*self._first_events, *self._last_events)

    def _read(self, file: IO[bytes]) -> None:
        magic = file.read(len(MCAP0_MAGIC))
        if not magic:
            raise InputError(f"log '{self._path}' is empty: expected a log that Granite wrote")
        if not MCAP0_MAGIC.startswith(magic):
            raise InputError(f"'{self._path}' is not an MCAP file: expected a log that Granite wrote")
        self._is_headed, self._after_gap = False, False
        try:
            for record in records(file):
                if self._head_only and record[0] == Opcode.CHUNK:
                    break
                self._take(record, file)
        except (InputError, LayoutError, RowError) as error:
            raise self._refusal(error) from None
        except BROKEN as error:
            self.damage = self.damage or str(error) or type(error).__name__
        if not self._is_headed:
            self._begin(file)

    def _take(self, record: Record, file: IO[bytes]) -> None:
        opcode, body, at = record
        if opcode == Opcode.CHUNK:
            if not self._is_headed:
                self._begin(file)
            self._take_chunk(body, at)
        elif opcode == Opcode.METADATA:
            metadata = Metadata.read(ReadDataStream(BytesIO(body)))
            if metadata.name == METADATA:
                self.info = {**metadata.metadata, **self.info}  # the second one has the start of the run
        elif opcode == Opcode.ATTACHMENT:
            attachment = Attachment.read(ReadDataStream(BytesIO(body)))
            if attachment.name in FINGERPRINTS:
                if len(attachment.data) > _LONGEST_ATTACHMENT:
                    longest = f"at most {_LONGEST_ATTACHMENT} bytes"
                    raise InputError(f"{attachment.name} has {len(attachment.data)} bytes", expected=longest)
                self.attachments.setdefault(attachment.name, attachment.data.decode())
        elif opcode not in (Opcode.HEADER, Opcode.MESSAGE_INDEX):
            raise BrokenError(f"a record of kind {opcode}")

    def _begin(self, file: IO[bytes]) -> None:
        """The configuration, which stands in front of all rows."""
        path = self._path
        self._is_headed = True
        if not self.info:
            if self.damage is None:
                raise InputError(f"log '{path}' is an MCAP file, but not one that Granite wrote")
            raise InputError(f"log '{path}' is cut off before its configuration: expected a whole log")
        if (version := self.info.get("format")) != FORMAT:
            raise InputError(
                f"log '{path}' has format {version}, expected format {FORMAT}: another version of Granite wrote it"
            )
        for name, key in FINGERPRINTS.items():
            if name not in self.attachments:
                raise InputError(f"log '{path}' is cut off before its configuration: expected a whole log")
            if fingerprint(self.attachments[name]) != self.info.get(key):
                raise InputError(f"log '{path}' has a damaged configuration: expected the one it was written with")
        try:
            read_info(self.info)
        except InputError as error:
            raise error.within(file=f"log '{path}'") from None
        # A user's own parts stay as options, by name: reading a log runs none of their code.
        self.bed = from_json(self.attachments[TESTBED], f"log '{path}'", looked_up=BUILT_IN)
        try:
            self.channels = Channels(read_layout(json.loads(self.attachments[CHANNELS])))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(
                f"log '{path}' has a damaged layout ({error}): expected the one it was written with"
            ) from error
        if self.bed.is_opaque:
            self.bed = _with_controlled(self.bed, self.channels)
        if not fits(self.channels, self.bed):
            raise InputError(f"log '{path}' is not laid out as its configuration says")
        self.rows = LoggedRows(file, self.channels)
        self._assembly, self._rules = RowAssembly(self.channels, self._take_json), RowRules(self.bed, self.channels)
        if self._salvage:
            self._take_index(file)

    def _take_index(self, file: IO[bytes]) -> None:
        """Schemas and channels of the index: the first chunk has them too, but it may be damaged."""
        at = file.tell()
        with contextlib.suppress(*BROKEN):
            for opcode, body in index_records(file):
                if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                    self._assembly.define(opcode, body)
                    self.rows.definitions.append((opcode, body))
        file.seek(at)

    def _take_chunk(self, body: bytes, at: int) -> None:
        try:
            rows = self._assembly.take(chunk_content(body))
        except (InputError, LayoutError, RowError):
            raise
        except BROKEN as error:
            if not self._salvage:
                raise
            self.skipped += 1
            self.damage = str(error)
            self._after_gap = True
            self._assembly.resume()
            return
        self._rules.check(rows)
        self.rows.add(at, len(body), rows, self._after_gap)
        if self._watch is not None:
            self._watch(rows, at / self._size)
        self._after_gap = False

    def _take_json(self, topic: str, message: bytes) -> None:
        if topic != EVENTS:
            if self.summary is not None:
                raise InputError(f"a second message on {topic}", expected="one")
            self.summary = read_summary(message)
            return
        self._n_events += 1
        # The rows of an event stand before it, in this chunk or an earlier one.
        per_row = 3 + len(self.bed.contacts)
        if self._n_events > per_row * (len(self.rows) + self._assembly.taken + _SOME_EVENTS):
            raise InputError(
                f"{self._n_events} events after {len(self.rows)} rows", expected=f"at most {per_row} a row"
            )
        event = read_event(message, self._n_events)
        if len(self._first_events) < _FIRST_EVENTS:
            self._first_events.append(event)
        else:
            self._last_events.append(event)

    def _refusal(self, error: Exception) -> InputError:
        """The error with the name of the log, where it does not have it yet."""
        name = f"log '{self._path}'"
        if isinstance(error, InputError):
            return error if str(self._path) in str(error) else error.within(file=name)
        return InputError(f"{name}: {error}")


def _with_controlled(bed: Testbed, channels: Channels) -> Testbed:
    """The testbed with the names of the modules it controlled: a user's own actuators are not known here."""
    if bed.controller is None or bed.controller.modules:
        return bed
    estimated = {value for entry, value in channels.topic("/state").values if entry == "q"}
    names = [module.name for module in bed.modules if set(bed.positions[bed.layout.q[module.name]]) <= estimated]
    modules = tuple(name for name in names if name not in bed.controller.objects)
    return bed.model_copy(update={"controller": bed.controller.model_copy(update={"modules": modules})})
