"""Fields of an object by the paths that kustomize gives them, changed without touching the object itself."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.resource import ANY, Gvk


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of some kinds of objects."""

    path: tuple[str, ...]
    """Names of fields; lists on the way are gone through, and one that ends with ``[]`` must be a list."""
    gvk: Gvk = ANY
    create: bool = False
    """Whether the field, and what leads there, is made where it is missing."""


def spec(path: str, kind: str = "", *, group: str = "", version: str = "", create: bool = False) -> FieldSpec:
    """A field as kustomize writes it: ``spec/template/spec/containers[]/image``."""
    return FieldSpec(split(path), Gvk(group, version, kind), create)


def split(path: str, separator: str = "/") -> tuple[str, ...]:
    """The names in a path, where a separator after a backslash belongs to the name."""
    parts = path.split(separator)
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    found = parts[:1]
    for part in parts[1:]:
        if found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + separator + part
        else:
            found.append(part)
    return tuple(found)


def change(value: Any, path: Sequence[str], edit: Callable[[Any], Any], *, create: Callable[[], Any] | None) -> Any:
    """A value with what stands at a path edited; what did not change is shared, and nothing is changed in place.

    Args:
        value: The object.
        path: Where.
        edit: What becomes of what stands there.
        create: Makes what is missing at the end of the path; without it nothing is made.

    Raises:
        Problem: A text or a number stands on the way.
    """
    if not path:
        return edit(value)
    if value is None:
        return None
    if isinstance(value, list):
        items = [change(each, path, edit, create=create) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        raise Problem(f"a list or a mapping is expected before {'/'.join(path)}")
    name, rest = path[0].removesuffix("[]"), path[1:]
    old = value.get(name)
    if old is None and (create is None or name != path[0]):
        return value
    made = (create() if not rest else {}) if old is None and create is not None else old
    new = change(made, rest, edit, create=create)
    return value if new is old else {**value, name: new}


def with_entry(name: str, text: str) -> Callable[[Any], Any]:
    """An edit that puts an entry into a mapping."""

    def edit(value: Any) -> Any:
        if value is None:
            return {name: text}
        if not isinstance(value, dict):
            raise Problem(f"a mapping is expected where {name} is to go")
        return value if value.get(name) == text else {**value, name: text}

    return edit


def applied(
    value: Mapping[str, Any], specs: Sequence[FieldSpec], edit: Callable[[Any], Any], create: Callable[[], Any] | None
) -> Mapping[str, Any]:
    """An object with several of its fields edited."""
    for each in specs:
        changed = change(value, each.path, edit, create=create if each.create else None)
        assert isinstance(changed, dict)
        value = changed
    return value
