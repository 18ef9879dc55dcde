"""Objects of two states compared, wherever they come from: files, or what an engine would apply."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.change import Change, Level, Matter
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.repo.changing import embedded, pairing, piece, secrecy
from firstlight.repo.changing.comparing import Manner
from firstlight.repo.changing.piece import Piece
from firstlight.repo.talos import kinds


def compared(
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    *,
    level: Level = Level.RENDERED,
    place: Place | None = None,
    cluster: str = "",
    component: str = "",
) -> tuple[Change, ...]:
    """What became of objects; those of the same group, kind, namespace and name are the same.

    Args:
        before: The objects as they were.
        after: The objects as they are.
        level: Where they were seen.
        place: What brings them.
        cluster: The cluster that they are for.
        component: What they were rendered of.
    """
    at = place or Place("")
    pairs = pairing.paired([_piece(each, at) for each in before], [_piece(each, at) for each in after])
    made = [found for one, other in pairs if (found := piece.compared(one, other, level=level))]
    named = [_of(each, cluster, component) for each in made]
    return tuple(sorted(named, key=lambda each: (each.title, each.verb)))


def _of(change: Change, cluster: str, component: str) -> Change:
    return dataclasses.replace(change, cluster=cluster, component=component)


def _piece(value: Mapping[str, Any], place: Place) -> Piece:
    found = ObjectId.of(value)
    texts, values = embedded.of_object(value)
    return Piece(
        matter=Matter.OBJECT,
        value=embedded.expanded(value, texts),
        path=place.path,
        title=embedded.title(found),
        kind=found.kind,
        object=found,
        place=place,
        manner=Manner(
            values=functools.partial(embedded.values_at, values),
            is_secret=secrecy.of_document(value),
            is_whole=embedded.is_schema,
        ),
        identity=pairing.same_object(found),
        is_encrypted=kinds.is_encrypted(value),
    )
