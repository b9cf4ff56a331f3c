"""The elements of a URDF file and the numbers in them, refused by name where they are not as expected."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from granite.config.errors import InputError
from granite.config.paths import content_of
from granite.config.rotations import Triple

#: largest number accepted in any unit; products of such numbers are still finite
_GREATEST = 1e30


class _WithoutDoctype(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Refuse: entities, which can grow without bound, are declared there and nowhere else."""
        problem = "document type and entities are not read"
        raise InputError(problem, key=f"<!DOCTYPE {name}>", expected="plain URDF")


def read_xml(path: Path) -> Element:
    """The outermost element of a file."""
    parser = ElementTree.XMLParser(target=_WithoutDoctype())
    try:
        parser.feed(content_of(path))
        robot: Element = parser.close()
    except FileNotFoundError:
        raise InputError("no such file", expected="a URDF") from None
    except OSError as error:
        raise InputError(f"not readable ({error.strerror})", expected="a URDF") from None
    except ElementTree.ParseError as error:
        line, column = error.position
        reason = str(error).partition(":")[0]
        problem = f"not valid XML, line {line}, column {column}: {reason}"
        raise InputError(problem, expected="a URDF") from None
    except InputError:  # of the document type, or the size
        raise
    except (ValueError, LookupError) as error:
        raise InputError(f"not readable ({error})", expected="a URDF") from None
    return robot


def only(where: str, element: Element, tag: str) -> Element | None:
    """The element of that tag in another, if there is one."""
    elements = element.findall(tag)
    if len(elements) > 1:
        times = f"<{tag}> occurs {len(elements)} times"
        expected = f"it once in <{element.tag}>"
        raise InputError(times, key=where, expected=expected)
    return elements[0] if elements else None


def needed(where: str, element: Element, tag: str) -> Element:
    """The element of that tag in another."""
    child = only(where, element, tag)
    if child is None:
        raise InputError.missing(f"{where}: <{tag}>", f"one in <{element.tag}>")
    return child


def origin(where: str, element: Element) -> tuple[Triple, Triple]:
    """Position and roll, pitch, yaw of an element's frame."""
    child = only(where, element, "origin")
    if child is None:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for key in child.attrib:
        if key not in ("xyz", "rpy"):
            value, expected = child.get(key), "xyz and rpy"
            raise InputError("not supported", key=f"{where}: origin {key}", value=value, expected=expected)
    x, y, z = numbers(where, child, "xyz", 3, [0.0, 0.0, 0.0])
    roll, pitch, yaw = numbers(where, child, "rpy", 3, [0.0, 0.0, 0.0])
    return (x, y, z), (roll, pitch, yaw)


def number(where: str, element: Element, key: str, default: float | None = None) -> float:
    """A number of an element."""
    [value] = numbers(where, element, key, 1, None if default is None else [default])
    return value


def numbers(where: str, element: Element, key: str, count: int, default: list[float] | None = None) -> list[float]:
    """Several numbers of an element."""
    text = element.get(key)
    what = "a finite number" if count == 1 else f"{count} finite numbers"
    if text is None:
        if default is None:
            raise InputError.missing(f"{where}: {element.tag} {key}", what)
        return default
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InputError(key=f"{where}: {element.tag} {key}", value=text, expected=what)
    if any(abs(value) > _GREATEST for value in values):
        expected = f"{what} of at most {_GREATEST:g}"
        raise InputError(key=f"{where}: {element.tag} {key}", value=text, expected=expected)
    return values
