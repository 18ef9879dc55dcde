"""How deeply a YAML text is nested; asked before anything composes it, since libyaml's composer overflows the stack."""

import yaml

LIMIT = 200
"""Levels: a machine config has about ten, and libyaml ends the process at some thousands."""


def too_deep(text: str) -> int:
    """The line where a text goes deeper than the limit; 0 if it does not.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > LIMIT:
                mark = event.start_mark
                return mark.line + 1 if mark else 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 0
