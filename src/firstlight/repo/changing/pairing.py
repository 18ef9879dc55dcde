"""Which piece of a repo became which: the same in its file, then the same elsewhere, then much the same elsewhere."""

import dataclasses
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.change import Matter
from firstlight.model.component import ObjectId
from firstlight.repo.changing import lists
from firstlight.repo.changing.piece import Piece

Pair = tuple[Piece | None, Piece | None]

_ALIKE = 0.5
"""Share of common leaves from which on a file that went and one that came are one that was moved."""
_COMPARED = 200
"""Pieces that are held against each other, each with each."""
_LEAVES = 5_000


def paired(before: Sequence[Piece], after: Sequence[Piece]) -> Iterator[Pair]:
    """Pieces of a repo as it was with those of it as it is."""
    left, right = list(before), list(after)
    for key, fits in (
        (_unnamed, _always),
        (lambda each: (each.path, each.identity), _always),
        (_without_namespace, _is_one_without),
        (lambda each: (each.identity, posixpath.basename(each.path), lists.encoded(each.value)), _always),
        (lambda each: (each.identity, lists.encoded(each.value)), _always),
        (lambda each: (each.identity, posixpath.basename(each.path)) if _has_name(each) else None, _always),
        (lambda each: each.identity if _has_name(each) else None, _always),
    ):
        pairs, left, right = _by(left, right, key, fits)
        yield from pairs
    pairs, left, right = _alike(left, right)
    yield from pairs
    yield from ((each, None) for each in left)
    yield from ((None, each) for each in right)


def _by(
    left: Sequence[Piece],
    right: Sequence[Piece],
    key: Callable[[Piece], tuple[Any, ...] | None],
    fits: Callable[[Piece, Piece], bool],
) -> tuple[list[Pair], list[Piece], list[Piece]]:
    """Pairs of pieces with the same key, and what is left over on either side."""
    waiting: dict[tuple[Any, ...], list[Piece]] = {}
    for each in right:
        if (found := key(each)) is not None:
            waiting.setdefault(found, []).append(each)
    pairs: list[Pair] = []
    rest = []
    for each in left:
        found = key(each)
        candidates = waiting.get(found, []) if found is not None else []
        at = next((number for number, other in enumerate(candidates) if fits(each, other)), None)
        if at is None:
            rest.append(each)
        else:
            pairs.append((each, candidates.pop(at)))
    taken = {id(other) for _, other in pairs}
    return pairs, rest, [each for each in right if id(each) not in taken]


def _always(old: Piece, new: Piece) -> bool:
    return True


def _unnamed(piece: Piece) -> tuple[Any, ...] | None:
    """What finds a document without a name among others of its file; the parts of a helmfile count by their order."""
    if piece.object is not None or piece.matter is Matter.RELEASE:
        return None
    return piece.path, piece.matter, piece.kind, lists.encoded(piece.value)


def _has_name(piece: Piece) -> bool:
    """Whether it is found anywhere by its name alone."""
    return piece.object is not None and not piece.is_patch


def _without_namespace(piece: Piece) -> tuple[Any, ...] | None:
    if piece.object is None:
        return None
    return piece.path, dataclasses.replace(piece.object, namespace=""), piece.is_patch


def _is_one_without(old: Piece, new: Piece) -> bool:
    """Whether an object only now says in which namespace it is, or does no longer: often a kustomization says so."""
    return not (old.object and old.object.namespace and new.object and new.object.namespace)


def _alike(left: Sequence[Piece], right: Sequence[Piece]) -> tuple[list[Pair], list[Piece], list[Piece]]:
    """Files that were renamed and changed a little; objects have names, and are never taken for one another."""
    olds = [each for each in left if not _has_name(each)][:_COMPARED]
    news = [each for each in right if not _has_name(each)][:_COMPARED]
    scored = sorted(
        (
            (score, at, to)
            for at, old in enumerate(olds)
            for to, new in enumerate(news)
            if (old.matter, old.kind, old.object) == (new.matter, new.kind, new.object)
            and (score := _likeness(old, new)) >= _ALIKE
        ),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    pairs: list[Pair] = []
    used: set[int] = set()
    for _, at, to in scored:
        old, new = olds[at], news[to]
        if id(old) not in used and id(new) not in used:
            used |= {id(old), id(new)}
            pairs.append((old, new))
    return pairs, [each for each in left if id(each) not in used], [each for each in right if id(each) not in used]


def _likeness(old: Piece, new: Piece) -> float:
    one, other = set(_leaves(old.value)), set(_leaves(new.value))
    return len(one & other) / max(len(one | other), 1)


def _leaves(value: Any) -> Iterable[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting and len(found) < _LEAVES:
        way, each = waiting.pop()
        if isinstance(each, Mapping) and each:
            waiting += (((*way, key), inner) for key, inner in each.items())
        elif isinstance(each, list) and each:
            waiting += (((*way, "[]"), inner) for inner in each)
        else:
            found.append((*way, str(each)))
    return found


def same_object(found: ObjectId) -> tuple[Any, ...]:
    """What finds an object again, whatever the version of its API."""
    return ("object", found.group, found.kind, found.namespace, found.name)
