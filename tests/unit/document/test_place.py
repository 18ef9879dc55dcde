import pytest

from firstlight.document import place

TEXT = """\
a: 1
list:
  - name: x
    size: 2
  - name: y
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [("$.a", 1), ("$.list", 2), ("$.list[0]", 3), ("$.list[0].size", 4), ("$.list[1].name", 5), ("$.list[7].name", 2)],
)
def test_the_line_of_a_value_or_of_its_nearest_parent(path: str, line: int) -> None:
    assert place.line_of(TEXT, place.parse_path(path)) == line
