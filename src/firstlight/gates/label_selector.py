"""Label selectors: as a watch writes them, and whether labels match."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text

_KEY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?")


def written(selector: Any) -> str:
    """A selector as a watch takes it; empty, which is all, where there is none or it cannot be written."""
    try:
        return ",".join(_written(selector))
    except ValueError:
        return ""


def _written(selector: Any) -> Iterator[str]:
    for key, value in mapping(selector, "matchLabels").items():
        yield f"{_safe(key, _KEY)}={_safe(value, _VALUE)}"
    for each in sequence(selector, "matchExpressions"):
        key = _safe(text(each, "key"), _KEY)
        values = ",".join(_safe(value, _VALUE) for value in sequence(each, "values"))
        match text(each, "operator"):
            case "In":
                yield f"{key} in ({values})"
            case "NotIn":
                yield f"{key} notin ({values})"
            case "Exists":
                yield key
            case "DoesNotExist":
                yield f"!{key}"
            case _:
                raise ValueError


def _safe(word: Any, form: re.Pattern[str]) -> str:
    if not isinstance(word, str) or not form.fullmatch(word):
        raise ValueError
    return word


def matches(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether a selector selects something with these labels; an empty one selects nothing here."""
    wanted, expressions = mapping(selector, "matchLabels"), sequence(selector, "matchExpressions")
    if not wanted and not expressions:
        return False
    return all(labels.get(key) == each for key, each in wanted.items()) and all(
        holds(each, labels) for each in expressions
    )


def holds(expression: Any, labels: Mapping[str, Any]) -> bool:
    """Whether one expression holds, as selectors of labels and of nodes have them."""
    key, values = text(expression, "key"), sequence(expression, "values")
    match text(expression, "operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt":
            return _whole(labels.get(key)) is not None and _compared(labels.get(key), values) > 0
        case "Lt":
            return _whole(labels.get(key)) is not None and _compared(labels.get(key), values) < 0
    return False


def _compared(value: Any, values: Any) -> int:
    mine, other = _whole(value), _whole(values[0] if values else None)
    return 0 if mine is None or other is None else (mine > other) - (mine < other)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value) else None
