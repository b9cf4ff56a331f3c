"""The scenarios of a trial: seeds, named changes of the testbed, and plants that differ from the model at random."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from granite.config.changes import leaves
from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.testbed import Testbed
from granite.config.tuning import PlantSpread, TuningTable
from granite.tuning.parameters import value_at

NOMINAL = "nominal"
#: separates the random plants of tuning from those that `unseen_plants` draws
_TUNED, _UNSEEN = 0, 1


class Scenario(NamedTuple):
    """One run of a trial."""

    name: str
    changes: dict[str, Any]  #: by dotted key; the seed is one of them


def scenarios_of(bed: Testbed, table: TuningTable) -> list[Scenario]:
    """Every named scenario and random plant with every seed, the testbed as it is where there is neither.

    Raises
    ------
    InputError
        Where a change does not fit the testbed.
    """
    return [
        Scenario(f"{name}, seed {seed}" if len(table.seeds) > 1 else name, {**changes, "seed": seed})
        for name, changes in variations_of(bed, table).items()
        for seed in table.seeds
    ]


def variations_of(bed: Testbed, table: TuningTable) -> dict[str, dict[str, Any]]:
    """The named scenarios and random plants without seeds, each checked."""
    common = _flat(table.changes)
    found = {name: {**common, **_flat(changes)} for name, changes in table.scenarios.items()}
    for i in range(table.plants):
        found[f"plant-{i + 1}"] = {**common, **drawn_plant(bed, table.spread, table.seed, i, _TUNED)}
    found = found or {NOMINAL: common}
    for name, changes in found.items():
        if table.changes or name in table.scenarios:
            key = f"tuning.scenarios.{name}" if name in table.scenarios else "tuning.changes"
            try:
                bed.with_changes(changes)
            except InputError as refusal:
                raise refusal.within(key, file=bed.name) from None
    return found


def unseen_plants(bed: Testbed, table: TuningTable, number: int) -> list[dict[str, Any]]:
    """Random plants that no trial has met."""
    return [drawn_plant(bed, table.spread, table.seed, i, _UNSEEN) for i in range(number)]


def drawn_plant(bed: Testbed, spread: tuple[PlantSpread, ...], seed: int, number: int, which: int) -> dict[str, Any]:
    """The changes of a random plant: each value times 1 plus its relative spread, uniform from -1 to 1."""
    random = np.random.default_rng([seed, which, number])
    content = json.loads(to_json(bed))
    found = {}
    for i, (one, draw) in enumerate(zip(spread, random.uniform(-1, 1, len(spread)).tolist(), strict=True)):
        value = value_at(content, one.key.split("."))
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                "not a number of this testbed",
                file=bed.name,
                key=f"tuning.spread.{i}.key",
                value=one.key,
                expected="a key of modules, contacts, devices or simulation.table with a number",
            )
        found[f"simulation.plant.{one.key}"] = value * (1 + one.relative * draw)
    return found


def _flat(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {".".join(path): value for path, value in leaves(dict(changes))}
