"""Every public name is on the page of the API, and every parameter of it is documented."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import granite
from tests.support.pages import ROOT


def documented(thing: Any) -> list[str]:
    """The names in the section `Parameters` of a docstring; of an error in that of its `Attributes`."""
    sections = r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)"
    section = re.search(sections, inspect.getdoc(thing) or "", re.M | re.S)
    lines = re.findall(r"^\w[\w, ]*", section[1], re.M) if section else []
    return [name.strip() for line in lines for name in line.split(",")]


def parameters(function: Any) -> list[str]:
    """The names of a function's parameters."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def documented_things() -> Iterator[tuple[str, Any, Any]]:
    """Name, docstring and signature: functions, constructors, and methods that have a section of parameters."""
    for name in granite.__all__:
        thing = getattr(granite, name)
        if inspect.isfunction(thing):
            yield name, thing, thing
            continue
        if "__init__" in vars(thing) and thing.__init__.__module__ == thing.__module__ and not is_record(thing):
            yield name, thing, thing.__init__
        for method, function in vars(thing).items():
            if inspect.isfunction(function) and not method.startswith("_") and documented(function):
                yield f"{name}.{method}", function, function


def is_record(thing: Any) -> bool:
    """Whether the constructor follows from fields, each with its own comment, or there is none to be called."""
    return hasattr(thing, "__dataclass_fields__") or getattr(thing, "_is_protocol", False)


THINGS = {name: (docs, function) for name, docs, function in documented_things()}


@pytest.mark.parametrize("name", THINGS)
def test_every_parameter_is_documented(name: str):
    docs, function = THINGS[name]
    assert sorted(documented(docs)) == sorted(parameters(function))


def test_the_page_of_the_api_has_every_public_name_once():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    named = re.findall(r"^\.\. auto(?:function|class|exception):: (\w+)$", page, re.M)
    assert sorted(named) == granite.__all__
