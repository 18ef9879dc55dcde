"""TOML of strangers: the value, or the line of the mistake."""

import pytest

from firstlight.document import toml_reader
from firstlight.document.toml_reader import TomlUnreadable


def test_a_value_with_line_ends_of_windows() -> None:
    assert toml_reader.read("[a]\r\nb = 1\r\n") == {"a": {"b": 1}}


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = \n", 2), ("a", 0), (f"a = {'[' * 100_000}", 0)])
def test_a_mistake_has_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlUnreadable) as caught:
        toml_reader.read(text)

    assert caught.value.line == line
