"""Names above a panel: as many in a row as fit, with five letters more for the sign of each."""

import pytest

from granite.views.plots.panels.panel import joined, legend_rows


@pytest.mark.parametrize(
    ("letters", "names", "rows"),
    [
        (21, 3, 1),  # 3 (21 + 5) = 78, which fits
        (22, 3, 2),  # 81 do not: two of 27 in a row
        (15, 4, 2),  # 80 do not: three of 20 in a row
        (75, 2, 2),  # one each, though 80 do not fit either
        (1, 12, 1),
        (30, 13, 1),  # of more than twelve the first and the last
    ],
)
def test_as_many_names_as_fit_stand_in_a_row(letters: int, names: int, rows: int) -> None:
    assert legend_rows(["x" * letters] * names) == rows


def test_lines_that_coincide_have_one_name_as_long_as_it_is_short() -> None:
    assert joined(["left", "right"], equal=True) == "left = right"
    assert joined(["left", "right"], equal=False) == "left ≈ right"
    assert joined(["x" * 21, "y" * 21], equal=True) == f"{'x' * 21} = {'y' * 21}"  # 45 letters
    assert joined(["x" * 21, "y" * 22], equal=True) == f"{'x' * 21} = … = {'y' * 22} (2 lines)"
