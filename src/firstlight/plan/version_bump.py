"""What becomes of a version: of a chart, of an image, of Talos, in a range or in the middle of a URL."""

import itertools
import re
from collections.abc import Collection, Iterable
from typing import Any, Literal

Bump = Literal["major", "minor", "patch", "down", "other", "skip"]

_DIGEST = re.compile(r"@?sha\d+:[0-9a-f]+")
_PRE = r"(?:-(?:alpha|beta|rc|pre|dev|next|snapshot)[.\-]?\d*(?:\.\d+)*)"
_VERSION = re.compile(
    rf"(?<![\w.])v?(\d{{1,10}})\.(\d{{1,10}})(?:\.(\d{{1,10}}))?({_PRE})?(?:\+[\w.\-]+)?(?!\.?\d)", re.IGNORECASE
)
_SHORT = re.compile(rf"(^|:)v?(\d{{1,10}})(?=$|-[a-z])({_PRE})?", re.IGNORECASE)
_COMPARATOR = re.compile(
    r"(\^|~>?|>=|<=|>|<|=|!=)?\s*v?(\d{1,10}|[xX*])(?:\.(\d{1,10}|[xX*]))?(?:\.(\d{1,10}|[xX*]))?[\w.+\-]*"
)
_IS_RANGE = re.compile(r"[\^~<>=*|]|\b\d+\.[xX]\b|\s-\s")
_MOST = 1 << 62
_GRAVEST: tuple[Bump, ...] = ("major", "down", "other", "minor", "patch")
_STEPS: tuple[Bump, ...] = ("major", "minor", "patch", "patch")
_MANY = 20
"""Minor versions that are told one by one."""
_LONGEST = 2000
"""Characters of a text that may hold a version."""

_Bounds = tuple[tuple[int, ...], tuple[int, ...]]


def bump(before: Any, after: Any) -> Bump | None:
    """What becomes of a version; None where nothing was there, is there or differs."""
    if before == after or not _is_text(before) or not _is_text(after):
        return None
    old, new = (_DIGEST.sub("", str(each)[:_LONGEST]).strip() for each in (before, after))
    if old == new and old and not _DIGEST.search(str(before)[:_LONGEST]):
        return "patch"  # the same version, and from now on nothing else under its name
    if any("/" not in each and _IS_RANGE.search(each) for each in (old, new)):
        old_bounds, new_bounds = _range(old), _range(new)
        return _between(old_bounds, new_bounds) if old_bounds and new_bounds else "other"
    old_tag, new_tag = _tag(old), _tag(new)
    if old_tag and new_tag and old_tag != new_tag:
        old, new = old_tag, new_tag  # an installer of Talos gets another schematic with another version
    return _in_texts(old, new)


def is_any(before: Any, after: Any, wanted: Collection[Bump]) -> bool:
    """Whether a version becomes another in one of these ways."""
    return bump(before, after) in wanted or ("skip" in wanted and len(minors(before, after)) > 1)


def minors(before: Any, after: Any) -> tuple[str, ...]:
    """The minor versions from one version up to another, without the first: ``1.35``, ``1.36``."""
    if bump(before, after) != "minor":
        return ()
    found = [number(each).split(".") for each in (before, after)]
    if any(len(each) < 2 for each in found):
        return ()
    major, old, new = found[0][0], int(found[0][1]), int(found[1][1])
    return tuple(f"{major}.{each}" for each in range(old + 1, min(new, old + _MANY) + 1))


def number(value: Any) -> str:
    """The last version in a text, without its v: ``1.36.2``; empty where there is none, or a range."""
    text = _DIGEST.sub("", str(value)[:_LONGEST]).strip() if _is_text(value) else ""
    found = () if "/" not in text and _IS_RANGE.search(text) else tuple(_VERSION.finditer(_tag(text) or text))
    return found[-1].group().lstrip("vV") if found else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _tag(text: str) -> str:
    """The tag of an image's reference."""
    head, colon, tag = text.rpartition(":")
    return tag if colon and "/" in head and "/" not in tag else ""


def _in_texts(old: str, new: str) -> Bump:
    """Versions where the rest of both texts is the same, or both are a version and little else."""
    found = [_versions(each) for each in (old, new)]
    (old_rest, olds), (new_rest, news) = found
    if not olds or len(olds) != len(news) or old_rest != new_rest:
        return "other"
    return _gravest(_by_number(one, other) for one, other in zip(olds, news, strict=True) if one != other)


def _versions(text: str) -> tuple[str, list[tuple[int, ...]]]:
    """A text without its versions, and those."""
    found: list[tuple[int, ...]] = []

    def noted(match: re.Match[str]) -> str:
        numbers = [int(each or 0) for each in match.groups()[:3]]
        found.append((*numbers, *_before_release(match[4])))
        return "\0"

    rest = _VERSION.sub(noted, text)
    if not found and (short := _SHORT.search(text)):
        found.append((int(short[2]), 0, 0, *_before_release(short[3])))
        rest = text[: short.start(2)].removesuffix("v") + text[short.end() :]
    return rest, found


def _before_release(text: str | None) -> tuple[int, ...]:
    """How far a version is from its release: the release itself is the highest."""
    if not text:
        return (_MOST,)
    word = re.sub(r"[^a-z]", "", text.lower())
    numbers = [int(each) for each in re.findall(r"\d+", text)]
    order = ("snapshot", "dev", "next", "alpha", "beta", "pre", "rc")
    return (order.index(word) if word in order else 0, *numbers)


def _by_number(old: tuple[int, ...], new: tuple[int, ...]) -> Bump:
    """The first number that differs."""
    if new < old:
        return "down"
    for number, (one, other) in enumerate(itertools.zip_longest(old, new, fillvalue=-1)):
        if one != other:
            return _STEPS[min(number, 3)]
    return "other"


def _gravest(bumps: Iterable[Bump]) -> Bump:
    return min(bumps, key=_GRAVEST.index, default="other")


def _range(text: str) -> _Bounds | None:
    """The lowest and the highest version that a range allows; of alternatives the outermost."""
    ways = [_alternative(each) for each in text.split("||")]
    known = [each for each in ways if each]
    if len(known) != len(ways):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _alternative(text: str) -> _Bounds | None:
    dashed = re.fullmatch(r"\s*(\S+)\s+-\s+(\S+)\s*", text)
    text = f">={dashed[1]} <={dashed[2]}" if dashed else text
    low: tuple[int, ...] = (0, 0, 0)
    high: tuple[int, ...] = (_MOST, _MOST, _MOST)
    matches = list(_COMPARATOR.finditer(text))
    if not matches or _COMPARATOR.sub("", text).strip(" ,"):
        return None
    for match in matches:
        least, most = _comparator(match[1] or "", [each for each in match.groups()[1:] if each is not None])
        low, high = max(low, least), min(high, most)
    return low, high


def _comparator(operator: str, written: list[str]) -> _Bounds:
    numbers = [int(each) for each in itertools.takewhile(str.isdigit, written)]
    low = (*numbers, 0, 0, 0)[:3]
    nothing, everything = (0, 0, 0), (_MOST, _MOST, _MOST)
    whole = (*numbers, _MOST, _MOST, _MOST)[:3]
    match operator:
        case "!=":
            return nothing, everything
        case "<":
            return nothing, _below(low)
        case "<=":
            return nothing, whole
        case ">" | ">=":
            return low, everything
        case "^":
            kept = next((place for place, each in enumerate(numbers) if each), len(numbers) - 1) + 1
            return low, (*numbers[:kept], _MOST, _MOST, _MOST)[:3]
        case "~" | "~>":
            return low, (*numbers[:2], _MOST, _MOST, _MOST)[:3]
    return low, whole if len(numbers) < len(written) or len(numbers) < 3 else low


def _below(version: tuple[int, ...]) -> tuple[int, ...]:
    """The highest version below one."""
    major, minor, patch = version
    if patch:
        return major, minor, patch - 1
    if minor:
        return major, minor - 1, _MOST
    return max(major - 1, 0), _MOST, _MOST


def _between(old: _Bounds, new: _Bounds) -> Bump:
    """Ranges differ by the newest that they allow; else by the oldest."""
    return _by_number(old[1], new[1]) if old[1] != new[1] else _by_number(old[0], new[0])


def allows(wanted: str, version: str) -> bool | None:
    """Whether a version, or a range of them, means a version; None where that cannot be told."""
    bounds = _range(_DIGEST.sub("", wanted[:_LONGEST]).strip())
    found = _VERSION.fullmatch(_DIGEST.sub("", version[:_LONGEST]).strip())
    if bounds is None or found is None:
        return None
    numbers = tuple(int(each or 0) for each in found.groups()[:3])
    return bounds[0] <= numbers <= bounds[1]
