"""One thing in a file, ready to be compared with what it was."""

import dataclasses
import functools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.repo.changes import compare_fields, file_documents
from firstlight.repo.changes.compare_fields import ABSENT, PLAIN, FieldManner, Way
from firstlight.repo.secrecy import secret_fields
from firstlight.repo.talos import document_kinds

ENCRYPTED = "it is encrypted: the same value looks like another one after each encryption"
ANEW = "only what sops notes of the encryption differs: no value was changed"
_MANY = 2_000
"""Leaves of something that comes or goes, from which on they all have its own place."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """An object, a machine config, the values of a chart, or another document."""

    matter: Matter
    value: Any = dataclasses.field(repr=False)
    """With the texts in it that are documents themselves replaced by what they say."""
    path: str
    title: str
    kind: str = ""
    object: ObjectId | None = None
    place: Place
    document: YamlDocument | None = dataclasses.field(default=None, repr=False)
    steps: Way = ()
    """The way to it in the document, for the items of a List."""
    ways: Mapping[tuple[str, ...], int] = dataclasses.field(default_factory=dict, repr=False)
    """For operations of a patch the number of each, by the way to what it changes."""
    manner: FieldManner = dataclasses.field(default=PLAIN, repr=False)
    identity: tuple[Any, ...] = ()
    """What tells it from the other pieces of its file, and finds it in another."""
    is_patch: bool = False
    """Whether it says what becomes of an object that is written elsewhere."""
    is_encrypted: bool = False

    def locate(self, way: Way) -> Place:
        """Where a value of it is written."""
        if self.document is None:
            return self.place
        for end in range(len(way), 0, -1) if self.ways else ():
            number = self.ways.get(tuple(str(each) for each in way[:end]))
            if number is not None:
                return self.document.place(number)
        return self.document.place(*self.steps, *way)


def compare_pieces(before: Piece | None, after: Piece | None, *, level: Level = Level.SOURCE) -> Change | None:
    """What became of something; None if it is the same."""
    shown = after or before
    assert shown is not None
    fields = _fields(before, after)
    old_path = before.path if before and after and before.path != after.path else ""
    is_bare = not fields and (before is None or after is None)
    doubt = ENCRYPTED if shown.is_encrypted and (is_bare or any(each.is_secret for each in fields)) else ""
    if before and after:
        if not fields and not old_path:
            return _anew(before, after, level)
        verb = ChangeVerb.CHANGED if fields else ChangeVerb.MOVED
    else:
        verb = ChangeVerb.CHANGED if shown.is_patch else ChangeVerb.ADDED if after else ChangeVerb.REMOVED
    return Change(
        matter=shown.matter,
        verb=verb,
        place=shown.place,
        title=shown.title,
        old_path=old_path,
        object=shown.object,
        kind=shown.kind,
        fields=fields,
        level=level,
        before=_whole(before),
        after=_whole(after),
        doubt=doubt,
    )


def _anew(before: Piece, after: Piece, level: Level) -> Change | None:
    """That a document was encrypted again and nothing else."""
    if not after.is_encrypted or compare_fields.encoded(before.value) == compare_fields.encoded(after.value):
        return None
    if not compare_fields.fields(before.value, after.value):
        return None
    return Change(
        matter=after.matter, verb=ChangeVerb.CHANGED, place=after.place, title=after.title, object=after.object,
        kind=after.kind, level=level, doubt=ANEW,
    )  # fmt: skip


def _fields(before: Piece | None, after: Piece | None) -> tuple[ChangedField, ...]:
    manner = _joined(before, after)
    old = before.locate if before else compare_fields.nowhere
    new = after.locate if after else compare_fields.nowhere
    if before is None or after is None:
        shown = before or after
        assert shown is not None
        place = shown.place
        if _size(shown.value, _MANY) >= _MANY:
            old = new = lambda way: place
    found = compare_fields.fields(
        before.value if before else ABSENT, after.value if after else ABSENT, old=old, new=new, manner=manner
    )
    shown = after or before
    assert shown is not None
    if shown.is_patch and (before is None or after is None):
        found = tuple(each for each in found if not is_name(each.steps))
    if shown.is_encrypted:
        found = tuple(each for each in found if not secret_fields.is_note(each.steps))
    return found


def _joined(before: Piece | None, after: Piece | None) -> FieldManner:
    """What is to be known of the fields of both: what was secret stays secret."""
    shown = after or before
    assert shown is not None
    if before is None or after is None:
        return shown.manner
    was, will = before.manner.is_secret, after.manner.is_secret
    return dataclasses.replace(after.manner, is_secret=lambda steps, value: was(steps, value) or will(steps, value))


def is_name(steps: tuple[str, ...]) -> bool:
    """Whether a field only says which object it is of."""
    return steps in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


def _whole(piece: Piece | None) -> Mapping[str, Any] | None:
    if piece is None or piece.is_encrypted or not isinstance(piece.value, Mapping):
        return None
    if piece.object is not None and piece.object.is_secret:
        return None
    found = secret_fields.without(piece.value, piece.manner.is_secret)
    return found if isinstance(found, Mapping) else None


def _size(value: Any, limit: int) -> int:
    """Leaves of a value, counted up to a limit."""
    count, waiting = 0, [value]
    while waiting and count < limit:
        each = waiting.pop()
        if isinstance(each, Mapping) and each:
            waiting += each.values()
        elif isinstance(each, list) and each:
            waiting += each
        else:
            count += 1
    return count


# Which piece of a repo became which: the same in its file, then the same elsewhere, then much the same elsewhere.


Pair = tuple[Piece | None, Piece | None]

_ALIKE = 0.5
"""Share of common leaves from which on a file that went and one that came are one that was moved."""
_COMPARED = 200
"""Pieces that are held against each other, each with each."""
_LEAVES = 5_000


def paired_pieces(before: Sequence[Piece], after: Sequence[Piece]) -> Iterator[Pair]:
    """Pieces of a repo as it was with those of it as it is."""
    left, right = list(before), list(after)
    for key, fits in (
        (_unnamed, _always),
        (lambda each: (each.path, each.identity), _always),
        (_without_namespace, _is_one_without),
        (lambda each: (each.identity, posixpath.basename(each.path), compare_fields.encoded(each.value)), _always),
        (lambda each: (each.identity, compare_fields.encoded(each.value)), _always),
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
    return piece.path, piece.matter, piece.kind, compare_fields.encoded(piece.value)


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


# Objects of two states compared, as an engine would apply them.


def compare_objects(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> tuple[Change, ...]:
    """What became of rendered objects; those of the same group, kind, namespace and name are the same."""
    pairs = paired_pieces([_piece(each) for each in before], [_piece(each) for each in after])
    made = [found for one, other in pairs if (found := compare_pieces(one, other, level=Level.RENDERED))]
    return tuple(sorted(made, key=lambda each: (each.title, each.verb)))


def _piece(value: Mapping[str, Any]) -> Piece:
    found = ObjectId.of(value)
    texts, values = file_documents.of_object(value)
    inner = file_documents.expanded(value, texts)
    return Piece(
        matter=Matter.OBJECT,
        value=inner,
        path="",
        title=str(found),
        kind=found.kind,
        object=found,
        place=Place(""),
        manner=FieldManner(
            values=functools.partial(file_documents.values_at, values),
            is_secret=secret_fields.of_document(inner),
            is_whole=file_documents.is_schema,
        ),
        identity=same_object(found),
        is_encrypted=document_kinds.is_encrypted(value),
    )
