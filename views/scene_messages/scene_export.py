"""A copy of a log with its scene, which the 3D panel of a viewer plays back."""

from __future__ import annotations

import json
from pathlib import Path

from granite.config.errors import InputError
from granite.logs.log_content import read_content
from granite.logs.mcap_file import FINGERPRINTS, TESTBED, McapFile
from granite.logs.unfinished import UnfinishedLog
from granite.views.scene_messages.scene_stream import SceneStream

_MARK = ".exporting"


def export_scene(log: Path, new: Path, overwrite: bool = False) -> int:
    """Write everything of a log and its scene into a new one; how many rows there are.

    Raises
    ------
    InputError
        Where the log can't be read, or the new one can't be written.
    """
    try:
        content = read_content(log)
        unfinished = UnfinishedLog(new, overwrite, _MARK)
    except OSError as error:
        raise InputError(f"log '{error.filename or log}': {error.strerror}") from None
    written = {"format", "start_ns", *FINGERPRINTS.values()}
    metadata = {key: value for key, value in content.info.items() if key not in written}
    start_ns = int(content.info.get("start_ns", "0"))
    bed = content.attachments[TESTBED]
    try:
        file = McapFile(str(unfinished.path), content.channels, bed, metadata, start_ns, scene=True)
        scene = SceneStream(content.bed, content.channels, file)
        for rows in content.rows.blocks():
            file.write(rows)
            scene.show_all(rows)
        for event in content.events:
            file.event(event["t_s"], event["tick"], event["level"], event["name"], event["text"])
        if content.summary is not None:
            file.summary(json.dumps(content.summary))
        file.close()
        unfinished.finish()
    except (RuntimeError, OSError) as error:
        unfinished.discard()
        raise InputError(f"log '{new}' can't be written: {error}") from None
    return len(content.rows)
