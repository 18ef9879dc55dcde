"""Strategic merge patches, as kustomize applies them.

Mappings are merged, null removes, lists are replaced unless their kind says how their items are told apart; items of
the patch come first then. ``$patch: delete`` and ``$patch: replace`` are obeyed.
"""

from collections.abc import Mapping
from typing import Any, Final

from firstlight.repo.kustomize import merge_keys, ports
from firstlight.repo.kustomize.merge_keys import Shape
from firstlight.repo.kustomize.problem import Problem

REMOVED: Final = object()
"""What a merge gives where the patch takes everything away."""

_DIRECTIVE = "$patch"


def merge(target: Mapping[str, Any], patch: Mapping[str, Any], *, shape: Shape) -> Any:
    """An object with a patch merged into it; neither is changed.

    Raises:
        Problem: The patch has a mapping where the object has a list, or the like.
    """
    return _mapping(target, patch, shape)


def _value(target: Any, patch: Any, shape: Shape, path: str) -> Any:
    if target is None:
        return _added(patch, shape)
    kinds = {type(each) if isinstance(each, dict | list) else str for each in (target, patch)}
    if len(kinds) > 1:
        raise Problem(f"the patch has something of another kind at {path}")
    if isinstance(patch, dict):
        return _mapping(target, patch, shape)
    if isinstance(patch, list) and shape.keys is not None:
        return _items(target, patch, shape)
    return patch


def _mapping(target: Mapping[str, Any], patch: Mapping[str, Any], shape: Shape) -> Any:
    match patch.get(_DIRECTIVE):
        case "delete":
            return REMOVED
        case "replace":
            return _added({name: value for name, value in patch.items() if name != _DIRECTIVE}, shape)
        case None | "merge":
            pass
        case other:
            raise Problem(f"there is no patch strategy {str(other)[:40]!r}", hint="write delete, replace or merge")
    merged = dict(target)
    for name, value in patch.items():
        if name == _DIRECTIVE:
            continue
        new = REMOVED
        if value is not None:
            new = _value(target.get(name), value, shape.fields.get(name, merge_keys.UNKNOWN), name)
        if new is REMOVED:
            merged.pop(name, None)
        else:
            merged[name] = new
    return merged


def _added(patch: Any, shape: Shape) -> Any:
    """What a patch brings where nothing was: itself, without what it would have removed."""
    if isinstance(patch, dict):
        return _mapping({}, patch, shape)
    if isinstance(patch, list) and shape.keys:
        return _items([], patch, shape)
    return patch


def _items(target: list[Any], patch: list[Any], shape: Shape) -> Any:
    directives = [each for each in patch if isinstance(each, dict) and list(each) == [_DIRECTIVE]]
    wanted = [each for each in patch if each not in directives]
    for each in directives:
        if each[_DIRECTIVE] == "delete":
            return REMOVED
        if each[_DIRECTIVE] == "replace":
            return wanted
    if not shape.keys:
        return [*wanted, *(each for each in target if each not in wanted)]
    inner = Shape(shape.fields)
    if len(shape.keys) > 1:
        return ports.merged(
            target, wanted, shape.keys, merge=lambda old, new: _value(old, new, inner, ""), removed=REMOVED
        )
    rest = list(target)
    first = []
    for item in wanted:
        found = next((old for old in rest if _is_same(old, item, shape.keys[0])), None)
        if found is not None:
            rest.remove(found)
        new = _value(found, item, inner, "") if isinstance(item, dict) else item
        if new is not REMOVED:
            first.append(new)
    return [*first, *rest]


def _is_same(one: Any, other: Any, key: str) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict) or key not in one:
        return False
    return str(one[key]) == str(other.get(key, ""))
