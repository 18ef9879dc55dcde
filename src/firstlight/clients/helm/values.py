"""Values for charts: what is given to Helm, and what of it must not come back in a message."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import safe_yaml
from firstlight.model.secret import MASK, Secret

Values = Secret | Mapping[str, Any]
"""YAML that is not shown, or plain data."""

_SENSITIVE = re.compile(r"(?i)key|token|secret|passw|passphrase|auth|credential|dsn|connection|cert")
_SHORTEST = 4
"""Sensitive values that are shorter are parts of too many words."""
_LONG = 8
"""Values from which on everything in a Secret is masked, whatever its name."""
_WORDS = re.compile(r"[^\s\[\]{},:'\"]{8,}")
_HARMLESS = re.compile(r"true|false|null|~|[0-9.]{1,6}|[Ii]f[A-Z]\w+|Always|Never|ClusterIP|NodePort|LoadBalancer")


def as_secret(values: Values) -> Secret:
    """Values as the text of a file.

    Raises:
        errors.UsageError: They have something in them that JSON cannot say.
    """
    if isinstance(values, Secret):
        return values
    try:
        return Secret(json.dumps(dict(values), allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.UsageError(f"the values cannot be written as JSON: {error}") from error


def masked(text: str, given: Iterable[Values]) -> str:
    """A message without the values that were given as secrets."""
    found: set[str] = set()
    for values in given:
        if isinstance(values, Secret):
            try:
                found |= set(_sensitive(safe_yaml.load_all(values.reveal())))
            except ValueError:
                # Helm will refuse it as well, and may quote any line or word of it.
                written = values.reveal().decode(errors="replace")
                found |= {line.strip() for line in written.splitlines()} | set(_WORDS.findall(written))
    for value in sorted(found, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, MASK)
    return text


def _sensitive(root: object) -> Iterator[str]:
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list):
            if id(value) in seen:  # anchors may be used many times, or even contain themselves
                continue
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else ((name, item) for item in value)
            waiting.extend((str(key), item) for key, item in items)
        else:
            text = value if isinstance(value, str) else str(value)
            for line in text.splitlines() or [text]:
                line = line.strip()
                long_enough = _SHORTEST if _SENSITIVE.search(name) else _LONG
                if len(line) >= long_enough and not _HARMLESS.fullmatch(line):
                    yield line
