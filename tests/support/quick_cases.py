"""Many cases of one idea: the quick ones run by default, the others in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """The cases, of which all but the chosen ones are marked slow; one with marks of its own keeps these."""
    cases = list(cases)
    assert all(case in cases for case in chosen), chosen
    kept = (*chosen, *(case for case in cases if isinstance(case, type(pytest.param()))))
    return [case if case in kept else pytest.param(case, marks=pytest.mark.slow) for case in cases]
