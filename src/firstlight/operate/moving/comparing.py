"""The repo read again after a move: the component is where it was wished, and nothing else is another than before."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document.within import mapping
from firstlight.model.component import Component, ObjectId
from firstlight.model.move import Seat, Wish
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import Embedded
from firstlight.ownership import engine_marks, resting
from firstlight.plan import moving

_OWN = frozenset({"phase", "side", "owner", "why", "is_why_declared", "origins", "hooks", "needs", "version"})
"""What a move may change of the component itself."""
_ENGINES = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "argoproj.io")


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
    for key in sorted((was.keys() | now.keys()) - _bringers(before, after, wish)):
        cluster, name = key
        one, other = was.get(key), now.get(key)
        if one is None or other is None:
            yield f"{name} of {cluster} {'would be new' if one is None else 'would be gone'}"
        elif name == wish.component and wish.cluster in ("", cluster):
            if (seat := moving.seat_of(other)) is not wish.seat:
                yield f"{name} of {cluster} would be in {seat}, not in {wish.seat}"
            yield from _resting(one, other, wish)
            yield from fields(one, other, cluster, allowed=_OWN if one.halves[1] else _OWN | {"parent"})
        else:
            allowed = {"needs", "origins"} if name in eased else set()
            if wish.component in (one.part_of, other.part_of):
                allowed.add("part_of")  # only what bootstrap has is called a hybrid
            yield from fields(one, other, cluster, allowed=allowed)
    for each in after.clusters:
        yield from _objects(before, after, each.name, wish)
    for word, one_side, other_side in (
        ("cluster", before.clusters, after.clusters), ("Secret", before.secrets, after.secrets),
    ):  # fmt: skip
        if _placeless(one_side) != _placeless(other_side):
            yield f"a {word} would be another"
    known = {(each.place.path, each.message) for each in before.remarks}
    for remark in after.remarks:
        if remark.grade == "error" and (remark.place.path, remark.message) not in known:
            yield f"{remark.place}: {remark.message}"


def _bringers(before: Platform, after: Platform, wish: Wish) -> set[tuple[str, str]]:
    """Owners that are new, and bring the component where only bootstrap had it, and nobody else."""
    bare = {each.cluster for each in before.components if each.name == wish.component and not each.halves[1]}
    found = {
        (each.cluster, each.parent) for each in after.components if each.name == wish.component and each.cluster in bare
    }
    known = {(each.cluster, each.name) for each in before.components}
    shared = {(each.cluster, each.parent) for each in after.components if each.name != wish.component}
    return found - known - shared


def _objects(before: Platform, after: Platform, cluster: str, wish: Wish) -> Iterator[str]:
    """Objects that Git states in another way, but for who rests, who waits for whom, and what is written anew."""
    one, other = _in_git(before, cluster), _in_git(after, cluster)
    bringers = _bringers(before, after, wish)
    made = {
        id
        for component in after.components_of(cluster)
        if (cluster, component.name) in bringers
        for id in (*declaring(component), *(each.id for origin in component.origins for each in origin.stated))
    }
    mine = [each for each in after.components_of(cluster) if each.name == wish.component]
    if any(each.name == wish.component and not each.halves[1] for each in before.components_of(cluster)):
        made |= {id for each in mine for id in declaring(each)}
        made |= {each.id for one_of in mine for origin in one_of.halves[1] for each in origin.stated}
    for id in sorted((one.keys() | other.keys()) - (made - one.keys())):
        if _at_work(one.get(id)) != _at_work(other.get(id)):
            word = "new" if id not in one else "gone" if id not in other else "another"
            yield f"{id} of {cluster} would be {word}"


def _at_work(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """An object of an engine without what says that it rests, and for whom it waits."""
    if value is None or ObjectId.of(value).group not in _ENGINES:
        return value
    metadata, spec = mapping(value, "metadata"), mapping(value, "spec")
    annotations = {name: each for name, each in mapping(metadata, "annotations").items() if name != engine_marks.SKIP}
    rest = {name: each for name, each in spec.items() if name not in ("suspend", "dependsOn")}
    return {**value, "metadata": {**metadata, "annotations": annotations}, "spec": rest}


def declaring(component: Component) -> set[ObjectId]:
    """The objects that declare an owner."""
    return {ObjectId.of(each.definition) for each in component.origins if each.definition}


def _in_git(platform: Platform, cluster: str) -> dict[ObjectId, Any]:
    return {
        each.id: each.value
        for component in platform.components_of(cluster)
        for origin in component.halves[1]
        for each in origin.stated
    }


def _resting(one: Component, other: Component, wish: Wish) -> Iterator[str]:
    """That the engine leaves alone what bootstrap keeps, and nothing else that it did not leave alone before."""
    if Seat.KEPT not in (moving.seat_of(one), wish.seat):
        return
    for origin in other.halves[1]:
        rests = resting.is_declared(origin)
        if rests is not (wish.seat is Seat.KEPT):
            yield f"{origin.form} {origin.name} of {other.cluster} would {'rest' if rests else 'not rest'}"


def fields(one: Component, other: Component, cluster: str, *, allowed: Collection[str]) -> Iterator[str]:
    """What of a component is another, but for fields that may be."""
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
