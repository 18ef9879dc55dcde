"""JSON patches (RFC 6902), with nothing changed in place."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from firstlight.repo.kustomize.resources import KustomizationError

_MISSING: Final = object()
COPIED = 100_000
"""Values that the copies of one patch may hold: each could double an object."""


def apply(value: Any, operations: Sequence[Any]) -> Any:
    """A value with operations applied one after the other.

    Raises:
        Problem: One of them cannot be applied.
    """
    copied = 0
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise KustomizationError("kustomize-patch-wrong", "an operation of a JSON patch needs op and path")
        if operation.get("op") == "copy":
            copied += _extent(_get(value, _pointer(str(operation.get("from") or ""))))
            if copied > COPIED:
                raise KustomizationError.unknown(
                    "kustomize-too-large", f"a JSON patch that copies more than {COPIED} values is not followed"
                )
        value = _applied(value, operation)
    return value


def _extent(value: Any) -> int:
    """How many values are in one, itself included; one more than may be copied where there are more."""
    waiting, count = [value], 0
    while waiting and count <= COPIED:
        each = waiting.pop()
        count += 1
        waiting.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
    return count


def _applied(value: Any, operation: Mapping[str, Any]) -> Any:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "add":
            return _put(value, path, _operand(operation), operation["path"])
        case "replace":
            if _get(value, path) is _MISSING:
                raise KustomizationError(
                    "kustomize-patch-path-missing", f"there is nothing to replace at {operation['path']}"
                )
            return _edited(value, path, lambda _: _operand(operation), operation["path"])
        case "remove":
            return _removed(value, path, operation["path"])
        case "test":
            found = _get(value, path)
            if (None if found is _MISSING else found) != operation.get("value"):
                raise KustomizationError("kustomize-patch-test-failed", f"the test of {operation['path']} fails")
            return value
        case "move" | "copy" as name:
            origin = str(operation.get("from") or "")
            if not origin:
                raise KustomizationError(
                    "kustomize-patch-wrong", f"the operation at {operation['path']} does not say from where"
                )
            found = _get(value, _pointer(origin))
            if found is _MISSING:
                raise KustomizationError("kustomize-patch-path-missing", f"there is nothing to {name} at {origin}")
            if name == "move":
                value = _removed(value, _pointer(origin), origin)
            return _put(value, path, found, operation["path"])
        case other:
            raise KustomizationError("kustomize-patch-wrong", f"a JSON patch has no operation {str(other)[:40]!r}")


def _operand(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise KustomizationError("kustomize-patch-wrong", f"the operation at {operation['path']} has no value")
    return operation["value"]


def _pointer(text: str) -> tuple[str, ...]:
    if text and not text.startswith("/"):
        raise KustomizationError("kustomize-patch-wrong", f"the path {text[:80]!r} must start with a slash")
    return parts(text)


def parts(pointer: str) -> tuple[str, ...]:
    """The names on the way that a JSON pointer (RFC 6901) describes."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _index(part: str, length: int) -> int:
    """A position in a list; negative ones count from its end."""
    try:
        number = int(part)
    except ValueError:
        raise KustomizationError("kustomize-patch-path-missing", f"{part[:40]!r} is not a position in a list") from None
    return number + length if number < 0 else number


def _get(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part, _MISSING)
        elif isinstance(value, list):
            at = _index(part, len(value))
            value = value[at] if 0 <= at < len(value) else _MISSING
        else:
            return _MISSING
        if value is _MISSING:
            return _MISSING
    return value


def _edited(value: Any, path: Sequence[str], edit: Callable[[Any], Any], text: str) -> Any:
    """A value with what stands at a path edited, which must be there."""
    if not path:
        return edit(value)
    if isinstance(value, dict) and path[0] in value:
        return {**value, path[0]: _edited(value[path[0]], path[1:], edit, text)}
    if isinstance(value, list):
        at = _index(path[0], len(value))
        if 0 <= at < len(value):
            return [*value[:at], _edited(value[at], path[1:], edit, text), *value[at + 1 :]]
    raise KustomizationError("kustomize-patch-path-missing", f"there is nothing that leads to {text}")


def _put(value: Any, path: Sequence[str], new: Any, text: str) -> Any:
    if not path:
        return new
    last = path[-1]

    def edit(parent: Any) -> Any:
        if isinstance(parent, dict):
            return {**parent, last: new}
        if isinstance(parent, list):
            at = len(parent) if last == "-" else _index(last, len(parent) + 1)
            if 0 <= at <= len(parent):
                return [*parent[:at], new, *parent[at:]]
        raise KustomizationError("kustomize-patch-path-missing", f"nothing can be added at {text}")

    return _edited(value, path[:-1], edit, text)


def _removed(value: Any, path: Sequence[str], text: str) -> Any:
    if not path:
        raise KustomizationError("kustomize-patch-wrong", "the whole object cannot be removed by a JSON patch")
    last = path[-1]

    def edit(parent: Any) -> Any:
        if isinstance(parent, dict) and last in parent:
            return {name: each for name, each in parent.items() if name != last}
        if isinstance(parent, list):
            at = _index(last, len(parent))
            if 0 <= at < len(parent):
                return [*parent[:at], *parent[at + 1 :]]
        raise KustomizationError("kustomize-patch-path-missing", f"there is nothing to remove at {text}")

    return _edited(value, path[:-1], edit, text)
