"""Storage consumed from the infra cluster: export, an external cluster, a class, a test; then the old one goes."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import within
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import Edit, Finding
from firstlight.model.remedy import Remedy
from firstlight.policy.auditing import charts, gitops_tree, storage_clusters
from firstlight.policy.auditing.remedies import external_storage_files as files
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.auditing.storage_clusters import CEPH, Store

_CEPH_DRIVERS = (".rbd.csi.ceph.com", ".cephfs.csi.ceph.com")
_SHOWN = 5


def consume(scene: Scene, findings: Sequence[Finding] = ()) -> Remedy:
    """How the other clusters come to consume what infra has."""
    infra = storage_clusters.infra(scene)
    rule = findings[0].rule if findings else "storage-own-devices"
    if infra is None:
        return Remedy(rule=rule, title="Consume storage from infra", refused=("there is no infra cluster",))
    asked = {name for each in findings for name in each.clusters}
    consumers = [
        (cluster, store)
        for cluster in scene.clusters
        if cluster.name != infra.name and (not asked or cluster.name in asked)
        for store in storage_clusters.stores(scene, cluster.name)
        if store.kind == CEPH
    ]
    refused = [*_cannot(scene, infra, consumers), *(each for one in consumers for each in _bound(scene, *one))]
    names = dict.fromkeys(cluster.name for cluster, _ in consumers)
    title = f"Let {' and '.join(names) or 'others'} consume the Ceph of {infra.name}"
    if refused:
        return Remedy(rule=rule, title=title, refused=tuple(refused))
    pools = _pools(scene, infra)
    # One after the other: each has keys of its own, and the first shows whether it works.
    first, store = consumers[0]
    later = [name for name in names if name != first.name]
    steps = list(_steps(scene, infra, first, store, pools))
    if later:
        steps.append(
            ProcedureStep(side=None, text=f"Then the same for {' and '.join(later)}: ask for this remedy again")
        )
    return Remedy(
        rule=rule,
        title=title,
        steps=tuple(steps),
        edits=tuple(_edits(scene, first, pools)),
        open_questions=tuple(dict.fromkeys(_questions(scene, infra, consumers, pools))),
    )


def _cannot(scene: Scene, infra: Cluster, consumers: Sequence[tuple[Cluster, Store]]) -> Iterator[str]:
    if not any(each.kind == CEPH for each in storage_clusters.stores(scene, infra.name)):
        yield f"{infra.name} has no CephCluster with devices that others could consume"
    if not consumers:
        yield "nothing but Ceph can be consumed over the network: other storage is moved by its own means"


def _bound(scene: Scene, cluster: Cluster, store: Store) -> Iterator[str]:
    """Volumes that are in use go down with the storage that they are on."""
    live = scene.live.get(cluster.name)
    if live is None:
        return
    used = sorted(
        f"{within.at(each, 'spec', 'claimRef', 'namespace')}/{within.at(each, 'spec', 'claimRef', 'name')}"
        for each in live.of("/PersistentVolume")
        if within.at(each, "status", "phase") == "Bound" and _is_on(each, store)
    )
    if used:
        more = f" and {len(used) - _SHOWN} more" if len(used) > _SHOWN else ""
        yield (
            f"{len(used)} volumes of {cluster.name} are bound on {store.what}: {', '.join(used[:_SHOWN])}{more}; "
            "move or release them first"
        )


def _is_on(volume: Mapping[str, Any], store: Store) -> bool:
    """Whether a volume is on this storage, and not on an external one beside it."""
    driver = str(within.at(volume, "spec", "csi", "driver") or "")
    cluster = within.at(volume, "spec", "csi", "volumeAttributes", "clusterID")
    return driver.endswith(_CEPH_DRIVERS) and cluster in (None, store.namespace)


def _pools(scene: Scene, infra: Cluster) -> list[str]:
    return [each.object.id.name for each in scene.of_cluster(infra.name, "ceph.rook.io/CephBlockPool")]


def _questions(
    scene: Scene, infra: Cluster, consumers: Sequence[tuple[Cluster, Store]], pools: Sequence[str]
) -> Iterator[str]:
    for cluster, store in consumers:
        if cluster.name not in scene.live:
            yield f"Are volumes bound on {store.what} in {cluster.name}? The cluster was not asked: run it with --live"
        if gitops_tree.store(scene, cluster.name) is None:
            yield f"From where does {cluster.name} get the keys? No ClusterSecretStore of External Secrets is there"
    yield from gitops_tree.shared(scene, consumers[0][0])
    if len(pools) != 1:
        yield f"Which pool of {infra.name} do they consume? {', '.join(pools) or 'The repo declares none'}"
    for item in scene.of_cluster(infra.name, CEPH):
        if within.at(item.value, "spec", "network", "provider") != "host" and not within.at(
            item.value, "spec", "external", "enable"
        ):
            yield (
                f"How do others reach the monitors of {infra.name}? {item.object.id} ({item.object.place}) has no "
                "network.provider host, so that they are in its pod network"
            )


def _edits(scene: Scene, cluster: Cluster, pools: Sequence[str]) -> Iterator[Edit]:
    """A directory with what consumes, and what makes the cluster apply it after its store and Rook's operator."""
    store = gitops_tree.store(scene, cluster.name)
    if store is None or len(pools) != 1:
        return
    directory = gitops_tree.beside([cluster], f"storage-client-{cluster.name}")
    for name, text in files.texts(store, cluster.name, pool=pools[0], ceph=_image(scene)).items():
        yield gitops_tree.write(posixpath.join(directory, name), text)
    if gitops_tree.is_flux(cluster):
        after = [gitops_tree.bringing(store.item.component), *_operator(scene, cluster)]
        text = gitops_tree.flux_kustomization(
            scene, cluster, "storage-client", path=directory, after=[each for each in after if each]
        )
        yield from gitops_tree.into_cluster(scene, cluster, "storage-client.yaml", text)


def _image(scene: Scene) -> str:
    """The image of Ceph that they run already."""
    for item in scene.of_kind(CEPH):
        found = within.at(item.value, "spec", "cephVersion", "image")
        if found and "$" not in str(found):
            return str(found)
    return ""


def _operator(scene: Scene, cluster: Cluster) -> list[str]:
    """What brings Rook's operator."""
    for component in scene.with_role("storage", cluster.name):
        for layer in scene.values(component):
            if charts.name(layer.chart) == "rook-ceph":
                return [gitops_tree.bringing(component)]
    return []


def _steps(
    scene: Scene, infra: Cluster, cluster: Cluster, store: Store, pools: Sequence[str]
) -> Iterator[ProcedureStep]:
    yield ProcedureStep(
        side=None,
        text=f"Look which volumes of {cluster.name} are on its own Ceph: none may be bound when it goes",
        command=f"kubectl --context {cluster.name} get persistentvolumes --output wide",
    )
    yield from _export(cluster, infra=infra, namespace=_namespace(scene, infra), pool=pools[0] if pools else "POOL")
    yield from _connection(cluster)
    yield ProcedureStep(
        side=Side.GITOPS,
        text=f"Move what is on the old classes to {files.CLASS}, workload by workload, and ask again with --live",
    )
    yield ProcedureStep(
        side=Side.GITOPS,
        text=f"Only then take {store.what} ({store.place}) and its pools and classes out of {cluster.name}; "
        "its disks are wiped by hand",
    )


def _export(cluster: Cluster, *, infra: Cluster, namespace: str, pool: str) -> Iterator[ProcedureStep]:
    yield ProcedureStep(
        side=None,
        text=f"Export from {infra.name}: users that may do no more than {cluster.name} needs (Rook's script of the "
        "operator's version; its output holds keys)",
        command=f"kubectl --context {infra.name} --namespace {namespace} exec --stdin deploy/rook-ceph-tools --"
        f" python3 - --rbd-data-pool-name {pool} --namespace {files.NAMESPACE} --k8s-cluster-name {cluster.name}"
        " --restricted-auth-permission true --format bash < create-external-cluster-resources.py",
    )
    mon, provisioner, node = (files.key(each, cluster.name) for each in files.SECRETS)
    yield ProcedureStep(
        side=None,
        text=f"Put the keys into the store: {mon} (cluster-name, fsid, admin-secret, mon-secret, ceph-username, "
        f"ceph-secret), {provisioner} and {node} (userID, userKey); then delete the output",
    )


def _connection(cluster: Cluster) -> Iterator[ProcedureStep]:
    there = f"--context {cluster.name} --namespace {files.NAMESPACE}"
    yield ProcedureStep(
        side=Side.GITOPS,
        text=f"Push the external cluster, which stands beside the old one in {files.NAMESPACE}, with Rook's "
        f"common-external.yaml of the operator's version: operator and CSI of {cluster.name} stay",
    )
    yield ProcedureStep(
        side=None,
        text="Give it the monitors of the export; Rook keeps that list from then on, so that it is not in Git",
        command=f"kubectl {there} create configmap rook-ceph-mon-endpoints "
        "--from-literal=data=MONITORS --from-literal=mapping={} --from-literal=maxMonId=2",
    )
    yield ProcedureStep(
        side=None,
        text="See that it is connected",
        command=f"kubectl {there} wait --for=jsonpath='{{.status.phase}}'=Connected cephcluster/{files.NAMESPACE} "
        "--timeout=10m",
    )
    yield ProcedureStep(
        side=None,
        text="Test it: the claim storage-test must be bound",
        command=f"kubectl {there} wait --for=jsonpath='{{.status.phase}}'=Bound persistentvolumeclaim/storage-test "
        "--timeout=5m",
    )


def _namespace(scene: Scene, infra: Cluster) -> str:
    found = [each.namespace for each in storage_clusters.stores(scene, infra.name) if each.namespace]
    return found[0] if found else "rook-ceph"


REMEDIES = {"storage-own-devices": consume}
