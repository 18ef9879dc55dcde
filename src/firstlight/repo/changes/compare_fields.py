"""Two values of a document, compared: the fields that differ.

Items of lists are told apart by their keys, and their order counts only where it means something.
"""

import collections
import dataclasses
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.model.place import Place
from firstlight.repo.secrecy import secret_text

Keys = tuple[str, ...]

_SHORT = 10
"""Characters of a text in which no token or address with a password can be."""

_COMBINATIONS: tuple[Keys, ...] = (
    ("name",), ("namespace", "name"), ("kind", "name"), ("kind", "namespace", "name"), ("group", "kind", "name"),
    ("containerPort",), ("containerPort", "protocol"), ("port",), ("port", "protocol"), ("mountPath",),
    ("mountPath", "subPath"), ("devicePath",), ("ip",), ("topologyKey",), ("topologyKey", "whenUnsatisfiable"),
    ("secretKey",), ("recipient",), ("fp",), ("arn",), ("hostname",), ("interface",), ("network",), ("device",),
    ("destination",), ("host",), ("path",), ("repoURL", "chart"), ("repoURL", "path"), ("repo",), ("ref",), ("alert",),
    ("record",), ("uid",), ("id",), ("key",), ("idName",), ("cidr",), ("address",),
)  # fmt: skip
"""What tells items apart, the surest first; of several keys any but the first may be missing."""

_ORDERED = frozenset({
    "initContainers", "patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers", "generators",
    "validators", "replacements", "valuesFrom", "substituteFrom", "valueFiles", "values", "valuesTemplate", "secrets",
    "cmds", "steps", "middlewares", "filters", "http", "plugins", "bases", "environments", "hooks", "postRenderers",
    "configPatches", "additionalValuesFiles", "envFrom", "route", "routes", "receivers", "pipeline",
    "sources", "keys", "providers",
})  # fmt: skip
"""Lists in which a later item wins over, or comes after, an earlier one, though each has a name."""

_SETS = frozenset({
    "resources", "crds", "finalizers", "accessModes", "verbs", "apiGroups", "resourceNames", "nonResourceURLs", "hosts",
    "hostnames", "dnsNames", "ipAddresses", "uris", "usages", "add", "drop", "certSANs", "namespaces", "policyTypes",
    "officialExtensions", "needs", "shortNames", "categories", "required", "enum", "mountOptions",
    "dependsOn", "sourceRepos", "sourceNamespaces", "podCIDRs", "loadBalancerSourceRanges", "externalIPs", "topics",
    "additionalApiServerCertSans", "additionalMachineCertSans", "bandwidths", "machines",
})  # fmt: skip
"""Lists of plain values of which only the members count. All engines sort the resources of a kustomization anew."""


def encoded(value: Any) -> bytes:
    """A value as bytes that are the same for the same value, whatever the order of keys; ``true`` is not ``1``."""
    try:
        return msgspec.json.encode(value, order="sorted", enc_hook=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(value).encode(errors="backslashreplace")


def is_plain(value: Any) -> bool:
    """Whether it is neither a mapping nor a list."""
    return not isinstance(value, Mapping | list)


def keys_of(*lists: Sequence[Any]) -> Keys | None:
    """The keys that tell the items of every list apart; None where none do."""
    items = [item for each in lists for item in each]
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    for keys in _COMBINATIONS:
        if all(_identifies(item, keys) for item in items) and all(_is_unique(each, keys) for each in lists):
            return keys
    return None


def _identifies(item: Mapping[str, Any], keys: Keys) -> bool:
    first = item.get(keys[0])
    if isinstance(first, bool) or not isinstance(first, str | int) or first == "":
        return False
    return all(isinstance(item.get(key), str | int | None) for key in keys[1:])


def _is_unique(items: Sequence[Mapping[str, Any]], keys: Keys) -> bool:
    return len({item_label(item, keys) for item in items}) == len(items)


def item_label(item: Mapping[str, Any], keys: Keys) -> str:
    """An item of a list as a step: ``[name=web]``."""
    return "[" + ",".join(f"{key}={_told(item[key])}" for key in keys if item.get(key) is not None) + "]"


def _told(value: Any) -> str:
    """What tells an item apart, without a password or a token that is part of it."""
    shown = str(value)
    return secret_text.masked(shown) if len(shown) > _SHORT else shown


def is_ordered(name: str, items: Sequence[Any]) -> bool:
    """Whether the order of items means something that have names.

    Args:
        name: The key that the list stands under.
        items: What is in it.
    """
    if name == "env":  # a variable sees only those above it
        return any(isinstance(item, Mapping) and "$(" in str(item.get("value", "")) for item in items)
    if name == "rules":  # those of Kyverno have names, and are tried in this order
        return any(isinstance(item, Mapping) and "name" in item for item in items)
    return name in _ORDERED


def is_set(name: str, parent: Any) -> bool:
    """Whether only the members of a list of plain values count.

    Args:
        name: The key that the list stands under.
        parent: The mapping that has the key.
    """
    if name == "values":
        return isinstance(parent, Mapping) and "operator" in parent
    return name in _SETS


def multiset(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Indexes of what only one of two lists has, the order aside: of the first, and of the second."""
    return _beyond(before, after), _beyond(after, before)


def _beyond(mine: Sequence[Any], theirs: Sequence[Any]) -> list[int]:
    left = collections.Counter(encoded(each) for each in theirs)
    found = []
    for number, each in enumerate(mine):
        code = encoded(each)
        if left[code] > 0:
            left[code] -= 1
        else:
            found.append(number)
    return found


# The comparison itself.


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
        elif encoded(before) != encoded(after):
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
        keys = keys_of(before, after)
        if keys:
            yield from self._named(before, after, steps, old, new, keys, name)
        elif is_set(name, parent) and all(map(is_plain, (*before, *after))):
            gone, came = multiset(before, after)
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
        self, before: list[Any], after: list[Any], steps: Steps, old: Way, new: Way, keys: Keys, name: str
    ) -> Iterator[DocumentDifference]:
        was = {item_label(each, keys): at for at, each in enumerate(before)}
        will = {item_label(each, keys): at for at, each in enumerate(after)}
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
        if first != second and (is_ordered(name, before) or is_ordered(name, after)):
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
            keys = keys_of(value)
            for at, each in enumerate(value):
                label = item_label(each, keys) if keys else f"[{at}]"
                yield from self._leaves(each, (*steps, label), (*way, at), verb)


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _bare(labels: Mapping[str, int]) -> list[str]:
    """The order of items, by what tells them apart."""
    return [each[1:-1] for each in labels]


def _aligned(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int | None, int | None]]:
    """Which item of a list became which, so that one that is put in is not a change of all that follow."""
    first, second = [encoded(each) for each in before], [encoded(each) for each in after]
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
