"""Two values of a document, compared: the fields that differ."""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.model.place import Place
from firstlight.repo.changes import list_keys

Steps = tuple[str, ...]
Way = tuple[str | int, ...]
"""The way to a value in its own document, items of lists by number."""
Locate = Callable[[Way], Place]

_PAIRS = 1_000_000
"""Items times items that are aligned; lists beyond that are compared number by number."""


class AbsentField:
    """What a value is that is not there; null is something else."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = AbsentField()


@dataclasses.dataclass(frozen=True, slots=True)
class FieldManner:
    """What else is to be known of a document's fields."""

    values: Callable[[Steps], Steps | None] = lambda steps: None
    """The way inside the values of a chart, for a field that is one of them."""
    is_secret: Callable[[Steps, Any], bool] = lambda steps, value: False
    is_clear: Callable[[Steps, Any], bool] = lambda steps, value: False
    """Whether a value is a secret that anybody can read."""
    shown: Callable[[Steps], Steps] = lambda steps: steps
    """The way as rules know it."""
    refined: Callable[["DocumentDifference"], "Iterable[DocumentDifference]"] = lambda found: (found,)
    """What differs inside of a value that is one to YAML only, such as a command."""
    is_whole: Callable[[Steps], bool] = lambda steps: False
    """Whether something that comes or goes is one leaf, though there is more in it."""


PLAIN = FieldManner()


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentDifference:
    """One value that differs."""

    steps: Steps
    verb: ChangeVerb
    before: Any
    after: Any
    old: Way
    new: Way
    line: int = 0
    """Of a text with several lines, the one that it is on, from 1."""


def nowhere(way: Way) -> Place:
    """For values that stand in no file."""
    return Place("")


def fields(
    before: Any,
    after: Any,
    *,
    old: Locate = nowhere,
    new: Locate = nowhere,
    manner: FieldManner = PLAIN,
) -> tuple[ChangedField, ...]:
    """What differs; items of lists are told apart by their names where they have some.

    Args:
        before: The value as it was; ``ABSENT`` where there was none.
        after: The value as it is.
        old: Where a value of the first stands.
        new: Where a value of the second stands.
        manner: What else is to be known of its fields.
    """
    walk = _Walk(manner)
    return tuple(
        _field(each, old, new, manner)
        for found in walk.compare(before, after, (), (), (), None)
        for each in manner.refined(found)
    )


def _field(found: DocumentDifference, old: Locate, new: Locate, manner: FieldManner) -> ChangedField:
    is_secret = any(manner.is_secret(found.steps, each) for each in (found.before, found.after) if each is not ABSENT)
    return ChangedField(
        steps=manner.shown(found.steps),
        verb=found.verb,
        place=_below(old(found.old) if found.verb is ChangeVerb.REMOVED else new(found.new), found.line),
        before=None if is_secret or found.before is ABSENT else found.before,
        after=None if is_secret or found.after is ABSENT else found.after,
        values=manner.values(found.steps),
        is_secret=is_secret,
        is_clear=found.after is not ABSENT and manner.is_clear(found.steps, found.after),
    )


def _below(place: Place, line: int) -> Place:
    """A line of a text, which begins on the line after its key."""
    return Place(place.path, place.line + line) if line and place.line else place


class _Walk:
    def __init__(self, manner: FieldManner) -> None:
        self._manner = manner

    def compare(
        self, before: Any, after: Any, steps: Steps, old: Way, new: Way, parent: Any
    ) -> Iterator[DocumentDifference]:
        if before is after:
            return
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self._mappings(before, after, steps, old, new)
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._lists(before, after, steps, old, new, parent)
        elif _has_parts(before) or _has_parts(after) or before is ABSENT or after is ABSENT:
            if before is not ABSENT:
                yield from self._leaves(before, steps, old, ChangeVerb.REMOVED)
            if after is not ABSENT:
                yield from self._leaves(after, steps, new, ChangeVerb.ADDED)
        elif list_keys.encoded(before) != list_keys.encoded(after):
            yield DocumentDifference(steps, ChangeVerb.CHANGED, before, after, old, new)

    def _mappings(
        self, before: Mapping[str, Any], after: Mapping[str, Any], steps: Steps, old: Way, new: Way
    ) -> Iterator[DocumentDifference]:
        for key in (*before, *(each for each in after if each not in before)):
            one, other = before.get(key, ABSENT), after.get(key, ABSENT)
            yield from self.compare(one, other, (*steps, str(key)), (*old, key), (*new, key), after)

    def _lists(
        self, before: list[Any], after: list[Any], steps: Steps, old: Way, new: Way, parent: Any
    ) -> Iterator[DocumentDifference]:
        name = next((each for each in reversed(steps) if not each.startswith("[")), "")
        keys = list_keys.keys_of(before, after)
        if keys:
            yield from self._named(before, after, steps, old, new, keys, name)
        elif list_keys.is_set(name, parent) and all(map(list_keys.is_plain, (*before, *after))):
            gone, came = list_keys.multiset(before, after)
            for at in gone:
                yield DocumentDifference((*steps, f"[{at}]"), ChangeVerb.REMOVED, before[at], ABSENT, (*old, at), new)
            for at in came:
                yield DocumentDifference((*steps, f"[{at}]"), ChangeVerb.ADDED, ABSENT, after[at], old, (*new, at))
        else:
            for one, other in _aligned(before, after):
                first = ABSENT if one is None else before[one]
                second = ABSENT if other is None else after[other]
                number = one if other is None else other
                yield from self.compare(
                    first, second, (*steps, f"[{number}]"), (*old, one or 0), (*new, other or 0), None
                )

    def _named(
        self, before: list[Any], after: list[Any], steps: Steps, old: Way, new: Way, keys: list_keys.Keys, name: str
    ) -> Iterator[DocumentDifference]:
        was = {list_keys.label(each, keys): at for at, each in enumerate(before)}
        will = {list_keys.label(each, keys): at for at, each in enumerate(after)}
        for label in (*was, *(each for each in will if each not in was)):
            one, other = was.get(label), will.get(label)
            yield from self.compare(
                ABSENT if one is None else before[one],
                ABSENT if other is None else after[other],
                (*steps, label),
                (*old, one or 0),
                (*new, other or 0),
                None,
            )
        first, second = [each for each in was if each in will], [each for each in will if each in was]
        if first != second and (list_keys.is_ordered(name, before) or list_keys.is_ordered(name, after)):
            yield DocumentDifference(steps, ChangeVerb.CHANGED, _bare(was), _bare(will), old, new)

    def _leaves(self, value: Any, steps: Steps, way: Way, verb: ChangeVerb) -> Iterator[DocumentDifference]:
        """Every value in a value that comes or goes."""
        if not _has_parts(value) or self._manner.is_whole(steps):
            is_added = verb is ChangeVerb.ADDED
            yield DocumentDifference(
                steps, verb, ABSENT if is_added else value, value if is_added else ABSENT, way, way
            )
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield from self._leaves(each, (*steps, str(key)), (*way, key), verb)
        else:
            keys = list_keys.keys_of(value)
            for at, each in enumerate(value):
                label = list_keys.label(each, keys) if keys else f"[{at}]"
                yield from self._leaves(each, (*steps, label), (*way, at), verb)


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _bare(labels: Mapping[str, int]) -> list[str]:
    """The order of items, by what tells them apart."""
    return [each[1:-1] for each in labels]


def _aligned(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int | None, int | None]]:
    """Which item of a list became which, so that one that is put in is not a change of all that follow."""
    first, second = [list_keys.encoded(each) for each in before], [list_keys.encoded(each) for each in after]
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    one, other = first[start : len(first) - end], second[start : len(second) - end]
    if len(one) * len(other) > _PAIRS:
        yield from _paired(start, start + len(one), start, start + len(other))
        return
    for tag, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from _paired(start + i, start + j, start + k, start + m)


def _paired(i: int, j: int, k: int, m: int) -> Iterator[tuple[int | None, int | None]]:
    for at in range(max(j - i, m - k)):
        yield (i + at if i + at < j else None), (k + at if k + at < m else None)
