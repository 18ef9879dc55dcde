"""The repo read again after a move: the component is where it was wished, and nothing else is another than before."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document.within import text
from firstlight.model.component import Component, Form, ObjectId, Origin
from firstlight.model.move import Seat, Wish
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import Embedded
from firstlight.ownership import resting
from firstlight.plan import moving
from firstlight.render import kubernetes

_OWN = frozenset({"phase", "side", "owner", "why", "is_why_declared", "origins", "hooks", "needs", "version"})
"""What a move may change of the component itself."""
_HOLDERS = frozenset({Form.KUSTOMIZATION, Form.APPLICATION})
"""Which of an engine's objects apply others as they are stated."""


def check(before: Platform, after: Platform, wish: Wish, *, eased: Collection[str] = ()) -> None:
    """See that an edited repo says what is wished, and all else as before.

    Args:
        before: What the repo said.
        after: What it says with the edits.
        wish: What was wished.
        eased: Components that may have lost the need.

    Raises:
        errors.Refused: It does not.
    """
    wrong = [*differences(before, after, wish, eased=eased)]
    if after.is_misdeclared:
        wrong.insert(0, "firstlight.yaml is wrong then")
    if wrong:
        shown = "\n".join(f"  {each}" for each in wrong[:5])
        raise errors.Refused(
            f"the edits would change more or less than {wish.component}; nothing was written\n{shown}",
            hint="Write it by hand, and run it again.",
        )


def differences(before: Platform, after: Platform, wish: Wish, *, eased: Collection[str] = ()) -> Iterator[str]:
    """What is not as it must be after a move, for people."""
    was = {(each.cluster, each.name): each for each in before.components}
    now = {(each.cluster, each.name): each for each in after.components}
    for key in sorted(was.keys() | now.keys()):
        cluster, name = key
        one, other = was.get(key), now.get(key)
        if one is None or other is None:
            yield f"{name} of {cluster} {'would be new' if one is None else 'would be gone'}"
        elif name == wish.component and wish.cluster in ("", cluster):
            if (seat := moving.seat_of(other)) is not wish.seat:
                yield f"{name} of {cluster} would be in {seat}, not in {wish.seat}"
            yield from _resting(one, other, wish)
            yield from _fields(one, other, cluster, allowed=_OWN)
        else:
            yield from _fields(one, other, cluster, allowed={"needs", "origins"} if name in eased else ())
    for word, one_side, other_side in (
        ("cluster", before.clusters, after.clusters), ("Secret", before.secrets, after.secrets),
    ):  # fmt: skip
        if _placeless(one_side) != _placeless(other_side):
            yield f"a {word} would be another"
    known = {(each.place.path, each.message) for each in before.remarks}
    for each in after.remarks:
        if each.grade == "error" and (each.place.path, each.message) not in known:
            yield f"{each.place}: {each.message}"


def relocated(before: Platform, after: Platform, cluster: str) -> dict[ObjectId, tuple[str, str]]:
    """The objects of a cluster that another Kustomization or Application applies; the components of both."""
    was, now = _holders(before, cluster), _holders(after, cluster)
    there = {each.name for each in after.components_of(cluster)}
    return {
        id: (was[id], name) for id, name in now.items() if id in was and was[id] != name and was[id] in there
    }  # fmt: skip


def relocation_differences(before: Platform, after: Platform) -> Iterator[str]:
    """What is not as it must be where objects only pass from one owner to another, for people."""
    was = {(each.cluster, each.name): each for each in before.components}
    now = {(each.cluster, each.name): each for each in after.components}
    for key in sorted(was.keys() ^ now.keys()):
        yield f"{key[1]} of {key[0]} would be {'gone' if key in was else 'new'}"
    for key in sorted(was.keys() & now.keys()):
        # Where nobody has written why it is there, that says only in which file it is declared.
        why = () if was[key].is_why_declared else ("why",)
        yield from _fields(was[key], now[key], key[0], allowed=("origins", "parent", *why))
    for cluster in after.clusters:
        one, other = stated(before, cluster.name), stated(after, cluster.name)
        for id in sorted(one.keys() | other.keys()):
            if one.get(id) != other.get(id):
                word = "new" if id not in one else "gone" if id not in other else "another"
                yield f"{id} of {cluster.name} would be {word}"


def _holders(platform: Platform, cluster: str) -> dict[ObjectId, str]:
    return {
        placed(each.id, origin): component.name
        for component in platform.components_of(cluster)
        for origin in component.origins
        if origin.form in _HOLDERS
        for each in origin.stated
    }


def stated(platform: Platform, cluster: str) -> dict[ObjectId, Any]:
    """Every object of a cluster as the repo states it."""
    return {
        placed(each.id, origin): each.value
        for component in platform.components_of(cluster)
        for origin in component.origins
        for each in origin.stated
    }


def placed(id: ObjectId, origin: Origin) -> ObjectId:
    """What an object is called where it goes: an Application gives a namespace to what names none.

    Of a kind that is not of Kubernetes itself nobody knows here whether it is in one. It counts as if it were, so that
    it is another object wherever another Application would put it.
    """
    if id.namespace or origin.form != Form.APPLICATION or kubernetes.scopes().get((id.group, id.kind)) is False:
        return id
    return dataclasses.replace(id, namespace=text(origin.definition, "spec", "destination", "namespace"))


def _resting(one: Component, other: Component, wish: Wish) -> Iterator[str]:
    """That the engine leaves alone what bootstrap keeps, and nothing else that it did not leave alone before."""
    if Seat.KEPT not in (moving.seat_of(one), wish.seat):
        return
    for origin in other.halves[1]:
        rests = resting.is_declared(origin)
        if rests is not (wish.seat is Seat.KEPT):
            yield f"{origin.form} {origin.name} of {other.cluster} would {'rest' if rests else 'not rest'}"


def _fields(one: Component, other: Component, cluster: str, *, allowed: Collection[str]) -> Iterator[str]:
    for field in dataclasses.fields(Component):
        if field.name in allowed:
            continue
        if _placeless(getattr(one, field.name)) != _placeless(getattr(other, field.name)):
            yield f"{field.name} of {one.name} in {cluster} would be another"


def _placeless(value: Any) -> Any:
    """A value without the lines on which it stands, which move, and without what does not count in a comparison."""
    if isinstance(value, Place):
        return value.path
    if isinstance(value, Embedded):
        return value.place.path, value.size  # the number of an item is another once one before it is gone
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _placeless(getattr(value, each.name)) for each in dataclasses.fields(value) if each.compare}
    if isinstance(value, Mapping):
        return {name: _placeless(each) for name, each in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_placeless(each) for each in value]
    return value
