"""Paths that a repo declares as not to be looked at: JSON pointers, and the simple kind of jq's."""

import copy
import dataclasses
import json
import re
from typing import Any

from firstlight.ownership import field_values
from firstlight.ownership.field_values import Path

_NAME = re.compile(r'\.([A-Za-z_][\w-]*)|\.?\["((?:[^"\\]|\\.)*)"\]|\."((?:[^"\\]|\\.)*)"')
_INDEX = re.compile(r"\.?\[(\d*)\]")
_SELECT = re.compile(r"""\s*\|\s*select\(\s*\.([\w-]+)\s*==\s*"((?:[^"\\]|\\.)*)"\s*\)\s*""")


@dataclasses.dataclass(frozen=True, slots=True)
class Each:
    """A step into items of a list: all, or those whose field has a value."""

    field: str = ""
    value: str = ""


Step = str | int | Each
Steps = tuple[Step, ...]


def of_pointer(text: str) -> Steps:
    """The steps of a JSON pointer; a number may be an index or a name."""
    parts = text.removeprefix("/").split("/") if text.strip("/") else []
    return tuple(each.replace("~1", "/").replace("~0", "~") for each in parts)


def of_jq(text: str) -> Steps | None:
    """The steps of a jq path such as ``.webhooks[].clientConfig.caBundle``; None where it is not of that kind."""
    rest, steps = text.strip(), list[Step]()
    while rest:
        rest = rest.removeprefix("?")
        if match := _SELECT.match(rest):
            if not steps or not isinstance(steps[-1], Each):
                return None
            steps[-1] = Each(match[1], match[2])
        elif match := _INDEX.match(rest):
            steps.append(int(match[1]) if match[1] else Each())
        elif match := _NAME.match(rest):
            steps.append(next(each for each in match.groups() if each is not None))
        elif rest.startswith("|") or rest.startswith(" "):
            rest = rest[1:]
            continue
        else:
            return None if rest else tuple(steps)
        rest = rest[match.end() :]
    return tuple(steps) or None


def covers(steps: Steps, path: Path, *, value: Any) -> bool:
    """Whether a field lies at steps, or below.

    Args:
        steps: What is not looked at.
        path: The field.
        value: The object in which it is, since some steps are positions.
    """
    keys = [each for each in path if each != "."]
    if len(steps) > len(keys):
        return False
    for step, key in zip(steps, keys, strict=False):
        if not _is_at(step, key, value):
            return False
        value = field_values.child(value, key)
    return True


def without(value: Any, steps: Steps) -> Any:
    """A value without what lies at steps inside of it."""
    made = copy.deepcopy(value)
    _drop(made, steps)
    return made


def rest(steps: Steps, path: Path, *, value: Any) -> Steps | None:
    """The steps that go on below a field; None where they do not lead through it."""
    keys = [each for each in path if each != "."]
    if len(steps) <= len(keys):
        return None
    return steps[len(keys) :] if covers(steps[: len(keys)], path, value=value) else None


def _is_at(step: Step, key: str, value: Any) -> bool:
    if key.startswith("f:"):
        return step == key[2:]
    match step:
        case Each(field=""):
            return True
        case Each(field=field, value=wanted):
            item = field_values.child(value, key)
            return key.startswith("k:") and (json.loads(key[2:]).get(field) == wanted or _has(item, field, wanted))
        case _:
            return str(step) == str(field_values.index(value, key))


def _has(item: Any, field: str, wanted: str) -> bool:
    return isinstance(item, dict) and item.get(field) == wanted


def _drop(value: Any, steps: Steps) -> None:
    first, below = steps[0], steps[1:]
    for key in _keys(value, first):
        if below:
            _drop(value[key], below)
        elif isinstance(value, dict):
            value.pop(key)
        else:
            value[key] = None


def _keys(value: Any, step: Step) -> list[Any]:
    if isinstance(value, dict):
        return [step] if step in value else []
    if not isinstance(value, list):
        return []
    match step:
        case Each(field=""):
            return list(range(len(value)))
        case Each(field=field, value=wanted):
            return [number for number, each in enumerate(value) if _has(each, field, wanted)]
        case _:
            return [int(step)] if str(step).isdecimal() and int(step) < len(value) else []
