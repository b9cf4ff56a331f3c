"""The scenarios of a trial: seeds, named changes of the testbed, and plants that differ from the model at random."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import plant_of, to_json
from granite.config.overrides import leaves
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.sim.lab import Lab
from granite.tuning.parameters import SEED, refuse_same, spelled, value_at

NOMINAL = "nominal"
#: separates the random plants of tuning from those that `unseen_plants` draws
_TUNED, _UNSEEN = 0, 1
_CHANGES, _PLANT = "tuning.changes", "simulation.plant"
_SPREAD = "a key of modules, contacts, devices or simulation.table with a number"


class Scenario(NamedTuple):
    """One run of a trial."""

    name: str
    changes: dict[str, Any]  #: by dotted key; the seed is one of them


def scenarios_of(bed: Testbed, table: TuningTable) -> list[Scenario]:
    """Every named scenario and random plant with every seed, the testbed as it is where there is neither.

    Raises
    ------
    InputError
        Where a change does not fit the testbed, or is one of a parameter: each trial would replace it.
    """
    _refuse_tuned(bed, table)
    return [
        Scenario(f"{name}, seed {seed}" if len(table.seeds) > 1 else name, {**changes, SEED: seed})
        for name, changes in variations_of(bed, table).items()
        for seed in table.seeds
    ]


def variations_of(bed: Testbed, table: TuningTable) -> dict[str, dict[str, Any]]:
    """The named scenarios and random plants without seeds, each checked as the simulated lab will read it."""
    if (refusal := _refusal_of(bed, {})) is not None:
        raise refusal  # else it would be blamed on a scenario
    common = _flat(table.changes)
    variations = {}
    for name, content in table.scenarios.items():
        changes = _flat(content)
        _refuse_unfit(bed, common, changes, f"tuning.scenarios.{name}")
        variations[name] = {**common, **changes}
    if not variations or table.plants:
        _refuse_unfit(bed, common, {}, _CHANGES)
    if table.plants:
        plants = RandomPlants(bed, table, common, _TUNED)
        for i in range(table.plants):
            plants.refuse_unfit(i)
            if (name := f"plant-{i + 1}") in table.scenarios:
                raise InputError(
                    "a random plant has that name", key=f"tuning.scenarios.{name}", expected="another name"
                )
            variations[name] = {**common, **plants.changes(i)}
    return variations or {NOMINAL: common}


def unseen_plants(bed: Testbed, table: TuningTable, number: int) -> list[dict[str, Any]]:
    """Random plants that no trial has met."""
    plants = RandomPlants(bed, table, {}, _UNSEEN)
    return [plants.changes(i) for i in range(number)]


class RandomPlants:
    """Random plants of a testbed in a scenario: each value of the plant times 1 plus its spread, uniform from -1 to 1.

    The value is that of the plant in the scenario: a scenario may change it too, and the plants are spread around that.

    Parameters
    ----------
    bed, table
        The testbed, and the table with `spread` and `seed`.
    scenario
        Changes of the scenario, which fit the testbed.
    which
        Separates plants for one use from those for another.

    Raises
    ------
    InputError
        Where a key of the spread is not that of a number of the plant, or two are of the same one.
    """

    def __init__(self, bed: Testbed, table: TuningTable, scenario: Mapping[str, Any], which: int) -> None:
        self._bed = bed
        self._spread = table.spread
        self._scenario = scenario
        self._stream = [table.seed, which]
        content = json.loads(to_json(plant_of(bed.with_changes(scenario))))
        self._values = [value_at(content, one.key.split(".")) for one in table.spread]
        for i, value in enumerate(self._values):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise self._refusal(i, "not a number of this testbed", _SPREAD)
        refuse_same(bed, content, "tuning.spread", [one.key for one in table.spread])

    def changes(self, number: int) -> dict[str, Any]:
        """The changes of one plant."""
        random = np.random.default_rng([*self._stream, number])
        draws = random.uniform(-1, 1, len(self._spread)).tolist()
        return {
            f"{_PLANT}.{one.key}": value * (1 + one.relative * draw)
            for one, value, draw in zip(self._spread, self._values, draws, strict=True)
        }

    def refuse_unfit(self, number: int) -> None:
        """Raise where the changes of one plant do not fit."""
        drawn = self.changes(number)
        refusal = _refusal_of(self._bed, {**self._scenario, **drawn})
        if refusal is None:
            return
        for i, (key, value) in enumerate(drawn.items()):
            if key == refusal.key:
                raise self._refusal(i, refusal.problem or f"a plant has {value:g}", refusal.expected)
        raise refusal.within("tuning.spread", file=self._bed.name)

    def _refusal(self, i: int, problem: str, expected: str) -> InputError:
        key, value = f"tuning.spread.{i}.key", self._spread[i].key
        return InputError(problem, file=self._bed.name, key=key, value=value, expected=expected)


def _refuse_tuned(bed: Testbed, table: TuningTable) -> None:
    """Raise where a change of scenarios, of all runs or of random plants would have no effect."""
    content = json.loads(to_json(bed))
    tuned = {spelled(content, parameter.key) for parameter in table.parameters}
    tables = {f"tuning.scenarios.{name}": scenario for name, scenario in table.scenarios.items()}
    tables[_CHANGES] = table.changes
    changed = [(f"{above}.{key}", key, value) for above, part in tables.items() for key, value in _flat(part).items()]
    if table.plants:
        changed += [(f"tuning.spread.{i}.key", f"{_PLANT}.{one.key}", one.key) for i, one in enumerate(table.spread)]
    for where, key, value in changed:
        if spelled(content, key) in tuned:
            expected = "a key that is no parameter, because each trial replaces the value"
            raise InputError(file=bed.name, key=where, value=value, expected=expected)


def _refuse_unfit(bed: Testbed, common: Mapping[str, Any], own_changes: Mapping[str, Any], table: str) -> None:
    """Raise where changes do not fit testbed and plant: those of all runs, with those of a scenario's table."""
    for above, changes in ((_CHANGES, common), (table, own_changes)):
        if SEED in changes:
            expected = "no seed here, because every run is given one (tuning.seeds)"
            raise InputError(file=bed.name, key=f"{above}.{SEED}", value=changes[SEED], expected=expected)
    refusal = _refusal_of(bed, {**common, **own_changes})
    if refusal is None:
        return
    for key, value in {**common, **own_changes}.items():
        above = table if key in own_changes else _CHANGES
        if refusal.key == key or refusal.key.startswith(f"{key}."):
            raise refusal.within(above, file=bed.name)
        # A part of the path that does not exist, such as another module: the refusal names the part above it.
        if key.startswith(f"{refusal.key}.") and str(_refusal_of(bed, {key: value})) == str(refusal):
            problem = f"{refusal.problem} in {refusal.key}"
            raise InputError(problem, file=bed.name, key=f"{above}.{key}", value=value, expected=refusal.expected)
    raise refusal.within(table, file=bed.name)


def _refusal_of(bed: Testbed, changes: Mapping[str, Any]) -> InputError | None:
    """Why the simulated lab can't be built with these changes, if it can't; events are checked on its plant."""
    try:
        changed = bed.with_changes(changes)
        if changed.simulation.events:
            Lab(changed)
        else:
            plant_of(changed)
    except InputError as refusal:
        return refusal.within(file=bed.name)
    return None


def _flat(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {".".join(path): value for path, value in leaves(dict(changes))}
