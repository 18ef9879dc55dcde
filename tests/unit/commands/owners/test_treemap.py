"""Rectangles within a rectangle: as large as their numbers, never over each other, and none beside it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.commands.owners import treemap
from firstlight.commands.owners.treemap import TreemapTile

sizes = st.lists(st.integers(1, 5000), min_size=1, max_size=40).map(lambda each: sorted(each, reverse=True))
boxes = st.builds(TreemapTile, st.just(3.0), st.just(5.0), st.floats(20, 2000), st.floats(20, 2000))


@given(sizes, boxes)
def test_areas_are_as_the_numbers(given: list[int], box: TreemapTile) -> None:
    found = treemap.squarified(given, box)

    whole = box.width * box.height
    for size, each in zip(given, found, strict=True):
        assert each.width * each.height == pytest.approx(size * whole / sum(given), rel=1e-6, abs=1e-6)
        assert each.x >= box.x - 1e-6
        assert each.x + each.width <= box.x + box.width + 1e-6
        assert each.y >= box.y - 1e-6
        assert each.y + each.height <= box.y + box.height + 1e-6


@given(sizes.filter(lambda each: len(each) < 15), boxes)
def test_none_lies_over_another(given: list[int], box: TreemapTile) -> None:
    for one, other in itertools.combinations(treemap.squarified(given, box), 2):
        across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
        down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
        assert across < 1e-6 or down < 1e-6


def test_they_are_as_square_as_that_allows() -> None:
    found = treemap.squarified([6, 6, 4, 3, 2, 2, 1], TreemapTile(0, 0, 600, 400))
    ratios = [max(each.width / each.height, each.height / each.width) for each in found]
    assert max(ratios) < 3


def test_nothing_has_no_area() -> None:
    assert treemap.squarified([], TreemapTile(0, 0, 10, 10)) == []
    assert treemap.squarified([1, 2], TreemapTile(0, 0, 0, 10)) == [TreemapTile(0, 0, 0, 0), TreemapTile(0, 0, 0, 0)]
