"""To which clusters a pattern can apply: a function a condition, named by patterns as ``applies``."""

import dataclasses
import functools
from collections.abc import Callable

from firstlight.commands.audit import cluster_mesh
from firstlight.model.cluster import Engine
from firstlight.model.component import Side, SourceForm
from firstlight.repo.platform_view import PlatformView


@dataclasses.dataclass(frozen=True, slots=True)
class Applicability:
    """Whether a pattern can apply to a cluster; None where nothing tells."""

    can_apply: bool | None
    why: str = ""


Condition = Callable[[PlatformView, str], Applicability]
YES = Applicability(True)


def applicability(name: str, scene: PlatformView, cluster: str) -> Applicability:
    """What a condition says of a cluster; without a name every pattern applies."""
    if not name:
        return YES
    found = CONDITIONS.get(name)
    return found(scene, cluster) if found is not None else Applicability(None, f"there is no condition {name}")


def several_clusters(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are others."""
    return YES if len(scene.clusters) > 1 else Applicability(False, "there is one cluster")


def bootstrap(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the repo says how the cluster is brought up before GitOps."""
    if _has_bootstrap(scene, cluster):
        return YES
    return Applicability(None, "nothing in the repo says what bootstrap brings")


def crds(scene: PlatformView, cluster: str) -> Applicability:
    """Whether bootstrap brings charts, which may have CRDs."""
    brought = bootstrap(scene, cluster)
    if brought.can_apply is not True:
        return brought
    forms = {each.form for one in scene.platform.components_of(cluster) for each in one.halves[0]}
    charts = {
        SourceForm.HELMFILE,
        SourceForm.HELM_COMMAND,
        SourceForm.INLINE_MANIFEST,
        SourceForm.EXTRA_MANIFEST,
        SourceForm.DECLARED,
    }
    return YES if forms & charts else Applicability(False, "bootstrap brings no charts")


def gitops(scene: PlatformView, cluster: str) -> Applicability:
    """Whether an engine reconciles the cluster."""
    found = scene.platform.cluster(cluster)
    return YES if found is not None and found.engine is not None else Applicability(None, "no engine follows the repo")


def cilium(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the CNI is Cilium."""
    names = [each.name for each in scene.with_role("cni", cluster)]
    if not names:
        return Applicability(None, "nothing in the repo brings a CNI")
    return YES if any("cilium" in each for each in names) else Applicability(False, f"the CNI is {names[0]}")


def mesh(scene: PlatformView, cluster: str) -> Applicability:
    """Whether it is one of several clusters whose Cilium is prepared for a mesh."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    members = [each.cluster for each in cluster_mesh.members(scene)]
    return YES if cluster in members else Applicability(False, "no ClusterMesh is configured for it")


def identity(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are others, and the repo says something of this one that must be its own."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    if talos(scene, cluster).can_apply or cilium(scene, cluster).can_apply:
        return YES
    return Applicability(None, "the repo has neither its machines nor its CNI")


def talos(scene: PlatformView, cluster: str) -> Applicability:
    """Whether the repo has machine config of the cluster."""
    found = scene.platform.cluster(cluster)
    return YES if found is not None and found.parts else Applicability(None, "the repo has no machine config of it")


def talos_and_cilium(scene: PlatformView, cluster: str) -> Applicability:
    """Whether Talos and Cilium have something to agree about."""
    first = cilium(scene, cluster)
    return first if first.can_apply is not True else talos(scene, cluster)


def storage(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there are several clusters, of which one has storage of its own."""
    several = several_clusters(scene, cluster)
    if several.can_apply is not True:
        return several
    kinds = ("ceph.rook.io/CephCluster", "longhorn.io/Node", "openebs.io/DiskPool")
    if any(True for _ in scene.of_kind(*kinds)) or any(True for _ in scene.with_role("storage")):
        return YES
    return Applicability(False, "no cluster has storage")


def load_balancers(scene: PlatformView, cluster: str) -> Applicability:
    """Whether Cilium or MetalLB hand out addresses."""
    kinds = ("cilium.io/CiliumLoadBalancerIPPool", "metallb.io/IPAddressPool")
    if any(True for _ in scene.of_cluster(cluster, *kinds)):
        return YES
    return Applicability(False, "it has no pools of addresses")


def databases(scene: PlatformView, cluster: str) -> Applicability:
    """Whether operators run databases."""
    kinds = (
        "postgresql.cnpg.io/Cluster", "mariadb.mmontes.io/MariaDB", "k8s.mariadb.com/MariaDB",
        "dragonflydb.io/Dragonfly", "acid.zalan.do/postgresql", "postgres-operator.crunchydata.com/PostgresCluster",
    )  # fmt: skip
    return YES if any(True for _ in scene.of_cluster(cluster, *kinds)) else Applicability(False, "it has no databases")


def data(scene: PlatformView, cluster: str) -> Applicability:
    """Whether there is something to lose: databases, volumes, or etcd on machines of the repo."""
    if databases(scene, cluster).can_apply or talos(scene, cluster).can_apply:
        return YES
    if any(True for _ in scene.of_cluster(cluster, "/PersistentVolumeClaim", "apps/StatefulSet")):
        return YES
    return Applicability(None, "the repo shows no data of it")


def hybrid(scene: PlatformView, cluster: str) -> Applicability:
    """Whether something has a half in bootstrap and one in GitOps."""
    for each in scene.platform.components_of(cluster):
        if each.side is Side.HYBRID or all(each.halves):
            return YES
    return Applicability(False, "nothing is brought by both sides")


def _engine(wanted: Engine, scene: PlatformView, cluster: str) -> Applicability:
    """Whether an engine of that name reconciles the cluster."""
    found = scene.platform.cluster(cluster)
    if found is None or found.engine is None:
        return Applicability(None, "no engine follows the repo")
    return YES if found.engine is wanted else Applicability(False, f"its engine is {found.engine}")


def _has_bootstrap(scene: PlatformView, cluster: str) -> bool:
    return any(each.halves[0] for each in scene.platform.components_of(cluster))


CONDITIONS: dict[str, Condition] = {each.value: functools.partial(_engine, each) for each in Engine}
CONDITIONS |= {
    each.__name__: each
    for each in (
        several_clusters, identity, bootstrap, crds, hybrid, gitops, talos, cilium, talos_and_cilium, mesh, storage,
        load_balancers, databases, data,
    )
}  # fmt: skip
