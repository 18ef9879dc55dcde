"""Objects of two states compared, as an engine would apply them."""

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


def compared(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> tuple[Change, ...]:
    """What became of rendered objects; those of the same group, kind, namespace and name are the same."""
    pairs = pairing.paired([_piece(each) for each in before], [_piece(each) for each in after])
    made = [found for one, other in pairs if (found := piece.compared(one, other, level=Level.RENDERED))]
    return tuple(sorted(made, key=lambda each: (each.title, each.verb)))


def _piece(value: Mapping[str, Any]) -> Piece:
    found = ObjectId.of(value)
    texts, values = embedded.of_object(value)
    inner = embedded.expanded(value, texts)
    return Piece(
        matter=Matter.OBJECT,
        value=inner,
        path="",
        title=str(found),
        kind=found.kind,
        object=found,
        place=Place(""),
        manner=Manner(
            values=functools.partial(embedded.values_at, values),
            is_secret=secrecy.of_document(inner),
            is_whole=embedded.is_schema,
        ),
        identity=pairing.same_object(found),
        is_encrypted=kinds.is_encrypted(value),
    )
