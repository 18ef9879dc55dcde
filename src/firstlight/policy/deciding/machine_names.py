"""What procedures say of machines: which are meant, what is tried on one of them first, what they get."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model.change import Field, Level, Matter, Verb
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.decision import Item
from firstlight.policy.deciding import versions

_KUBERNETES, _TALOS = "kubernetes-upgrade", "talos-upgrade"
_PATCHES = ("patch", "v1alpha1")
_ENDS = (".yaml", ".yml")
_NOT_PLAIN = (".sops.", ".tpl.", ".j2.", ".tmpl.", ".enc.")
Values = dict[str, str]


def concerned(cluster: Cluster | None, items: Iterable[Item]) -> Sequence[Machine]:
    """The machines that the items are about: those whose own files change, else all."""
    if cluster is None:
        return ()
    paths = {each.change.place.path for each in items if cluster.name in each.clusters}
    shared = {each.path for each in cluster.files}
    own = [each for each in cluster.machines if paths & {place.path for place in each.patches}]
    alone = {place.path for each in own for place in each.patches}
    return own if own and not (paths & shared) - alone else cluster.machines


def installed(cluster: Cluster | None, items: Sequence[Item]) -> Iterator[Values]:
    """Each machine with its address, and the image that it is to have, where the change says so."""
    images = {str(each.after) for each in _fields(items, _TALOS) if "/" in str(each.after or "")}
    image = images.pop() if len(images) == 1 else ""
    for each in concerned(cluster, items):
        yield {"machine": each.name, "address": each.address or each.name, "image": image}


def patched(cluster: Cluster | None, items: Sequence[Item]) -> Iterator[Values]:
    """One machine, a worker if there is one, with each file of the change that Talos takes as it is; never Omni's."""
    machines = [each for each in concerned(cluster, items) if each.address]
    first = next(iter(sorted(machines, key=lambda each: each.role is not MachineRole.WORKER)), None)
    if first is None or cluster is None or cluster.omni_template:
        return
    known = {each.path for each in (*cluster.files, *first.patches)}
    changes = [each.change for each in items if each.change.level is Level.SOURCE and cluster.name in each.clusters]
    for path in dict.fromkeys(each.place.path for each in changes if each.verb in (Verb.CHANGED, Verb.ADDED)):
        kinds = {each.kind for each in changes if each.place.path == path and each.matter is Matter.MACHINE}
        if kinds and kinds <= set(_PATCHES) and path in known and _is_plain(path):
            yield {"machine": first.name, "address": first.address, "file": path}


def upgraded(cluster: Cluster | None, items: Sequence[Item]) -> Iterator[Values]:
    """A control plane where Kubernetes gets another version, and that; without it where minor ones are left out."""
    found = list(_fields(items, _KUBERNETES))
    numbers = {versions.number(each.after) for each in found} - {""}
    is_step = not any(len(versions.minors(each.before, each.after)) > 1 for each in found)
    planes = [each for each in (cluster.machines if cluster else ()) if each.role is MachineRole.CONTROL_PLANE]
    if found and planes and planes[0].address:
        yield {"address": planes[0].address, "to": numbers.pop() if len(numbers) == 1 and is_step else ""}


def minors(items: Sequence[Item]) -> Iterator[Values]:
    """The minor versions that an upgrade has to go through one by one."""
    for each in _fields(items, _KUBERNETES, _TALOS):
        if len(found := versions.minors(each.before, each.after)) > 1:
            yield {"minors": ", then ".join(found)}


def _fields(items: Iterable[Item], *procedures: str) -> Iterator[Field]:
    for item in items:
        yield from (each.field for each in item.rulings if each.procedure in procedures and each.field is not None)


def _is_plain(path: str) -> bool:
    name = posixpath.basename(path)
    return name.endswith(_ENDS) and not any(each in name for each in _NOT_PLAIN)
