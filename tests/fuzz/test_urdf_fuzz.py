"""URDF files with damaged trees, numbers and text give a module or a refusal of one sentence, within the limits."""

import copy
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from tests.fuzz import damage
from tests.fuzz.limits import judge, limited
from tests.fuzz.testbed_runs import run_first_ticks
from tests.support.urdf_arm import ARM

_TESTS = Path(__file__).parents[1]
#: part of the accepted cases that run; preparing one takes as long as reading a hundred
_RUNNING = 0.05
_BED = """
name = "fuzz"
title = "A robot that moves freely"
[loop]
duration_s = 1.0
[simulation]
audit = true
[[modules]]
name = "robot"
dimension = "{dimension}"
base = "{base}"
urdf = "robot.urdf"
"""
_TAGS = (
    "robot",
    "link",
    "joint",
    "inertial",
    "origin",
    "mass",
    "inertia",
    "axis",
    "limit",
    "dynamics",
    "mimic",
    "visual",
)
_WORDS = (
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1,5",
    "fixed",
    "continuous",
    "floating",
    "world",
    "0 0",
    "0 0 0 0",
    "١",
)


def check(seed: int, folder: Path) -> str:
    """One case: `refused`, `accepted` or `ran`; raises where it keeps not to the limits."""
    rng = random.Random(f"urdf {seed}")
    bed = _BED.format(dimension=rng.choice(("planar", "spatial")), base=rng.choice(("fixed", "floating")))
    (folder / "bed.toml").write_text(bed)
    (folder / "robot.urdf").write_bytes(_case(rng))
    with limited():
        try:
            testbed = load(folder / "bed.toml")
            assert from_json(to_json(testbed)) == testbed
            if rng.random() >= _RUNNING:
                return "accepted"
            run_first_ticks(testbed)
        except InputError as refusal:
            judge(str(refusal))
            return "refused"
    return "ran"


def _case(rng: random.Random) -> bytes:
    text = rng.choice(_robots())
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(_BOMBS)(rng.choice((10, 1000, 50_000)))
    if kind < 0.2:
        return damage.damaged_text(rng, text.encode())
    robot = ElementTree.fromstring(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        _mutate(rng, robot)
    return ElementTree.tostring(robot)


@cache
def _robots() -> list[str]:
    files = [*sorted((_TESTS / "peers" / "robots").glob("*.urdf")), _TESTS / "robots" / "three-link.urdf"]
    return [ARM, *(file.read_text() for file in files)]


def _mutate(rng: random.Random, robot: Element) -> None:
    """One change of the tree: an attribute, a tag, or an element taken out, repeated or moved."""
    every = [(parent, child) for parent in robot.iter() for child in parent]
    if not every:
        return
    parent, child = rng.choice(every)
    match rng.randrange(9):
        case 0:
            parent.remove(child)
        case 1:
            parent.extend(_renamed(rng, child) for _ in range(rng.choice((1, 2, 10))))
        case 2:
            other = copy.deepcopy(child)
            rng.choice(every)[1].append(other)
        case 3:
            child.tag = rng.choice(_TAGS) if rng.random() < 0.7 else damage.misspelt(rng, child.tag) or "x"
        case 4 if child.attrib:
            del child.attrib[rng.choice(list(child.attrib))]
        case 5:
            child.set(rng.choice(("xyz", "rpy", "value", "ixx", "name", "type", "lower", "link", "x")), _word(rng))
        case _ if child.attrib:
            key = rng.choice(list(child.attrib))
            child.set(key, _changed(rng, child.attrib[key]))


def _renamed(rng: random.Random, element: Element) -> Element:
    made = copy.deepcopy(element)
    if "name" in made.attrib:
        made.set("name", f"{made.get('name')}_{rng.randrange(10**6)}")
    return made


def _changed(rng: random.Random, text: str) -> str:
    """Another attribute: one of its words an odd one, or all of it."""
    words = text.split()
    if words and rng.random() < 0.7:
        words[rng.randrange(len(words))] = _word(rng)
        return " ".join(words)
    return _word(rng)


def _word(rng: random.Random) -> str:
    word = damage.number(rng) if rng.random() < 0.8 else rng.choice(_WORDS)
    return hex(word) if isinstance(word, int) and abs(word) > 10**1000 else str(word)


def _entities(n: int) -> bytes:
    grown = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    return f'<!DOCTYPE robot [<!ENTITY e0 "{"ha" * n}">{grown}]><robot>&e9;</robot>'.encode()


def _nested(n: int) -> bytes:
    return ("<robot>" + "<link name='a'>" * n + "</link>" * n + "</robot>").encode()


def _long_attribute(n: int) -> bytes:
    return f"<robot><link name='{'a' * 20 * n}'/><link name='{'9 ' * 20 * n}'/></robot>".encode()


def _many_numbers(n: int) -> bytes:
    return f"<robot><link name='a'><inertial><mass value='{'1 ' * 20 * n}'/></inertial></link></robot>".encode()


def _chain(n: int) -> bytes:
    """A chain of n links of which every second joint is fixed."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f"<link name='l{i}'>{inertial}</link>" for i in range(n + 1))
    joints = "".join(
        f"<joint name='j{i}' type='{'fixed' if i % 2 else 'continuous'}'><axis xyz='0 0 1'/>"
        f"<parent link='l{i}'/><child link='l{i + 1}'/></joint>"
        for i in range(n)
    )
    return f"<robot>{links}{joints}</robot>".encode()


def _comments(n: int) -> bytes:
    return ("<robot>" + "<!-- x --><?x y?>" * n + "<link name='a'/></robot>").encode()


_BOMBS: tuple[Callable[[int], bytes], ...] = (_entities, _nested, _long_attribute, _many_numbers, _chain, _comments)


def test_some_damaged_urdf_files_give_a_module_or_one_sentence(tmp_path: Path) -> None:
    results = [check(seed, tmp_path) for seed in range(100)]
    assert {"accepted", "refused"} <= set(results)


@pytest.mark.slow
def test_a_thousand_damaged_urdf_files_give_a_module_or_one_sentence(tmp_path: Path) -> None:
    results = [check(seed, tmp_path) for seed in range(1000)]
    assert {"accepted", "refused", "ran"} == set(results)
