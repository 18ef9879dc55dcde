"""TOML that strangers wrote: its value, or where it is wrong."""

import re
import tomllib
from typing import Any

_LINE = re.compile(r"at line (\d+)")


class TomlUnreadable(ValueError):
    """A text that is not TOML."""

    def __init__(self, problem: str, *, line: int) -> None:
        super().__init__(problem)
        self.line = line
        """0 if it is not known."""


def read(text: str) -> dict[str, Any]:
    """Return the value of a text.

    Raises:
        TomlUnreadable: It is not TOML, or it is nested too deeply.
    """
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = str(error)
        line = _LINE.search(problem)  # tomllib has no field for it before Python 3.14
        raise TomlUnreadable(problem, line=int(line[1]) if line else 0) from None
