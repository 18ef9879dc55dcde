"""Where a value stands in a YAML text of one document."""

import re
from collections.abc import Sequence

import yaml

from firstlight.document import tree, values

_SEGMENT = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The 1-based line of the value at ``path``, or of the nearest parent that exists."""
    line, _ = tree.position(text, 0, path, values.KUBERNETES)
    return line or 1


def parse_path(path: str) -> tuple[str | int, ...]:
    """A path as msgspec writes it (``$.nodes[0].role``) in steps."""
    return tuple(match["key"] if match["key"] is not None else int(match["index"]) for match in _SEGMENT.finditer(path))


def repeated_key(text: str) -> tuple[str, int] | None:
    """A key that stands twice in one mapping, with the line of the second; parsers keep the last without a word.

    Raises:
        yaml.YAMLError: There is more than one document.
    """
    roots = tree.documents(text)
    if len(roots) > 1:
        raise yaml.YAMLError("there is more than one document")
    for root in roots:
        for name, _, second in tree.repeated(root, values.KUBERNETES) if root else ():
            return name, second.line + 1
    return None
