"""The logs of a folder: the list with ending, changes and errors, and the notes and tags that a person writes.

Notes of `demo.mcap` stand beside it in `demo.notes.json`; the log itself is never changed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from granite.config.errors import InputError
from granite.config.whole_file import write_whole
from granite.logs.overview import final_error, read_overview
from granite.rt.process.run_register import registered_runs

#: logs of a list, and the lengths of a note and of a tag
_MOST_LOGS, _LONGEST_NOTE, _LONGEST_TAG, _MOST_TAGS = 500, 4000, 40, 20


class LogShelf:
    """The logs that the pages may read.

    Parameters
    ----------
    folder
        Of the logs.
    more
        Logs elsewhere that were named.
    """

    def __init__(self, folder: Path, more: Iterable[Path]) -> None:
        self.folder = folder.absolute()
        self._more = [path.absolute() for path in more]

    def known(self, name: str) -> Path:
        """The log of that path: one of the list, of a session in the folder, or one that a run records."""
        path = Path(name)
        in_session = path.parent.name == "logs" and path.parent.parent.parent == self.folder
        in_folder = (path.parent == self.folder or in_session) and path.suffix == ".mcap" and ".." not in path.parts
        if in_folder or path in self._more or path in {Path(run.log) for run in registered_runs()}:
            return path
        raise InputError(f"no log '{path}'", expected="one of the list")

    def listed(self) -> list[dict[str, Any]]:
        """The logs, newest first; one that can't be read is left out."""
        paths = {path.absolute() for path in (*self._more, *self.folder.glob("*.mcap"))}
        newest = sorted((path for path in paths if path.is_file()), key=_modified, reverse=True)
        logs = []
        for path in newest[:_MOST_LOGS]:
            with contextlib.suppress(InputError, OSError):
                logs.append(_entry(path))
        return logs

    def sessions(self) -> list[dict[str, Any]]:
        """The tuning sessions in the folder, newest first."""
        files = sorted(self.folder.glob("*/session.json"), key=_modified, reverse=True)
        return [{"path": str(file.parent), "name": file.parent.name, "changed": _modified(file)} for file in files]

    def session(self, name: str) -> Path:
        """The session of that path, which is in the folder."""
        path = Path(name)
        if path.parent != self.folder or ".." in path.parts or not (path / "session.json").is_file():
            raise InputError(f"no session '{path}'", expected="one of the list")
        return path

    def note(self, path: Path, text: str, tags: list[str]) -> dict[str, Any]:
        """Write the notes of a log."""
        if len(text) > _LONGEST_NOTE:
            raise InputError("a long note", key="text", expected=f"at most {_LONGEST_NOTE} characters")
        tags = [tag for tag in dict.fromkeys(" ".join(str(tag).split()) for tag in tags) if tag]
        if len(tags) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in tags):
            expected = f"at most {_MOST_TAGS} of {_LONGEST_TAG} characters"
            raise InputError("long or many tags", key="tags", expected=expected)
        content = {"text": text, "tags": tags}
        with write_whole("notes", _notes_of(path), (".json",), True) as unfinished:
            unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return content


def _entry(path: Path) -> dict[str, Any]:
    seen = read_overview(path)
    return {
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
        "notes": _read_notes(path),
    }


def _notes_of(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.mcap')}.notes.json")


def _read_notes(path: Path) -> dict[str, Any]:
    """The notes of a log; empty ones where there are none, or somebody else wrote them."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        content = json.loads(_notes_of(path).read_text(encoding="utf-8"))
        return {"text": str(content["text"]), "tags": [str(tag) for tag in content["tags"]]}
    return {"text": "", "tags": []}


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0
