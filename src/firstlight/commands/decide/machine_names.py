"""What procedures say of machines: which are meant, which of them tries it first, what they get. Never of Omni's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.change import ChangedField
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.decision import DecisionItem
from firstlight.plan import version_bump

OF_MACHINES = ("machines", "machine", "first", "joining", "leaving", "talos", "image", "kubernetes", "minors")
"""What steps can be written for that is told here."""
_KUBERNETES, _TALOS = "kubernetes-upgrade", "talos-upgrade"
Values = Mapping[str, str | Sequence[str]]


def named(each: str, items: Sequence[DecisionItem], *, then: Cluster | None, once: Cluster | None) -> Iterator[Values]:
    """The values of each thing of a cluster that a step is written for.

    Args:
        each: What the step is written for: one of ``OF_MACHINES``.
        items: Those of the cluster that need the step.
        then: The cluster as it is to be.
        once: As it was.
    """
    cluster = then or once
    if each == "minors":
        yield from _minors(items)
    if cluster is None or cluster.omni_template:
        return
    match each:
        case "machines":
            yield {"which": _which(_some(cluster, items))}
        case "machine":
            yield from ({"machine": one.name, "address": one.address} for one in _concerned(cluster, items))
        case "first":
            yield from _first(cluster, items)
        case "joining":
            yield from _only_in(then, once)
        case "leaving":
            yield from _only_in(once, then)
        case "talos":
            yield from ({"to": to, "machines": _some(cluster, items)} for to in _version(items, _TALOS))
        case "image":
            yield from _imaged(cluster, items)
        case "kubernetes":
            yield from ({"to": to} for to in _version(items, _KUBERNETES))


def _concerned(cluster: Cluster, items: Iterable[DecisionItem]) -> Sequence[Machine]:
    """The machines that the items are about: those whose own files change, else all."""
    paths = {each.change.place.path for each in items}
    shared = {each.path for each in cluster.files}
    own = [each for each in cluster.machines if paths & {place.path for place in each.patches}]
    alone = {place.path for each in own for place in each.patches}
    return own if own and not (paths & shared) - alone else cluster.machines


def _some(cluster: Cluster, items: Iterable[DecisionItem]) -> list[str]:
    """The names of the machines that the items are about; none where that is all."""
    found = [each.name for each in _concerned(cluster, items)]
    return found if len(found) < len(cluster.machines) else []


def _which(names: Iterable[str]) -> list[str]:
    return [word for each in names for word in ("--machine", each)] or ["--all"]


def _first(cluster: Cluster, items: Iterable[DecisionItem]) -> Iterator[Values]:
    """A worker, if there is one."""
    machines = sorted(_concerned(cluster, items), key=lambda each: each.role is not MachineRole.WORKER)
    yield from ({"machine": each.name} for each in machines[:1])


def _only_in(cluster: Cluster | None, other: Cluster | None) -> Iterator[Values]:
    """Machines that only one state of a cluster has; one without a name where nobody can tell."""
    known = {each.name for each in (other.machines if other else ())}
    found = [each.name for each in (cluster.machines if cluster else ()) if each.name not in known]
    yield from ({"machine": each} for each in found or [""])


def _version(items: Iterable[DecisionItem], procedure: str) -> Iterator[str]:
    """The version that a cluster is brought to; nothing where it stays, empty where no one step leads there."""
    found = [each for each in _fields(items, procedure) if _is_other(each)]
    numbers = {version_bump.number(each.after) for each in found}
    is_step = all(_is_step(each) for each in found)
    if found:
        yield f"v{number}" if len(numbers) == 1 and is_step and (number := numbers.pop()) else ""


def _is_other(field: ChangedField) -> bool:
    """Whether it says another version. An image where none was said before may be of the one that runs."""
    before, after = version_bump.number(field.before), version_bump.number(field.after)
    return bool(after) and before != after and (bool(before) or "/" not in str(field.after))


def _is_step(field: ChangedField) -> bool:
    """Whether upgrades go this far at once, and not back."""
    is_back = version_bump.bump(field.before, field.after) == "down"
    return not is_back and len(version_bump.minors(field.before, field.after)) <= 1


def _imaged(cluster: Cluster, items: Sequence[DecisionItem]) -> Iterator[Values]:
    """Each machine with the image that it is to have, where the change says so and its version stays."""
    fields = list(_fields(items, _TALOS))
    if any(map(_is_other, fields)):
        return
    images = {str(each.after) for each in fields if "/" in str(each.after or "")}
    image = images.pop() if len(images) == 1 else ""
    for each in _concerned(cluster, items):
        yield {"machine": each.name, "address": each.address or each.name, "image": image}


def _minors(items: Iterable[DecisionItem]) -> Iterator[Values]:
    """The minor versions that an upgrade has to go through one by one."""
    for each in _fields(items, _KUBERNETES, _TALOS):
        if len(found := version_bump.minors(each.before, each.after)) > 1:
            yield {"minors": ", then ".join(found)}


def _fields(items: Iterable[DecisionItem], *procedures: str) -> Iterator[ChangedField]:
    for item in items:
        yield from (each.field for each in item.rulings if each.procedure in procedures and each.field is not None)
