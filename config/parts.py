"""Parts that a testbed names: laws, behaviours, estimators, modulators, devices and drivers.

A part is a class, and a testbed names it by `kind`:

    kind = "computed_torque"          comes with Granite: listed in the registry of its family
    kind = "my_lab.py:SlidingMode"    a class in a Python file; the path is relative to the testbed's file, or to the
                                      current folder where it does not come from a file
    kind = "sliding_mode"             an entry point of an installed package, in the group `granite.law` of its family

The other keys of its table are those of the class's `Options`, beside the code that it configures. A part
without options may be named by its kind alone: `law = "my_lab.py:SlidingMode"`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationInfo, WrapValidator

from granite.config.base import Table
from granite.config.coordinates import Coordinate
from granite.config.errors import GraniteError, InputError, one_of
from granite.config.own_code import raised_in_own_code
from granite.config.tunable import Tunable

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

_IN_FILE = ".py:"


class RecordedLimit(NamedTuple):
    """Bounds of a number that a law records or a device measures, and the guard's reason beyond them, by name."""

    name: str
    reason: str
    least: float
    most: float


class PartTable(Table):
    """The table of a part: its kind, and in subclasses its options."""

    #: options that compiled functions take as arguments: another value compiles nothing again
    arguments: ClassVar[frozenset[str]] = frozenset()

    kind: str

    def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Numbers that a law records beside its demand (names and units of `Demand.distribution`), or a state machine
        beside its reference (`Reference.task`).
        """
        return ()

    def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
        """The tunable keys of this table, each with its sensible range: `granite tune BED --list`."""
        return ()


class OpaquePart(PartTable):
    """The table of a part as recorded in a log: read without its code, which may not be available."""

    model_config = ConfigDict(extra="allow")


class Family(NamedTuple):
    """Parts that can replace each other."""

    module: str
    registry: str  #: the module's dictionary of kinds, each an object or the path of one as "module:name"
    verbs: tuple[str, ...]  #: methods of every part of the family
    table: str = "granite.config.parts:PartTable"  #: the class of their tables


FAMILIES = {
    "estimator": Family("granite.controllers.estimation", "KINDS", ("estimate",)),
    "behaviour": Family("granite.controllers.behaviours", "KINDS", ("decide",)),
    "law": Family("granite.controllers.laws", "KINDS", ("control",), "granite.config.law:LawTable"),
    "sharing": Family("granite.controllers.thrusters", "SHARING", ("share",)),
    "modulation": Family("granite.controllers.thrusters", "MODULATION", ("modulate",)),
    "objective": Family("granite.controllers.distribution.objectives", "KINDS", ("cost",)),
    "limit": Family("granite.controllers.distribution.limits", "KINDS", ("constraints",)),
    "device": Family("granite.config.devices", "KINDS", ("signals",)),
    "driver": Family("granite.drivers", "KINDS", ("open", "close")),
    "contact": Family("granite.mrds.contacts", "KINDS", ()),
}


#: whose code is looked up to read a testbed from a log: of parts that come with Granite, or of devices of these alone
BUILT_IN, DEVICES = "built in", "devices"

#: the kinds of parts whose table names none
USUAL = {"estimator": "kalman", "law": "computed_torque", "behaviour": "waypoints"}


def find(family: str, kind: str) -> Any:
    """The part of that kind.

    Raises
    ------
    InputError
        Where there is none, or it lacks a method of its family; its key is `kind`.
    """
    if _IN_FILE in kind:
        part = in_file(kind)
    else:
        known = registry(family)
        if kind not in known:
            raise InputError(
                f"no such {family}", key="kind", value=kind, expected=f"{one_of(kind, known)}, or 'FILE.py:NAME'"
            )
        part = known[kind]
        if isinstance(part, str):
            module, _, name = part.partition(":")
            part = getattr(import_module(f"{FAMILIES[family].module}.{module}"), name)
        elif hasattr(part, "load"):
            part = _loaded(part)
    for verb in FAMILIES[family].verbs:
        if not callable(getattr(part, verb, None)):
            raise InputError(f"no {family}, because it has no method `{verb}`", key="kind", value=kind)
    return part


def registry(family: str) -> dict[str, Any]:
    """Every kind of a family: those that come with Granite, and the entry points of installed packages."""
    module, name = FAMILIES[family][:2]
    built_in: dict[str, Any] = getattr(import_module(module), name)
    return {**{point.name: point for point in _installed(family)}, **built_in}


def is_built_in(kind: str) -> bool:
    """Whether a kind comes with Granite."""
    return any(kind in getattr(import_module(module), name) for module, name, *_ in FAMILIES.values())


def options_of(family: str, part: Any) -> type[PartTable]:
    """The class of a part's table: the part itself if it is one, else its `Options`, or none but the kind."""
    options = part if isinstance(part, type) and issubclass(part, PartTable) else getattr(part, "Options", PartTable)
    if not (isinstance(options, type) and issubclass(options, PartTable)):
        raise InputError("its `Options` are not a table of a part", key="kind", expected="a subclass of PartTable")
    return _table_of(family, options)


@cache
def _table_of(family: str, options: type[PartTable]) -> type[PartTable]:
    """The same options, with the methods of the family's tables where they derive from `PartTable` alone."""
    module, _, name = FAMILIES[family].table.partition(":")
    table: type[PartTable] = getattr(import_module(module), name)
    if issubclass(table, options):  # without options
        return table
    if issubclass(options, table):
        return options
    return type(options.__name__, (options, table), {"model_config": options.model_config})


def build(family: str, options: PartTable, *context: Any) -> Any:
    """The part that the options configure: `Part(options, *context)`.

    Raises
    ------
    InputError
        Where the part refuses its options, or a user's own part fails to be built.
    """
    part = find(family, options.kind)
    if is_built_in(options.kind):
        return part(options, *context)
    with own_code(options.kind):
        return part(options, *context)


@contextmanager
def own_code(kind: str) -> Iterator[None]:
    """A context in which a failure of a user's own code is an `InputError` that names it."""
    try:
        yield
    except GraniteError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            f"it failed with {type(error).__name__}: {error}{_at(error)}", key="kind", value=kind
        ) from error


def validated(family: str) -> WrapValidator:
    """Read a table as that of its part; one that names no kind is of the usual one."""

    def check(value: Any, handler: Any, info: ValidationInfo) -> Any:
        if isinstance(value, PartTable):
            if _table_of(family, type(value)) is type(value):
                return value
            value = dict(value)
        content = {"kind": value} if isinstance(value, str) else value
        if family in USUAL and isinstance(content, dict):
            content = {"kind": USUAL[family], **content}
        if not isinstance(content, dict) or not isinstance(content.get("kind"), str):
            return handler(content)  # raises with the expectation
        if looked_up := (info.context or {}).get("looked_up"):
            return _opaque(family, content, looked_up).model_validate(content, context=info.context)
        return options_of(family, find(family, content["kind"])).model_validate(content, context=info.context)

    return WrapValidator(check)


def _opaque(family: str, content: dict[str, Any], looked_up: str) -> type[PartTable]:
    """The class that reads a part of a log: that of the part if its code may be looked up, else an opaque one."""
    kind = content["kind"]
    if family == "device" or looked_up == BUILT_IN:
        module, name = FAMILIES[family][:2]
        if kind in getattr(import_module(module), name):
            return options_of(family, find(family, kind))
    if family == "behaviour":
        from granite.config.behaviour import OpaqueBehaviour  # which is a part itself

        return OpaqueBehaviour
    return _table_of(family, OpaquePart)


def part(kind: str) -> Any:
    """A field that holds a part of this kind where the testbed names none; its code is imported when it is needed."""
    return Field(default_factory=lambda: {"kind": kind}, validate_default=True)


#: fields of a testbed that hold a part
EstimatorPart = Annotated[SerializeAsAny[PartTable], validated("estimator")]
BehaviourPart = Annotated[SerializeAsAny[PartTable], validated("behaviour")]
SharingPart = Annotated[SerializeAsAny[PartTable], validated("sharing")]
ModulationPart = Annotated[SerializeAsAny[PartTable], validated("modulation")]
ObjectivePart = Annotated[SerializeAsAny[PartTable], validated("objective")]
LimitPart = Annotated[SerializeAsAny[PartTable], validated("limit")]
DevicePart = Annotated[SerializeAsAny[PartTable], validated("device")]
DriverPart = Annotated[SerializeAsAny[PartTable], validated("driver")]


def parts_in(table: BaseModel) -> Iterator[PartTable]:
    """Every part in a table and in the tables inside it."""
    if isinstance(table, PartTable):
        yield table
    for name in type(table).model_fields:
        value = getattr(table, name)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
            if isinstance(inner, BaseModel):
                yield from parts_in(inner)


def named_files(table: BaseModel) -> tuple[str, ...]:
    """Every file that a part of a testbed is named by, as `FILE.py:NAME`."""
    return tuple(sorted({kind.rpartition(_IN_FILE)[0] + ".py" for kind in _kinds_in(table) if _IN_FILE in kind}))


def sources(table: BaseModel) -> dict[str, str]:
    """SHA-256 of these files, by path, for the log."""
    return {file: fingerprint(file) for file in named_files(table)}


def own_files(table: BaseModel) -> set[str]:
    """Files of the parts of a testbed that do not come with Granite: from files, or from installed packages."""
    kinds = {kind for kind in _kinds_in(table) if not is_built_in(kind)}
    points = [point for family in FAMILIES for point in _installed(family) if point.name in kinds]
    installed = {getattr(sys.modules.get(point.module), "__file__", None) or "" for point in points}
    return installed | {kind.rpartition(_IN_FILE)[0] + ".py" for kind in kinds if _IN_FILE in kind}


def _kinds_in(table: BaseModel) -> list[str]:
    """The kinds of all parts and contacts of a testbed."""
    return [*(part.kind for part in parts_in(table)), *(contact.kind for contact in getattr(table, "contacts", ()))]


def fingerprint(file: str) -> str:
    """SHA-256 of a file; empty where it does not exist."""
    try:
        return _sha256(Path(file).read_bytes())
    except OSError:
        return ""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


#: files that may run, with their SHA-256, where not all may
_runnable: Mapping[str, str] | None = None


@contextmanager
def running_only(files: Mapping[str, str]) -> Iterator[None]:
    """A context in which code of a user's own runs from these files alone, and with this SHA-256.

    A log or a session may come from a stranger, and names files of this machine.
    """
    global _runnable
    before, _runnable = _runnable, files
    try:
        yield
    finally:
        _runnable = before


def vouched(table: BaseModel, recorded: Mapping[str, str], trust: bool) -> dict[str, str]:
    """The files of a testbed that may run with their SHA-256, as recorded with it, or with `trust` as they are.

    Raises
    ------
    InputError
        Where a file is not as it was recorded and not trusted, or its path depends on the current folder.
    """
    for file in named_files(table):
        if not Path(file).is_absolute():
            raise InputError(f"it names the code '{file}' without its folder", expected="an absolute path")
        present = fingerprint(file)
        if present and not trust and present != recorded.get(file):
            why = "changed since" if recorded.get(file) else "has no SHA-256 there"
            expected = "the file as it was, or --trust if you trust its code"
            raise InputError(f"the file '{file}' {why}", expected=expected)
    return sources(table)


def absolute(kind: str, folder: Path) -> str:
    """The kind with the path of its file, if it has one, made absolute."""
    return absolute_path(kind, folder) if _IN_FILE in kind else kind


def absolute_path(path: str, folder: Path) -> str:
    """A file, or `FILE.py:NAME`, with its path made absolute."""
    file, colon, name = path.rpartition(":") if _IN_FILE in path else (path, "", "")
    try:
        return f"{(folder / file).resolve()}{colon}{name}"
    except (OSError, ValueError, RuntimeError):  # no name of a file: refused where it is looked up
        return path


@cache
def _installed(family: str) -> tuple[Any, ...]:
    return tuple(_entry_points().select(group=f"granite.{family}"))


@cache
def _entry_points() -> Any:
    """Of all distributions; a search takes 7 ms, so there is one for all families."""
    return entry_points()


def _loaded(point: Any) -> Any:
    """The class behind an entry point."""
    try:
        return point.load()
    except Exception as error:
        raise _not_imported(point.name, error) from error


def _not_imported(value: str, error: BaseException) -> InputError:
    return InputError(f"can't be imported: {type(error).__name__}: {error}{_at(error)}", key="kind", value=value)


def _at(error: BaseException) -> str:
    """File and line of the user's code that raised."""
    raised = raised_in_own_code(error)
    return f" (at {Path(raised.file).name}:{raised.line})" if raised else ""


def in_file(kind: str) -> Any:
    """The object that `FILE.py:NAME` names; `InputError` with the key `kind` where there is none."""
    file, _, name = kind.rpartition(":")
    source = _source_of(file)
    if source is None:
        expected = "a Python file; its path is relative to the testbed's file, in --set to the current folder"
        raise InputError(f"no file '{file}'", key="kind", value=kind, expected=expected)
    if _runnable is not None and _runnable.get(file) != _sha256(source):
        raise InputError(f"the code of '{file}' does not run here", key="kind", value=kind, expected="a trusted file")
    module = _module(file, source)
    if not hasattr(module, name):
        known = [word for word, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        raise InputError(f"'{Path(file).name}' has no '{name}'", key="kind", value=kind, expected=one_of(name, known))
    return getattr(module, name)


def _source_of(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes() if Path(file).is_file() else None
    except (OSError, ValueError):  # a name that no file can have: too long, with a zero, or no text
        return None


class _SourceLoader(SourceFileLoader):
    """Runs a source that was read before, so that it is the one whose SHA-256 was taken.

    Cached byte code would count as current for a second after an edit of the same length.
    """

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        """The compiled source."""
        return self.source_to_code(self._source, self.path)


@cache
def _module(file: str, source: bytes) -> Any:
    """The file as a module; loaded again when its content has changed."""
    name = f"granite_part_{Path(file).stem}_{_sha256(source)[:8]}"
    loader = _SourceLoader(name, file, source)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))  # type: ignore[arg-type]
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _not_imported(file, error) from error
    return module
