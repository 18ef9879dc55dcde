"""What an override has applied, as fields that Git renders otherwise."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.component import ObjectId, Side
from firstlight.operate.override.aligning_states import State
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.repo.aligning import ways
from firstlight.repo.aligning.wish import Steps, Wish

_NAMES = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "ownerReferences")


def of(state: State, cluster: str, applied: Mapping[ObjectId, Mapping[str, Any] | None]) -> tuple[Wish, ...]:
    """What Git is to have, object by object.

    Args:
        state: The repo, rendered.
        cluster: Which cluster.
        applied: Objects with the fields that were changed and no others; None for one that was deleted.
    """
    found: list[Wish] = []
    for id, value in applied.items():
        rendered = next(
            (made for side in (Side.GITOPS, Side.BOOTSTRAP) if (made := state.objects.get((cluster, side, id)))), None
        )
        if value is None:
            if rendered is not None:
                found.append(Wish(object=id, steps=(), before=rendered, after=ABSENT))
        elif rendered is None:
            found.append(Wish(object=id, steps=(), before=ABSENT, after=cleaned(value)))
        else:
            found += [
                Wish(object=id, steps=steps, before=before, after=after, path=_path(steps, rendered, after))
                for steps, before, after in fields(rendered, cleaned(value))
            ]
    return tuple(found)


def fields(rendered: Any, applied: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any, Any]]:
    """Where a form with only some fields says something else than the rendered one."""
    if steps in _NAMES or is_same(rendered, applied):
        return
    if isinstance(rendered, Mapping) and isinstance(applied, Mapping) and applied:
        for name, value in applied.items():
            yield from fields(rendered.get(name, ABSENT), value, (*steps, name))
    elif isinstance(rendered, list) and isinstance(applied, list) and _is_keyed(rendered, applied):
        yield from _items(rendered, applied, steps)
    elif isinstance(rendered, list) and isinstance(applied, list) and len(rendered) == len(applied):
        for number, (one, other) in enumerate(zip(rendered, applied, strict=True)):
            yield from fields(one, other, (*steps, number))
    else:
        yield steps, rendered, applied


def _is_keyed(*lists: list[Any]) -> bool:
    return all(ways.key_of(each) is not None for items in lists for each in items)


def _items(rendered: list[Any], applied: list[Any], steps: Steps) -> Iterator[tuple[Steps, Any, Any]]:
    number = len(rendered)
    for item in applied:
        at = next((at for at, each in enumerate(rendered) if ways.key_of(each) == ways.key_of(item)), None)
        if at is not None:
            yield from fields(rendered[at], item, (*steps, at))
        else:
            yield (*steps, number), ABSENT, item
            number += 1


def cleaned(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the server and tools put there."""
    metadata = value.get("metadata")
    kept = (
        {name: each for name, each in metadata.items() if name not in _SERVERS} if isinstance(metadata, Mapping) else {}
    )
    notes = kept.get("annotations")
    if isinstance(notes, Mapping):
        own = {
            name: each
            for name, each in notes.items()
            if not name.startswith(("kubectl.kubernetes.io/", "firstlight.dev/"))
        }
        kept = {
            **{name: each for name, each in kept.items() if name != "annotations"},
            **({"annotations": own} if own else {}),
        }
    rest = {name: each for name, each in value.items() if name not in ("status", "metadata")}
    return {**{name: rest.pop(name) for name in ("apiVersion", "kind") if name in rest}, "metadata": kept, **rest}


def _path(steps: Steps, rendered: Any, after: Any) -> str:
    return ways.text(steps, ways.put(rendered, steps, after))
