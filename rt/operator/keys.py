"""CURVE keys of the operator channel, as files: made at first use, private ones readable by their owner alone.

Nobody else may write the folders or the keys: whoever can add a public key to `operators` operates the robot.

    loop.secret, loop.public     of the loop
    NAME.secret                  of an operator, where that person works
    operators/NAME.public        operators that the loop obeys

The folder is $GRANITE_KEYS, else granite/keys in the user's configuration folder. An operator on another machine needs
there `loop.public` and their own `NAME.secret`; the loop needs their `operators/NAME.public`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import zmq

from granite.config.errors import InputError
from granite.config.private_files import OTHERS_WRITE, fault_of, is_ours

LOOP, USUAL, CONSOLE, ROS2 = "loop", "operator", "console", "ros2"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")  # Z85


class KeyPair(NamedTuple):
    """A public and a secret key, in Z85."""

    public: bytes
    secret: bytes


def key_folder() -> Path:
    """Where the keys are."""
    if given := os.environ.get("GRANITE_KEYS"):
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "granite" / "keys"


def loop_keys(folder: Path, *more: str) -> KeyPair:
    """The keys of the loop; at first use they are made, with those of `operator`, `console` and more operators."""
    if not (folder / f"{LOOP}.secret").exists():
        make_pair(folder, LOOP)
        if not (folder / f"{USUAL}.secret").exists():
            new_operator(folder, USUAL)
    for name in (CONSOLE, *more):
        if not (folder / f"{name}.secret").exists():
            new_operator(folder, name)
    return read_pair(folder, LOOP)


def operators(folder: Path) -> dict[str, bytes]:
    """Public keys of the operators that the loop obeys, by name."""
    _refuse_open(folder / "operators")
    return {path.stem: _read(path) for path in sorted((folder / "operators").glob("*.public"))}


def new_operator(folder: Path, name: str) -> None:
    """Make the keys of an operator whom the loop obeys from its next run on.

    Raises
    ------
    InputError
        Where the name can't be one, or has keys already.
    """
    if not _NAME.fullmatch(name) or name == LOOP:
        raise InputError(key="key", value=name, expected=f"a name in lower case, digits and underscores, not '{LOOP}'")
    if (folder / f"{name}.secret").exists() or (folder / "operators" / f"{name}.public").exists():
        raise InputError("it has keys already", key="key", value=name, expected="another name")
    make_pair(folder, name)
    _private_folder(folder / "operators")
    (folder / f"{name}.public").rename(folder / "operators" / f"{name}.public")


def make_pair(folder: Path, name: str) -> None:
    """Write a new pair; the secret one first, so that a public one always has it."""
    public, secret = zmq.curve_keypair()
    _private_folder(folder)
    _write(folder / f"{name}.secret", public + b"\n" + secret + b"\n")
    _write(folder / f"{name}.public", public + b"\n")


def read_pair(folder: Path, name: str) -> KeyPair:
    """The pair of that name.

    Raises
    ------
    InputError
        Where it does not exist, is damaged, or can be read or replaced by others.
    """
    path = folder / f"{name}.secret"
    lines = _content(path, secret=True).split()
    if len(lines) != 2 or not all(map(_KEY.fullmatch, lines)):
        raise InputError(f"the key '{path}' is damaged", expected="a public and a secret key of 40 characters")
    return KeyPair(lines[0].encode(), lines[1].encode())


def public_key(folder: Path) -> bytes:
    """The public key of the loop."""
    return _read(folder / f"{LOOP}.public")


def _read(path: Path) -> bytes:
    text = _content(path).strip()
    if not _KEY.fullmatch(text):
        raise InputError(f"the key '{path}' is damaged", expected="a public key of 40 characters")
    return text.encode()


def _content(path: Path, secret: bool = False) -> str:
    _refuse_open(path.parent)
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            if not is_ours(status):
                raise InputError(f"the key '{path}' belongs to another user", expected="one of yours")
            if secret and status.st_mode & 0o077:
                raise InputError(f"others can read the secret key '{path}'", expected=f"chmod 600 {path}")
            if status.st_mode & OTHERS_WRITE:
                raise InputError(f"others can write the key '{path}'", expected=f"chmod go-w {path}")
            return file.read()
    except FileNotFoundError:
        raise _absent(path) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"the key '{path}' can't be read: {error}") from None


def _absent(path: Path) -> InputError:
    """There is no such key: no run has made the keys of this folder yet, or the person has none."""
    where, another = f"in '{path.parent}'", "name the folder of the keys by GRANITE_KEYS"
    if path.stem == LOOP:
        return InputError(f"no run with --operator has made its keys {where} yet: start one, or {another}")
    return InputError(f"no key '{path.name}' {where}: make it by granite operate new-key {path.stem}, or {another}")


def _refuse_open(folder: Path) -> None:
    """Raise where another user could put keys there."""
    if fault := fault_of(folder):
        expected = "folders of yours, or of root, that others can't write (chmod go-w)"
        raise InputError(f"the keys in '{folder}' are not used, {fault}", expected=expected)


def _private_folder(folder: Path) -> None:
    _refuse_open(folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def _write(path: Path, content: bytes) -> None:
    """A new file that its owner alone may read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
