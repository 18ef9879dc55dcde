import pytest
import yaml

from firstlight.document import yaml_tree

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
    assert yaml_tree.line_of(TEXT, yaml_tree.parse_path(path)) == line


def test_a_key_that_stands_twice() -> None:
    assert yaml_tree.repeated_key("a: {b: 1}\nc:\n  b: 1\n  d: 2\n  b: 3\n") == ("b", 5)
    assert yaml_tree.repeated_key("a: {b: 1}\nc: {b: 1}\n") is None
    assert yaml_tree.repeated_key("a: &a\n  b: *a\n") is None
    with pytest.raises(yaml.YAMLError, match="more than one"):
        yaml_tree.repeated_key("a: 1\n---\nb: 1\n")
