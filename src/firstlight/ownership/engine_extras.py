"""Objects with what an engine adds to them by itself: defaults that it knows, and structs that it leaves empty.

Flux reads what Git has into the types of Kubernetes and writes it out again. So it owns the protocol of a port that
names none, and a strategy that is empty, although Git has neither.
"""

import copy
from collections.abc import Mapping
from typing import Any

from firstlight.ownership import field_values
from firstlight.ownership.field_set import FieldSet, Path, plain


def extended(
    value: Mapping[str, Any], live: Mapping[str, Any], extra: FieldSet, *, are_structs_empty: bool
) -> dict[str, Any] | None:
    """An object with more fields, valued as they are live; None where one has no place in it.

    Args:
        value: As Git has it, with the marks of the engine.
        live: As it is.
        extra: What the engine owns besides.
        are_structs_empty: Whether a struct that is owned as a whole was empty when it was applied; the server may have
            put defaults into it. A map that is one value was not.
    """
    whole: dict[str, Any] = copy.deepcopy(dict(value))
    for path in extra.leaves():
        found = field_values.at(live, path)
        if path[-1] == "." and path[-2].startswith("f:"):
            found = {}  # what is in it comes with paths of its own
        elif isinstance(found, Mapping) and are_structs_empty:
            found = {}
        elif found is field_values.ABSENT:
            found = None
        if not _set(whole, plain(path), found):
            return None
    return whole


def _set(whole: dict[str, Any], path: Path, value: Any) -> bool:
    at: Any = whole
    for step in path[:-1]:
        if step.startswith("f:") and isinstance(at, dict):
            at = at.setdefault(step[2:], {})
        else:
            number = field_values.index(at, step)
            if number is None:
                return False
            at = at[number]
    last = path[-1]
    if not last.startswith("f:"):
        return field_values.index(at, last) is not None
    if not isinstance(at, dict):
        return False
    at.setdefault(last[2:], copy.deepcopy(value))
    return True
