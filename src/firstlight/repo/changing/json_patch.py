"""Operations of a JSON patch as the fields that they change, so that they can be told by their ways."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize import json_patch

REMOVED = "$remove"
"""What stands in the place of a value that an operation takes away."""


def is_patch(value: Sequence[Any]) -> bool:
    """Whether a list has operations and nothing else."""
    return bool(value) and all(
        isinstance(each, Mapping) and isinstance(each.get("path"), str) and isinstance(each.get("op"), str)
        for each in value
    )


def read(operations: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """A mapping with what operations set, and the number of each by the way to it."""
    made: dict[str, Any] = {}
    ways: dict[tuple[str, ...], int] = {}
    for number, each in enumerate(operations):
        steps = tuple(_step(part) for part in json_patch.parts(str(each["path"]))) or ("",)
        while steps in ways:  # two items that are appended to one list
            steps = (*steps[:-1], f"{steps[-1]}+")
        ways[steps] = number
        _put(made, steps, each.get("value") if each["op"] in ("add", "replace", "test") else {REMOVED: each["op"]})
    return made, ways


def _step(name: str) -> str:
    return f"[{name}]" if name.isdigit() or name == "-" else name


def _put(into: dict[str, Any], steps: tuple[str, ...], value: Any) -> None:
    for step in steps[:-1]:
        inner = into.get(step)
        if not isinstance(inner, dict):
            inner = into[step] = {} if inner is None else {"": inner}
        into = inner
    known = into.get(steps[-1])
    into[steps[-1]] = {**known, **value} if isinstance(known, dict) and isinstance(value, Mapping) else value
