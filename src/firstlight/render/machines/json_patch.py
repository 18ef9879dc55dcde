"""JSON patches rewritten as strategic merge patches, which alone fit configs of several documents.

Only where both mean the same: a value at a key, an entry at the end of a list, a key that goes. The rest is refused.
"""

from collections.abc import Sequence
from typing import Any

HINT = "Write it as a strategic merge patch: the keys as they stand in a machine config."


def converted(operations: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
    """The patch, and what cannot be said in it."""
    result: dict[str, Any] = {}
    problems: list[str] = []
    for operation in operations:
        problem = _add(result, operation)
        if problem:
            problems.append(problem)
    return result, problems


def _add(result: dict[str, Any], operation: Any) -> str:
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        return "this is no operation of a JSON patch"
    op, path, value = str(operation.get("op")), operation["path"], operation.get("value")
    steps = [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")[1:]]
    *inner, last = steps or [""]
    if op not in {"add", "replace", "remove"} or not steps:
        return f"the JSON patch operation {op} {path} has no counterpart in a strategic merge patch"
    if any(each == "-" or each.isdecimal() for each in inner) or last.isdecimal():
        return f"{op} {path} means an entry of a list by its number, which a strategic merge patch cannot"
    if op == "remove":
        return _put(result, inner, last, {"$patch": "delete"}, path)
    if last == "-":
        return _append(result, inner, value, path) if op == "add" else f"replace {path} means no entry of the list"
    if op == "replace" and isinstance(value, (dict, list)):
        return f"replace {path} with a list or a mapping: a strategic merge patch adds to what is there"
    return _put(result, inner, last, value, path)


def _put(result: dict[str, Any], inner: Sequence[str], last: str, value: Any, path: str) -> str:
    parent = _reach(result, inner)
    if parent is None or isinstance(parent.get(last), (dict, list)):
        return f"{path} is said twice, and the second does not fit the first"
    parent[last] = value
    return ""


def _append(result: dict[str, Any], inner: Sequence[str], value: Any, path: str) -> str:
    *before, name = inner or [""]
    parent = _reach(result, before)
    listed = parent.setdefault(name, []) if parent is not None else None
    if not isinstance(listed, list):
        return f"{path} is said twice, and the second does not fit the first"
    listed.append(value)
    return ""


def _reach(result: dict[str, Any], steps: Sequence[str]) -> dict[str, Any] | None:
    here = result
    for step in steps:
        child = here.setdefault(step, {})
        if not isinstance(child, dict):
            return None
        here = child
    return here
