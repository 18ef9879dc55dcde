"""Who applies what, before and after a change: objects that pass between owners, and whether all else is as before."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from firstlight.document.within import text
from firstlight.model.component import Component, Form, ObjectId, Origin
from firstlight.model.platform import Platform
from firstlight.operate.moving import comparing
from firstlight.render import kubernetes

_OWNERS = (Form.KUSTOMIZATION, Form.APPLICATION)
"""What of an engine applies files."""


def relocated(before: Platform, after: Platform, cluster: str) -> dict[ObjectId, tuple[str, str]]:
    """The objects of a cluster that another owner applies; the components of both."""
    was, now = _holders(before, cluster), _holders(after, cluster)
    # By what declares an owner: components get other names when one of the same name comes or goes.
    return {
        id: (was[id][1], name) for id, (owner, name) in now.items() if id in was and was[id][0] != owner
    }  # fmt: skip


def differences(before: Platform, after: Platform) -> Iterator[str]:
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
        yield from comparing.fields(was[key], now[key], key[0], allowed=allowed)
    for cluster in after.clusters:
        one, other = stated(before, cluster.name), stated(after, cluster.name)
        declared = {id for each in made.values() if each.cluster == cluster.name for id in comparing.declaring(each)}
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
    if id.namespace or origin.form != Form.APPLICATION or kubernetes.scopes().get((id.group, id.kind)) is False:
        return id
    return dataclasses.replace(id, namespace=text(origin.definition, "spec", "destination", "namespace"))
