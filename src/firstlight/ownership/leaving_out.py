"""An object as it is applied without what a repo declares to be others': such fields stay as and whose they are."""

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.ownership import field_values, ignore_paths, writers
from firstlight.ownership.field_values import ABSENT, Path
from firstlight.ownership.ignoring import Ignored
from firstlight.ownership.stray_fields import Stray
from firstlight.ownership.writers import Writer


def form(
    value: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any], *, ignored: Ignored, manager: str
) -> dict[str, Any]:
    """What is applied: without ignored fields that are not the manager's, and with the live value of those that are.

    To leave out a field that the manager has applied before would remove it.

    Args:
        value: The object as its manager applies it.
        live: As it is.
        after: What a dry run of that apply makes of it: its ``managedFields`` tell what was applied.
        ignored: What is declared.
        manager: Who applies it.
    """
    made: dict[str, Any] = copy.deepcopy(dict(value))
    everybody = writers.of(live)
    own = [each for each in everybody if each.manager == manager and each.operation == "Apply"]
    applied = [each for each in writers.of(after) if each.manager == manager and each.operation == "Apply"]
    leaves = {path for each in applied for path in each.fields.leaves()}
    for leaf in sorted(leaves, key=lambda each: (len(_bare(each)), each)):
        if _is_others(leaf, ignored, (value, live), everybody):
            path = _bare(leaf)
            _put(made, path, field_values.at(live, path) if any(each.has(path) for each in own) else ABSENT)
    # What it applied once and Git has no more would go, too.
    for leaf in sorted({path for each in own for path in each.fields.leaves()} - leaves):
        if leaf[-1] != "." and _is_others(leaf, ignored, (value, live), everybody):
            _add(made, leaf, field_values.at(live, leaf))
    return made


def strays(
    found: Iterable[Stray], live: Mapping[str, Any], *, value: Mapping[str, Any], ignored: Ignored
) -> tuple[Stray, ...]:
    """Those of fields beside Git's that are nobody else's by declaration, wholly or in part.

    Args:
        found: All of them.
        live: The object as it is.
        value: The object as its manager applies it.
        ignored: What is declared.
    """
    if ignored.is_merged:
        return ()
    everybody = writers.of(live)
    return tuple(each for each in found if not _is_others(each.path, ignored, (value, live), everybody))


def _is_others(leaf: Path, ignored: Ignored, values: Iterable[Mapping[str, Any]], everybody: Iterable[Writer]) -> bool:
    """Whether a field is ignored, or, of one that goes as a whole, something in it."""
    path, is_one = _bare(leaf), leaf[-1] != "."
    if is_one and any(each.manager in ignored.managers and each.has(path) for each in everybody):
        return True
    return any(
        ignore_paths.covers(steps, path, value=each)
        or (is_one and ignore_paths.rest(steps, path, value=each) is not None)
        for steps in ignored.paths
        for each in values
    )


def _bare(path: Path) -> Path:
    return tuple(step for step in path if step != ".")


def _add(made: dict[str, Any], path: Path, value: Any) -> None:
    """A value at a path, with what leads there."""
    holder: Any = made
    for step, following in zip(path, (*path[1:], ""), strict=True):
        found = field_values.child(holder, step)
        if found is ABSENT:
            inner: Any = [] if following[:2] in ("k:", "v:") else {}
            found = inner if following else copy.deepcopy(value)
            if found is ABSENT or not isinstance(holder, list if step[:2] in ("k:", "v:") else dict):
                return
            if isinstance(holder, dict):
                holder[step[2:]] = found
            else:
                found = {**json.loads(step[2:])} if step.startswith("k:") and following else found
                holder.append(found)
        holder = found


def _put(made: dict[str, Any], path: Path, value: Any) -> None:
    """A value at a path that leads somewhere, or nothing there any more."""
    *above, last = path
    holder = field_values.at(made, above)
    if field_values.child(holder, last) is ABSENT:
        return
    key: Any = last[2:] if last.startswith("f:") else field_values.index(holder, last)
    if value is ABSENT:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(value)
