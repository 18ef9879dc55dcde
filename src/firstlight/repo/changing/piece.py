"""One thing in a file, ready to be compared with what it was."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.change import Change, Field, Level, Matter, Verb
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.repo.changing import comparing, lists, secrecy
from firstlight.repo.changing.comparing import ABSENT, PLAIN, Manner, Way

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
    document: Document | None = dataclasses.field(default=None, repr=False)
    steps: Way = ()
    """The way to it in the document, for the items of a List."""
    ways: Mapping[tuple[str, ...], int] = dataclasses.field(default_factory=dict, repr=False)
    """For operations of a patch the number of each, by the way to what it changes."""
    manner: Manner = dataclasses.field(default=PLAIN, repr=False)
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


def compared(before: Piece | None, after: Piece | None, *, level: Level = Level.SOURCE) -> Change | None:
    """What became of something; None if it is the same."""
    shown = after or before
    assert shown is not None
    fields = _fields(before, after)
    old_path = before.path if before and after and before.path != after.path else ""
    doubt = ENCRYPTED if shown.is_encrypted and any(each.is_secret for each in fields) else ""
    if before and after:
        if not fields and not old_path:
            return _anew(before, after, level)
        verb = Verb.CHANGED if fields else Verb.MOVED
    else:
        verb = Verb.CHANGED if shown.is_patch else Verb.ADDED if after else Verb.REMOVED
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
    if not after.is_encrypted or lists.encoded(before.value) == lists.encoded(after.value):
        return None
    if not comparing.fields(before.value, after.value):
        return None
    return Change(
        matter=after.matter, verb=Verb.CHANGED, place=after.place, title=after.title, object=after.object,
        kind=after.kind, level=level, doubt=ANEW,
    )  # fmt: skip


def _fields(before: Piece | None, after: Piece | None) -> tuple[Field, ...]:
    manner = _joined(before, after)
    old = before.locate if before else comparing.nowhere
    new = after.locate if after else comparing.nowhere
    if before is None or after is None:
        shown = before or after
        assert shown is not None
        place = shown.place
        if _size(shown.value, _MANY) >= _MANY:
            old = new = lambda way: place
    found = comparing.fields(
        before.value if before else ABSENT, after.value if after else ABSENT, old=old, new=new, manner=manner
    )
    shown = after or before
    assert shown is not None
    if shown.is_patch and (before is None or after is None):
        found = tuple(each for each in found if not is_name(each.steps))
    if shown.is_encrypted:
        found = tuple(each for each in found if not secrecy.is_note(each.steps))
    return found


def _joined(before: Piece | None, after: Piece | None) -> Manner:
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
    found = secrecy.without(piece.value, piece.manner.is_secret)
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
