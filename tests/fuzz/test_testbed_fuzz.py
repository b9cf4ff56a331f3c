"""Testbeds with damaged keys, types, numbers and text give a run or a refusal of one sentence, within the limits."""

import copy
import random
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from granite.config import loader
from granite.config.errors import InputError
from granite.config.loader import from_json, load, presets, to_json
from tests.fuzz import damage
from tests.fuzz.limits import judge, limited
from tests.fuzz.testbed_runs import run_first_ticks

_PRESETS = sorted((Path(loader.__file__).parent / "testbeds").glob("*.toml"))
#: part of the accepted cases that run; preparing one takes as long as checking a hundred
_RUNNING = 0.05


def check(seed: int, folder: Path) -> str:
    """One case: `refused`, `accepted` or `ran`; raises where it keeps not to the limits."""
    rng = random.Random(f"testbed {seed}")
    with limited():
        try:
            bed = load(*_case(rng, folder))
            assert from_json(to_json(bed)) == bed.model_copy(update={"tuning": None})  # in no log
            if rng.random() >= _RUNNING:
                return "accepted"
            run_first_ticks(bed)
        except InputError as refusal:
            judge(str(refusal))
            return "refused"
    return "ran"


def _case(rng: random.Random, folder: Path) -> tuple[str, list[str]]:
    """The name of a testbed and the changes to it, as typed."""
    preset, file = rng.choice(_PRESETS), folder / "bed.toml"
    kind = rng.random()
    if kind < 0.3:
        return _variant(rng, preset.stem), [_override(rng, preset) for _ in range(rng.choice((1, 1, 3)))]
    if kind < 0.5:
        file.write_bytes(damage.damaged_text(rng, preset.read_bytes()))
    else:
        content = copy.deepcopy(_content(preset))
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _mutate(rng, content)
        file.write_bytes(_toml(content).encode("utf-8", "surrogatepass"))
    return str(file), []


@cache
def _content(preset: Path) -> dict[str, Any]:
    return tomllib.loads(preset.read_text())


@cache
def _variants(name: str) -> list[str]:
    return next([variant for variant, _ in preset.variants] for preset in presets() if preset.name == name)


def _variant(rng: random.Random, name: str) -> str:
    variants = _variants(name)
    return f"{name}/{rng.choice(variants)}" if variants and rng.random() < 0.3 else name


def _override(rng: random.Random, preset: Path) -> str:
    """`key=value` for a key that the preset has, sometimes misspelt."""
    path: list[str] = []
    here: Any = _content(preset)
    while isinstance(here, dict | list) and here and (not path or rng.random() < 0.95):
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        path.append(str(key))
        here = here[key]
    key = ".".join(path)
    if rng.random() < 0.1:
        key = damage.misspelt(rng, key)
    return f"{key}={_toml_value(damage.value(rng))}"


def _mutate(rng: random.Random, content: dict[str, Any]) -> None:
    """One change of the tree: a value, a key, a table or an element of a list."""
    every = damage.places(content)
    if not every:
        return
    container, key = rng.choice(every)
    old = container[key]
    match rng.randrange(8):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[damage.misspelt(rng, str(key))] = container.pop(key)
        case 2 if isinstance(container, list):
            container += [copy.deepcopy(old) for _ in range(rng.choice((1, 2, 50)))]
        case 3:
            other, place = rng.choice(every)
            container[key] = copy.deepcopy(other[place])
        case 4:
            container[key] = [old] if rng.random() < 0.5 else {"x": old}
        case 5 if isinstance(container, dict):
            other, place = rng.choice(every)
            container[str(place)] = copy.deepcopy(other[place])
        case _:
            odd = isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.7
            container[key] = damage.number(rng) if odd else damage.value(rng)


def _toml(content: dict[str, Any]) -> str:
    return "".join(f"{_text(key)} = {_toml_value(value)}\n" for key, value in content.items())


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)} = {_toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return hex(value) if isinstance(value, int) and value > 10**1000 else repr(value)


def _text(value: str) -> str:
    """A basic string of TOML: everything but letters and digits by its number."""
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08x}" for c in value) + '"'


def test_some_damaged_testbeds_give_a_result_or_one_sentence(tmp_path: Path) -> None:
    results = [check(seed, tmp_path) for seed in range(60)]
    assert {"accepted", "refused"} <= set(results)


@pytest.mark.slow
def test_a_thousand_damaged_testbeds_give_a_result_or_one_sentence(tmp_path: Path) -> None:
    results = [check(seed, tmp_path) for seed in range(1000)]
    assert {"accepted", "refused", "ran"} == set(results)
