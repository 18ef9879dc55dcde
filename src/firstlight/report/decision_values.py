"""Values that differ, as people may see them: short, on one line, and rather a name alone than a secret with it."""

import collections
import re
from collections.abc import Mapping, Sized
from typing import Any

from firstlight.model.change import Field
from firstlight.report import safe

LONGEST = 80
"""Characters of a value that are shown."""
_UNCUT = 100_000
_CONTEXT = 10
"""Characters before what differs."""
HIDDEN = "…"
"""What stands for a value of which only the name is told."""
_PAIR = re.compile(r"(?P<name>-{0,2}[A-Za-z_][\w./-]*)=(?P<value>.*)")
_HARMLESS = re.compile(
    r"|true|false|yes|no|on|off|none|null"
    r"|-?\d{1,6}(?:\.\d{1,6})?(?:m|k|K|M|G|T|P|Ki|Mi|Gi|Ti|Pi|%)?"  # numbers and quantities
    r"|(?:\d{1,6}(?:ns|us|ms|s|m|h|d))+"
    r"|v?\d{1,4}(?:\.\d{1,4}){1,3}(?:[-+][a-z]{0,8}[.\d]{0,8})?"  # versions
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?"  # addresses and ranges
    r"|(?=[0-9a-fA-F]*:[0-9a-fA-F]*:)[0-9a-fA-F:]{2,39}(?:/\d{1,3})?"
    r"|(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z]{2,20}(?::\d{1,5})?"  # hosts
    r"|[a-z0-9-]{1,62}(?:\.[a-z0-9-]{1,62})+(?::\d{1,5})?(?:/[a-z0-9._-]{1,60}){1,6}"  # images
    r"(?::v?\d[\w.-]{0,40})?(?:@sha256:[0-9a-f]{64})?"
)


def is_long(value: Any) -> bool:
    """Whether a value is a text of several lines."""
    return isinstance(value, str) and "\n" in value.strip()


def differing(before: Any, after: Any) -> int:
    """How many lines differ between two texts."""
    one, other = (collections.Counter(each.splitlines() if isinstance(each, str) else ()) for each in (before, after))
    return max((one - other).total(), (other - one).total(), 1)


def told(field: Field, value: Any, *, longest: int = LONGEST) -> Any:
    """A value of a field as it may be shown; texts are cut, of many lines only their number is told."""
    if isinstance(value, Mapping):
        return _count(value, "key") if value else {}
    if isinstance(value, list | tuple):
        return [
            _text(each, longest, is_item=True) if isinstance(each, str) else _plain(each) for each in value[:LONGEST]
        ]
    if not isinstance(value, str):
        return value
    steps = field.steps[-1:]
    is_flag = any(each.startswith("-") for each in field.steps)
    if is_flag and not is_harmless(value):
        return HIDDEN
    return _text(value, longest, is_item=any(each.startswith("[") for each in steps))


def both(field: Field, *, longest: int = LONGEST) -> tuple[Any, Any]:
    """What a field was and what it becomes, as they may be shown; where texts are cut, what differs stays in sight."""
    before, after = (told(field, value, longest=_UNCUT) for value in (field.before, field.after))
    if not isinstance(before, str) or not isinstance(after, str):
        return told(field, field.before, longest=longest), told(field, field.after, longest=longest)
    if max(len(before), len(after)) <= longest:
        return before, after
    letters = enumerate(zip(before, after, strict=False))
    same = next((at for at, (one, other) in letters if one != other), min(len(before), len(after)))
    # From the last part that is the same, which names an image or a file; if that is too long, from shortly before.
    named = max(before.rfind("/", 0, same), before.rfind(" ", 0, same)) + 1
    start = next((each for each in (0, named) if same - each < longest - _CONTEXT), same - _CONTEXT)
    return _from(before, start, longest), _from(after, start, longest)


def _from(text: str, start: int, longest: int) -> str:
    shown = f"…{text[start:]}" if start else text
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def is_harmless(value: str) -> bool:
    """Whether a value is plainly no secret: a switch, a number, a version, a host, an image."""
    text = value.strip("\"'")
    if _HARMLESS.fullmatch(text):
        return True
    pairs = [_PAIR.fullmatch(each) for each in text.split(",")]
    return all(each is not None and _HARMLESS.fullmatch(each["value"]) for each in pairs)


def _plain(value: Any) -> Any:
    return _count(value, "item") if isinstance(value, Mapping | list | tuple) else value


def _count(value: Sized, noun: str) -> str:
    return f"{len(value)} {noun}{'' if len(value) == 1 else 's'}"


def _text(value: str, longest: int, *, is_item: bool) -> str:
    if is_long(value):
        return f"{len(value.strip().splitlines())} lines"
    shown = " ".join(safe.text(value).encode("utf-8", "backslashreplace").decode().split())
    pair = _PAIR.fullmatch(shown) if is_item else None
    if pair is not None and not is_harmless(pair["value"]):
        shown = f"{pair['name']}={HIDDEN}"
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
