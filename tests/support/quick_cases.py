"""Many cases of one idea: the quick ones run by default, the others in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """The cases, of which all but the chosen ones are marked slow."""
    cases = list(cases)
    assert set(chosen) <= set(cases), chosen
    return [case if case in chosen else pytest.param(case, marks=pytest.mark.slow) for case in cases]
