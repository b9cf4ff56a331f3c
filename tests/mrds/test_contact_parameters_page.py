"""What docs/contacts.md says of the parameters of contacts is what their kinds ask for, and do without one."""

import math
import re
from pathlib import Path

import pytest

from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import Parameter
from granite.mrds.system import System
from tests.support.random_systems import plain_body

PAGE = (Path(__file__).parents[2] / "docs" / "contacts.md").read_text()
ROW = re.compile(r"^\| `(\w+)` of (`\w+`(?:, `\w+`)*) \| (.*?) \| (.*?) \| (.*?) ?\| (.*?) ?\| (.*?) \|$", re.MULTILINE)
SAID = {(kind, name): rest for name, kinds, *rest in ROW.findall(PAGE) for kind in re.findall(r"\w+", kinds)}
ASKED = {(kind.name, name): parameter for kind in KINDS.values() for name, parameter in kind.parameters.items()}


def touching_ball(kind: str, given: dict[str, float]) -> Contact:
    return Contact(name="c", kind=kind, first=Side(), second=Side(module="ball", point="centre"), parameters=given)


def bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else ""


def expected(parameter: Parameter) -> list[str]:
    """Meaning, unit and bounds as the page has them."""
    meaning, _, unit = parameter.meaning.partition(" [")
    return [meaning, unit.removesuffix("]") or "1", bound(parameter.least), bound(parameter.greatest)]


def test_the_page_has_the_parameters_of_every_kind_with_unit_and_bounds():
    assert {key: rest[:4] for key, rest in SAID.items()} == {key: expected(p) for key, p in ASKED.items()}


def test_what_may_not_be_left_out_is_what_the_page_says_is_refused():
    assert {key for key, rest in SAID.items() if rest[4] == "refused"} == {
        key for key, p in ASKED.items() if p.required
    }


@pytest.mark.parametrize(("kind", "name"), [key for key, p in ASKED.items() if math.isfinite(p.least)])
def test_a_value_below_the_bound_is_refused_by_its_key(kind: str, name: str):
    given = {key: 0.5 for key, parameter in KINDS[kind].parameters.items() if parameter.required}
    given[name] = ASKED[kind, name].least - 0.1
    ball = plain_body("ball", "spatial", {"centre": (0.0, 0.0, 0.0)}, (0.0, 0.0, 0.0))
    held = touching_ball(kind, given)
    with pytest.raises(InputError, match=rf"contacts\.c\.parameters\.{name} = "):
        System([ball], [held])
