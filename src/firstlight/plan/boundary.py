"""Bootstrap's render against GitOps' render, object by object: what differs, in words, and what will come of it."""

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from firstlight.document.within import sequence
from firstlight.model import flux_names, helm_names, versions
from firstlight.model.boundary import (
    Boundary,
    BoundaryStanding,
    ComparedObject,
    Consequence,
    LifecycleEvent,
    ValueDifference,
)
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, ObjectId, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object, Rendition
from firstlight.model.secret import MASK
from firstlight.plan import cluster_facts, manifest_diff
from firstlight.plan.manifest_diff import ABSENT, Path

_MASKED = {("data",), ("stringData",), ("metadata", "annotations")}
_TEMPLATE = ("spec", "template")
_ROLLING = {"Deployment", "DaemonSet", "StatefulSet"}
_FIXED: Mapping[str, tuple[Path, ...]] = {
    "Deployment": (("spec", "selector"),),
    "DaemonSet": (("spec", "selector"),),
    "StatefulSet": (("spec", "selector"), ("spec", "serviceName"), ("spec", "volumeClaimTemplates")),
    "Job": (("spec", "template"), ("spec", "selector")),
    "Service": (("spec", "clusterIP"),),
    "ClusterRoleBinding": (("roleRef",),),
    "RoleBinding": (("roleRef",),),
    "StorageClass": (("provisioner",), ("parameters",), ("reclaimPolicy",)),
    "PersistentVolumeClaim": (("spec", "storageClassName"), ("spec", "accessModes")),
}
"""What Kubernetes refuses to change."""


def of(cluster: Cluster, component: Component, bootstrap: Rendition, gitops: Rendition) -> Boundary:
    """The boundary of one component; what could not be rendered is said, and not compared."""
    diagnostics = tuple(
        each for side in (bootstrap, gitops) for each in side.diagnostics if each.severity == Severity.ERROR
    )
    found = () if diagnostics else compare(bootstrap.objects, gitops.objects)
    ways = BoundaryWays.of(component, cluster)
    return Boundary(
        component=component.name,
        cluster=cluster.name,
        versions=cluster_facts.versions(component),
        objects=tuple(with_consequences(each, ways) for each in found),
        diagnostics=diagnostics,
        stays=staying_consequence(component, cluster),
    )


def staying(cluster: Cluster, component: Component) -> Boundary | None:
    """A component that Talos keeps and GitOps does not have: there is something to tell of it; None for others."""
    if (stays := staying_consequence(component, cluster)) is None:
        return None
    return Boundary(
        component=component.name,
        cluster=cluster.name,
        versions=cluster_facts.versions(component),
        objects=(),
        stays=stays,
    )


def compare(bootstrap: Iterable[Object], gitops: Iterable[Object]) -> tuple[ComparedObject, ...]:
    """Two sets of objects, by their names."""
    ours, theirs = _aligned({each.id: each for each in bootstrap}, {each.id: each for each in gitops})
    return tuple(_compared(identity, ours.get(identity), theirs.get(identity)) for identity in sorted({*ours, *theirs}))


def _aligned(
    ours: dict[ObjectId, Object], theirs: dict[ObjectId, Object]
) -> tuple[dict[ObjectId, Object], dict[ObjectId, Object]]:
    """Both sides under the same names: one side may leave the namespace to whoever applies it."""
    rest: dict[tuple[str, str, str], tuple[list[ObjectId], list[ObjectId]]] = {}
    for index, (mine, other) in enumerate(((ours, theirs), (theirs, ours))):
        for each in mine:
            if each not in other:
                rest.setdefault((each.group, each.kind, each.name), ([], []))[index].append(each)
    for left, right in rest.values():
        if len(left) == len(right) == 1 and "" in (left[0].namespace, right[0].namespace):
            name = max(left[0], right[0], key=lambda each: each.namespace)
            ours[name], theirs[name] = ours.pop(left[0]), theirs.pop(right[0])
    return ours, theirs


def _compared(identity: ObjectId, ours: Object | None, theirs: Object | None) -> ComparedObject:
    if ours is None or theirs is None:
        standing = BoundaryStanding.ONLY_GITOPS if ours is None else BoundaryStanding.ONLY_BOOTSTRAP
        return ComparedObject(id=identity, standing=standing)
    found = tuple(_differences(identity, ours.value, theirs.value))
    return ComparedObject(
        id=identity, standing=BoundaryStanding.DIFFERENT if found else BoundaryStanding.EQUAL, differences=found
    )


def _differences(identity: ObjectId, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[ValueDifference]:
    for path, left, right in manifest_diff.compare(ours, theirs):
        if path == ("metadata", "namespace") and ABSENT in (left, right):
            continue
        is_secret = identity.kind == "Secret" and any(path[: len(each)] == each for each in _MASKED)
        if is_secret:
            left, right = (each if each is ABSENT else MASK for each in (left, right))
        fixed = any(path[: len(each)] == each for each in _FIXED.get(identity.kind, ()))
        yield ValueDifference(
            path=path,
            bootstrap=MASK if left == MASK else manifest_diff.shown(left),
            gitops=MASK if right == MASK else manifest_diff.shown(right),
            words=difference_words(path, left, right),
            rolls=identity.kind in _ROLLING and path[:2] == _TEMPLATE and not fixed,
            is_fixed=fixed,
        )


# What comes of a difference: at the first reconcile, when bootstrap is run again, and at ``talosctl upgrade-k8s``.
#
# The rules are those of the field: what Talos, Helm, Flux and Argo CD really do (ownership of objects and fields).


_INVENTORY = (1, 13)
"""Since this version Talos applies server-side, keeps an inventory, and prunes."""


class FirstReconcile(enum.Enum):
    """How bootstrap applies."""

    TALOS = "Talos"
    HELM = "helm"
    KUBECTL = "kubectl"


class LaterReconcile(enum.Enum):
    """How the engine applies."""

    HELM_RELEASE = flux_names.HELM_CONTROLLER
    KUSTOMIZATION = flux_names.KUSTOMIZE_CONTROLLER
    SERVER_SIDE = "Argo CD"
    CLIENT_SIDE = "Argo CD without ServerSideApply"


@dataclasses.dataclass(frozen=True, slots=True)
class BoundaryWays:
    """How both sides apply a component."""

    first: FirstReconcile
    then: LaterReconcile
    talos: tuple[int, int] | None = None
    stays: bool = False
    """Whether Talos keeps it in the end, so that no engine puts back what an upgrade takes."""

    @classmethod
    def of(cls, component: Component, cluster: Cluster) -> Self:
        """As its origins say."""
        forms = {each.form for each in cluster_facts.origins(component, Side.BOOTSTRAP)}
        first = FirstReconcile.HELM if cluster_facts.charts(component, Side.BOOTSTRAP) else FirstReconcile.KUBECTL
        if component.phase == Phase.INLINE or forms & {SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST}:
            first = FirstReconcile.TALOS
        then = LaterReconcile.KUSTOMIZATION
        for origin in cluster_facts.origins(component, Side.GITOPS):
            if origin.form == SourceForm.HELM_RELEASE:
                then = LaterReconcile.HELM_RELEASE
            elif origin.form == SourceForm.APPLICATION:
                options = sequence(origin.definition, "spec", "syncPolicy", "syncOptions")
                then = LaterReconcile.SERVER_SIDE if "ServerSideApply=true" in options else LaterReconcile.CLIENT_SIDE
        stays = first == FirstReconcile.TALOS and component.owner == Owner.BOOTSTRAP
        return cls(first, then, versions.minor(cluster.talos), stays)

    @property
    def engine(self) -> str:
        """Who reconciles."""
        return "Flux" if self.then in (LaterReconcile.HELM_RELEASE, LaterReconcile.KUSTOMIZATION) else "Argo CD"


def with_consequences(compared: ComparedObject, ways: BoundaryWays) -> ComparedObject:
    """The object, with what will come of it."""
    found = [_reconcile(compared, ways)]
    if ways.first == FirstReconcile.TALOS:
        found += _upgrade(compared, ways)
    else:
        found.append(_again(compared, ways))
    return dataclasses.replace(compared, consequences=tuple(found))


def staying_consequence(component: Component, cluster: Cluster) -> Consequence | None:
    """What an upgrade does with all objects of a component that Talos keeps; None for others.

    Nobody but Talos writes them: whatever was changed of them since they were created is what it takes back.
    """
    ways = BoundaryWays.of(component, cluster)
    if not ways.stays:
        return None
    before = "writes whole objects as the manifest has them: all that was changed since is lost; never deletes any"
    after = (
        "takes the manifest's values back by force, keeps fields that it does not name, and deletes objects that have "
        "left it"
    )
    effect = f"to 1.12: {before}; from 1.13: {after}"
    if ways.talos is not None:
        effect = after if ways.talos >= _INVENTORY else before
    return Consequence(LifecycleEvent.UPGRADE, effect, Severity.WARNING)


def _reconcile(compared: ComparedObject, ways: BoundaryWays) -> Consequence:
    event, changes = LifecycleEvent.RECONCILE, compared.differences
    if compared.standing == BoundaryStanding.ONLY_GITOPS:
        return Consequence(event, "creates it")
    if compared.standing == BoundaryStanding.ONLY_BOOTSTRAP:
        if ways.first == FirstReconcile.HELM and ways.then == LaterReconcile.HELM_RELEASE:
            return Consequence(event, "deletes it: the release's next revision does not have it", Severity.WARNING)
        return Consequence(event, "leaves it alone: Git does not know it, nobody updates it", Severity.WARNING)
    if fixed := [each for each in changes if each.is_fixed]:
        what = ".".join(fixed[0].path[:2])
        return Consequence(event, f"fails: {what} cannot be changed", Severity.ERROR)
    how = "one helm upgrade" if ways.then == LaterReconcile.HELM_RELEASE else f"{ways.engine}'s apply"
    if compared.standing == BoundaryStanding.EQUAL:
        return Consequence(event, f"adopts it: {how} changes nothing but labels")
    parts = [f"{how} makes it Git's"]
    if any(each.rolls for each in changes):
        parts.append("its pods are replaced")
    left = sum(each.gitops is None for each in changes)
    if left and ways.then != LaterReconcile.HELM_RELEASE:
        parts.append(
            f"{left} field{'s stay' if left > 1 else ' stays'} that Git does not have, unless owners are migrated"
        )
    if ways.then == LaterReconcile.CLIENT_SIDE:
        parts.append("without ServerSideApply bootstrap stays an owner")
    rolls = any(each.rolls for each in changes)
    return Consequence(event, "; ".join(parts), Severity.WARNING if rolls or len(parts) > 1 else Severity.NOTE)


def _again(compared: ComparedObject, ways: BoundaryWays) -> Consequence:
    """A helmfile or a script that is run again after the handover."""
    event, helm = LifecycleEvent.RERUN, ways.first == FirstReconcile.HELM
    owned = helm and ways.then == LaterReconcile.HELM_RELEASE
    match compared.standing:
        case BoundaryStanding.ONLY_BOOTSTRAP:
            return Consequence(event, "creates it again")
        case BoundaryStanding.ONLY_GITOPS if owned:
            effect = "deletes it: bootstrap's release does not have it; helm-controller brings it back"
            return Consequence(event, effect, Severity.ERROR)
        case BoundaryStanding.ONLY_GITOPS:
            return Consequence(event, "leaves it alone")
        case BoundaryStanding.EQUAL if owned:
            return Consequence(event, "makes a new revision of the release; helm-controller upgrades once more")
        case BoundaryStanding.EQUAL:
            return Consequence(event, "changes nothing")
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    until = "helm-controller upgrades again" if owned else f"{ways.engine}'s next reconcile"
    return Consequence(event, f"makes it bootstrap's until {until}{rolls}", Severity.WARNING)


def _upgrade(compared: ComparedObject, ways: BoundaryWays) -> Iterator[Consequence]:
    event = LifecycleEvent.UPGRADE
    if ways.talos is None:
        before, after = _before_inventory(compared, ways), _with_inventory(compared, ways)
        effect = (
            before.effect if before.effect == after.effect else f"to 1.12: {before.effect}; from 1.13: {after.effect}"
        )
        worse = max(before.severity, after.severity, key=lambda each: each.rank)
        yield Consequence(event, effect, worse)
    else:
        yield _with_inventory(compared, ways) if ways.talos >= _INVENTORY else _before_inventory(compared, ways)


def _before_inventory(compared: ComparedObject, ways: BoundaryWays) -> Consequence:
    """Talos writes the whole object, as its manifest has it; it never deletes."""
    match compared.standing:
        case BoundaryStanding.ONLY_GITOPS:
            return Consequence(LifecycleEvent.UPGRADE, "leaves it alone")
        case BoundaryStanding.ONLY_BOOTSTRAP:
            return Consequence(LifecycleEvent.UPGRADE, "writes it again; never deletes it")
        case BoundaryStanding.EQUAL:
            effect = f"writes it without the labels of {ways.engine}, which puts them back"
            return Consequence(LifecycleEvent.UPGRADE, effect)
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    if ways.stays:
        return Consequence(
            LifecycleEvent.UPGRADE, "writes the whole object as bootstrap has it, for good", Severity.WARNING
        )
    effect = f"writes the whole object as bootstrap has it; {ways.engine} puts Git's back at its next reconcile{rolls}"
    return Consequence(LifecycleEvent.UPGRADE, effect, Severity.WARNING)


def _with_inventory(compared: ComparedObject, ways: BoundaryWays) -> Consequence:
    """Talos applies server-side and by force, and deletes what has left its manifests but not its inventory."""
    match compared.standing:
        case BoundaryStanding.ONLY_GITOPS:
            return Consequence(LifecycleEvent.UPGRADE, "leaves it alone")
        case BoundaryStanding.ONLY_BOOTSTRAP:
            effect = "deletes it once it has left the machine config, unless it was released from Talos's inventory"
            return Consequence(LifecycleEvent.UPGRADE, effect, Severity.WARNING)
        case BoundaryStanding.EQUAL:
            return Consequence(
                LifecycleEvent.UPGRADE, "changes nothing; deletes it if it left the config before its release"
            )
    if ways.stays:
        return Consequence(LifecycleEvent.UPGRADE, "takes bootstrap's values back by force, for good", Severity.WARNING)
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    effect = f"takes bootstrap's values back by force until the next reconcile{rolls}"
    return Consequence(LifecycleEvent.UPGRADE, effect, Severity.WARNING)


def difference_words(path: Path, left: Any, right: Any) -> str:
    """A difference as people say it, bootstrap's side first."""
    name = path[-1] if path else ""
    if left is ABSENT or right is ABSENT:
        return f"{_title(path)} only in {'gitops' if left is ABSENT else 'bootstrap'}"
    if left == right:
        return f"{_title(path)} differs"  # both are masked
    if name == "image" and isinstance(left, str) and isinstance(right, str):
        return _image(left, right)
    if isinstance(left, str) and isinstance(right, str) and ("\n" in left or "\n" in right):
        ours, theirs = left.splitlines(), right.splitlines()
        changed = len({*ours} ^ {*theirs})
        return f"{_title(path)}: {changed or 'the order of'} of {max(len(ours), len(theirs))} lines differ"
    if isinstance(left, str | int | float) and isinstance(right, str | int | float):
        return f"{_title(path)} {_short(left)} › {_short(right)}"
    return f"{_title(path)} differs"


def _title(path: Path) -> str:
    """The path, or the word for it where there is a common one."""
    match path:
        case ("spec", "replicas"):
            return "replicas"
        case (*_, "labels", helm_names.CHART_LABEL):
            return "chart"
        case (*_, "labels", "app.kubernetes.io/version"):
            return "version label"
        case (*_, "labels", label):
            return f"label {label}"
        case (*_, "annotations", annotation):
            return f"annotation {annotation}"
        case ("data", key):
            return f"value {key}"
        case (*_, "env", key, "value"):
            return f"environment {_bare(key)}"
        case ("spec", "template", "spec", "containers" | "initContainers", container, *rest) if rest:
            return f"{_bare(container)}: {_dotted(rest)}"
        case ("spec", "template", *rest) if rest:
            return f"pods: {_dotted(rest)}"
    return _dotted(path) or "the object"


def _bare(key: str) -> str:
    return key.removeprefix("[name=").removesuffix("]")


def _dotted(path: Sequence[str]) -> str:
    return ".".join(path).replace(".[", "[")


def _image(left: str, right: str) -> str:
    ours, theirs = _split(left), _split(right)
    bare = ours[0].rpartition("/")[2]
    if ours[0] != theirs[0]:
        return f"image {left.partition('@')[0]} › {right.partition('@')[0]}"
    if ours[1] == theirs[1]:
        return f"image {bare} {ours[1]}: another digest"
    return f"image {bare} {ours[1]} › {theirs[1]}"


def _split(image: str) -> tuple[str, str]:
    name, _, tag = image.partition("@")[0].rpartition(":")
    return (name, tag) if name and "/" not in tag else (image.partition("@")[0], "latest")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
