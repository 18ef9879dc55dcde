"""Bootstrap's render against GitOps' render, object by object: what differs, in words, and what will come of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.model.boundary import Boundary, Compared, Difference, Standing
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, ObjectId
from firstlight.model.remark import Grade
from firstlight.model.rendition import Object, Rendition
from firstlight.model.secret import MASK
from firstlight.plan import comparing, consequences, facts
from firstlight.plan.comparing import ABSENT, Path

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
    remarks = tuple(each for side in (bootstrap, gitops) for each in side.remarks if each.grade == Grade.ERROR)
    found = () if remarks else compare(bootstrap.objects, gitops.objects)
    ways = consequences.Ways.of(component, cluster)
    return Boundary(
        component=component.name,
        cluster=cluster.name,
        versions=facts.versions(component),
        objects=tuple(consequences.told(each, ways) for each in found),
        remarks=remarks,
        stays=consequences.staying(component, cluster),
    )


def staying(cluster: Cluster, component: Component) -> Boundary | None:
    """A component that Talos keeps and GitOps does not have: there is something to tell of it; None for others."""
    if (stays := consequences.staying(component, cluster)) is None:
        return None
    return Boundary(
        component=component.name, cluster=cluster.name, versions=facts.versions(component), objects=(), stays=stays
    )


def compare(bootstrap: Iterable[Object], gitops: Iterable[Object]) -> tuple[Compared, ...]:
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


def _compared(identity: ObjectId, ours: Object | None, theirs: Object | None) -> Compared:
    if ours is None or theirs is None:
        standing = Standing.ONLY_GITOPS if ours is None else Standing.ONLY_BOOTSTRAP
        return Compared(id=identity, standing=standing)
    found = tuple(_differences(identity, ours.value, theirs.value))
    return Compared(id=identity, standing=Standing.DIFFERENT if found else Standing.EQUAL, differences=found)


def _differences(identity: ObjectId, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[Difference]:
    for path, left, right in comparing.compare(ours, theirs):
        if path == ("metadata", "namespace") and ABSENT in (left, right):
            continue
        is_secret = identity.kind == "Secret" and any(path[: len(each)] == each for each in _MASKED)
        if is_secret:
            left, right = (each if each is ABSENT else MASK for each in (left, right))
        fixed = any(path[: len(each)] == each for each in _FIXED.get(identity.kind, ()))
        yield Difference(
            path=path,
            bootstrap=MASK if left == MASK else comparing.shown(left),
            gitops=MASK if right == MASK else comparing.shown(right),
            words=consequences.words(path, left, right),
            rolls=identity.kind in _ROLLING and path[:2] == _TEMPLATE and not fixed,
            is_fixed=fixed,
        )
