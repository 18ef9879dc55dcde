"""The repo read again after a move: the component is where it was wished, and nothing else is another than before."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document.within import mapping, text
from firstlight.engines import engine_directives
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.move import MoveRequest, Seat
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import Embedded
from firstlight.plan import move_analysis
from firstlight.render import served_kinds

_OWN = frozenset(
    {"phase", "side", "owner", "why", "is_why_declared", "is_why_only_form", "origins", "hooks", "needs", "version"}
)
"""What a move may change of the component itself."""
_ENGINES = (flux_names.KUSTOMIZE_GROUP, flux_names.HELM_GROUP, argocd_names.GROUP)


def check_move(before: Platform, after: Platform, wish: MoveRequest, *, eased: Collection[str] = ()) -> None:
    """See that an edited repo says what is wished, and all else as before.

    Args:
        before: What the repo said.
        after: What it says with the edits.
        wish: What was wished.
        eased: Components that may have lost the need.

    Raises:
        errors.Refused: It does not.
    """
    wrong = [*move_differences(before, after, wish, eased=eased)]
    if after.is_misdeclared:
        wrong.insert(0, "firstlight.yaml is wrong then")
    if wrong:
        shown = "\n".join(f"  {each}" for each in wrong[:5])
        raise errors.Refused(
            f"the edits would change more or less than {wish.component}; nothing was written\n{shown}",
            hint="Write it by hand, and run it again.",
        )


def move_differences(
    before: Platform, after: Platform, wish: MoveRequest, *, eased: Collection[str] = ()
) -> Iterator[str]:
    """What is not as it must be after a move, for people."""
    was = {(each.cluster, each.name): each for each in before.components}
    now = {(each.cluster, each.name): each for each in after.components}
    for key in sorted((was.keys() | now.keys()) - _bringers(before, after, wish)):
        cluster, name = key
        one, other = was.get(key), now.get(key)
        if one is None or other is None:
            yield f"{name} of {cluster} {'would be new' if one is None else 'would be gone'}"
        elif name == wish.component and wish.cluster in ("", cluster):
            if (seat := move_analysis.seat_of(other)) is not wish.seat:
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
    known = {(each.place.path, each.code, each.message) for each in before.diagnostics}
    for diagnostic in after.diagnostics:
        is_known = (diagnostic.place.path, diagnostic.code, diagnostic.message) in known
        if diagnostic.severity is Severity.ERROR and not is_known:
            yield f"{diagnostic.place}: {diagnostic.message}"


def _bringers(before: Platform, after: Platform, wish: MoveRequest) -> set[tuple[str, str]]:
    """Owners that are new, and bring the component where only bootstrap had it, and nobody else."""
    bare = {each.cluster for each in before.components if each.name == wish.component and not each.halves[1]}
    found = {
        (each.cluster, each.parent) for each in after.components if each.name == wish.component and each.cluster in bare
    }
    known = {(each.cluster, each.name) for each in before.components}
    shared = {(each.cluster, each.parent) for each in after.components if each.name != wish.component}
    return found - known - shared


def _objects(before: Platform, after: Platform, cluster: str, wish: MoveRequest) -> Iterator[str]:
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
    annotations = {
        name: each
        for name, each in mapping(metadata, "annotations").items()
        if name != argocd_names.SKIP_RECONCILE_ANNOTATION
    }
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


def _resting(one: Component, other: Component, wish: MoveRequest) -> Iterator[str]:
    """That the engine leaves alone what bootstrap keeps, and nothing else that it did not leave alone before."""
    if Seat.KEPT not in (move_analysis.seat_of(one), wish.seat):
        return
    for origin in other.halves[1]:
        rests = engine_directives.is_rest_declared(origin)
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


# Who applies what, before and after a change: objects that pass between owners, and whether all else is as before.


_OWNERS = (SourceForm.KUSTOMIZATION, SourceForm.APPLICATION)
"""What of an engine applies files."""


def relocated(before: Platform, after: Platform, cluster: str) -> dict[ObjectId, tuple[str, str]]:
    """The objects of a cluster that another owner applies; the components of both."""
    was, now = _holders(before, cluster), _holders(after, cluster)
    # By what declares an owner: components get other names when one of the same name comes or goes.
    return {
        id: (was[id][1], name) for id, (owner, name) in now.items() if id in was and was[id][0] != owner
    }  # fmt: skip


def relocation_differences(before: Platform, after: Platform) -> Iterator[str]:
    """What is not as it must be where objects only pass from one owner to another, for people."""
    was = {(each.cluster, each.name): each for each in before.components}
    now = {(each.cluster, each.name): each for each in after.components}
    made = {(each.cluster, each.name): each for each in (*_only(after, before), *_only(before, after))}
    for key in sorted((was.keys() ^ now.keys()) - made.keys()):
        yield f"{key[1]} of {key[0]} would be {'gone' if key in was else 'new'}"
    hosts = {(each.cluster, each.part_of) for each in made.values()}
    for key in sorted(was.keys() & now.keys()):
        allowed = {"origins", "parent"}
        if key in hosts:
            allowed.add("side")  # what has settings elsewhere is a hybrid by that
        if not was[key].is_why_declared:
            allowed.add("why")  # it says in which file it was found
        yield from fields(was[key], now[key], key[0], allowed=allowed)
    for cluster in after.clusters:
        one, other = stated(before, cluster.name), stated(after, cluster.name)
        declared = {id for each in made.values() if each.cluster == cluster.name for id in declaring(each)}
        for id in sorted((one.keys() | other.keys()) - declared):
            if one.get(id) != other.get(id):
                word = "new" if id not in one else "gone" if id not in other else "another"
                yield f"{id} of {cluster.name} would be {word}"
        twice = _holding(after, cluster.name)
        for id, names in _holding(before, cluster.name).items():
            if len(twice.get(id, ())) > max(1, len(names)):
                yield f"{id} of {cluster.name} would be applied by {' and by '.join(twice[id])}"


def _only(one: Platform, other: Platform) -> Iterator[Component]:
    """Owners that only one of two platforms has, with nothing but what the other has, too."""
    known = {(each.cluster, each.name) for each in other.components}
    for each in one.components:
        ids = {placed(one_of.id, origin) for origin in each.origins for one_of in origin.stated}
        is_owner = all(origin.form in _OWNERS for origin in each.origins)
        if (each.cluster, each.name) not in known and is_owner and ids and ids <= stated(other, each.cluster).keys():
            yield each


def gone(before: Platform, after: Platform, cluster: str) -> tuple[Origin, ...]:
    """The owners of a cluster that go, and whose objects others have from then on."""
    return tuple(
        origin for each in _only(before, after) if each.cluster == cluster for origin in each.origins
    )  # fmt: skip


def _holding(platform: Platform, cluster: str) -> dict[ObjectId, list[str]]:
    """Everybody who applies an object."""
    found: dict[ObjectId, list[str]] = {}
    for component in platform.components_of(cluster):
        for origin in component.origins:
            for each in origin.stated if origin.form in _OWNERS else ():
                found.setdefault(placed(each.id, origin), []).append(component.name)
    return found


def _holders(platform: Platform, cluster: str) -> dict[ObjectId, tuple[str, str]]:
    """Who applies an object: what declares it, and the component."""
    return {
        placed(each.id, origin): (origin.id, component.name)
        for component in platform.components_of(cluster)
        for origin in component.origins
        if origin.form in _OWNERS
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
    if (
        id.namespace
        or origin.form != SourceForm.APPLICATION
        or served_kinds.builtin_scopes().get((id.group, id.kind)) is False
    ):
        return id
    return dataclasses.replace(id, namespace=text(origin.definition, "spec", "destination", "namespace"))
