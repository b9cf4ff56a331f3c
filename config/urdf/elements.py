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
    found = element.findall(tag)
    if len(found) > 1:
        times, expected = f"<{tag}> occurs {len(found)} times", f"it once in <{element.tag}>"
        raise InputError(times, key=where, expected=expected)
    return found[0] if found else None


def needed(where: str, element: Element, tag: str) -> Element:
    """The element of that tag in another."""
    found = only(where, element, tag)
    if found is None:
        raise InputError.missing(f"{where}: <{tag}>", f"one in <{element.tag}>")
    return found


def origin(where: str, element: Element) -> tuple[Triple, Triple]:
    """Position and roll, pitch, yaw of an element's frame."""
    found = only(where, element, "origin")
    if found is None:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for key in found.attrib:
        if key not in ("xyz", "rpy"):
            value, expected = found.get(key), "xyz and rpy"
            raise InputError("not supported", key=f"{where}: origin {key}", value=value, expected=expected)
    (x, y, z), (roll, pitch, yaw) = (numbers(where, found, key, 3, [0.0, 0.0, 0.0]) for key in ("xyz", "rpy"))
    return (x, y, z), (roll, pitch, yaw)


def number(where: str, element: Element, key: str, default: float | None = None) -> float:
    """A number of an element."""
    [value] = numbers(where, element, key, 1, None if default is None else [default])
    return value


def numbers(where: str, element: Element, key: str, count: int, default: list[float] | None = None) -> list[float]:
    """Several numbers of an element."""
    text, what = element.get(key), "a finite number" if count == 1 else f"{count} finite numbers"
    if text is None:
        if default is None:
            raise InputError.missing(f"{where}: {element.tag} {key}", what)
        return default
    try:
        found = [float(word) for word in text.split()]
    except ValueError:
        found = []
    if len(found) != count or not all(map(math.isfinite, found)):
        raise InputError(key=f"{where}: {element.tag} {key}", value=text, expected=what)
    if any(abs(value) > _GREATEST for value in found):
        expected = f"{what} of at most {_GREATEST:g}"
        raise InputError(key=f"{where}: {element.tag} {key}", value=text, expected=expected)
    return found
