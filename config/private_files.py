"""Directories that other users could write or replace: by themselves, or by a directory or link on the way to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: links on one way; the system follows as many
_MOST_LINKS = 40


def fault_of(directory: Path) -> str | None:
    """Why other users could write into a directory, or put another one in its place; None where they can't.

    Every directory and link on the way must belong to this user or root. Others may write none of the directories,
    except one with the sticky bit, such as /tmp, where nobody can rename what belongs to another.
    """
    path, links = Path("/"), 0
    ahead = list(directory.absolute().parts[1:])
    while ahead:
        name = ahead.pop(0)
        if name == "..":
            path = path.parent
            continue
        path /= name
        try:
            status = path.lstat()
        except OSError:
            return None  # it is made by us, or not reachable
        if not is_ours(status):
            return f"because '{path}' belongs to another user"
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                return f"because '{path}' is a link to itself"
            target = Path(os.readlink(path))
            path = Path("/") if target.is_absolute() else path.parent
            ahead = [part for part in target.parts if part != "/"] + ahead
        elif status.st_mode & OTHERS_WRITE and (not ahead or not status.st_mode & stat.S_ISVTX):
            return f"because other users can write '{path}'"
    return None


def is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to this user, or to root."""
    return status.st_uid in (0, os.geteuid())
