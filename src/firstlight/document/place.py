"""Where a value stands in a YAML text.

Reading is fast and forgets lines; only when something is wrong is the text composed again to find the line.
"""

import re
from collections.abc import Sequence

import yaml

_SEGMENT = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The 1-based line of the value at ``path``, or of the nearest parent that exists."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    line = 1
    for step in path:
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(step):
                    line, found = key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = node.value[step]
            line = found.start_mark.line + 1
        if found is None:
            return line
        node = found
    return line


def parse_path(path: str) -> tuple[str | int, ...]:
    """A path as msgspec writes it (``$.nodes[0].role``) in steps."""
    return tuple(match["key"] if match["key"] is not None else int(match["index"]) for match in _SEGMENT.finditer(path))


def repeated_key(text: str) -> tuple[str, int] | None:
    """A key that stands twice in one mapping, with the line of the second; parsers keep the last without a word."""
    waiting = [yaml.compose(text, Loader=yaml.CSafeLoader)]
    seen_nodes: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen_nodes:  # anchors may be used many times, or even contain themselves
            continue
        seen_nodes.add(id(node))
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen and key.value != "<<":
                    return str(key.value), key.start_mark.line + 1
                if isinstance(key, yaml.ScalarNode):
                    seen.add(key.value)
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
    return None
