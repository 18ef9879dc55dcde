import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.talosctl import talosctl_output

CELLS = st.text(alphabet="ab1:/äß€.,", max_size=12)
HEADINGS = ("NODE", "PEER URLS", "LEARNER", "LAST EVENT")


def tabwriter(rows: list[tuple[str, ...]]) -> str:
    """As Go's tabwriter does it: every cell but the last is padded to the column's width and three spaces."""
    widths = [max(len(row[column]) for row in rows) + 3 for column in range(len(rows[0]) - 1)]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + row[-1] + "\n" for row in rows
    )


@given(st.lists(st.tuples(CELLS.filter(bool), CELLS, CELLS, CELLS), max_size=5))
def test_cells_come_back_whether_they_are_empty_or_wide(rows: list[tuple[str, str, str, str]]) -> None:
    printed = tabwriter([HEADINGS, *rows])

    assert [tuple(row.values()) for row in talosctl_output.parse_table(printed)] == rows


def test_nothing_is_no_rows() -> None:
    assert talosctl_output.parse_table("\n") == ()


def test_rows_without_a_heading_are_an_error() -> None:
    with pytest.raises(ValueError, match="heading"):
        talosctl_output.parse_table("10.5.0.2   abc\n")
