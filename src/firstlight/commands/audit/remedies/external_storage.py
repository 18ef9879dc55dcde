"""Storage consumed from the infra cluster: export, an external cluster, a class, a test; then the old one goes."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.audit import storage_clusters
from firstlight.commands.audit.interview import AnswerForm, Interview
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.commands.audit.storage_clusters import CEPH, DeviceStorage
from firstlight.document import within
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import FileEdit, Finding
from firstlight.repo import chart_values, gitops_tree
from firstlight.repo.gitops_tree import ExternalSecretStore
from firstlight.repo.platform_view import PlatformView

_CEPH_DRIVERS = (".rbd.csi.ceph.com", ".cephfs.csi.ceph.com")
_SHOWN = 5


def consume(scene: PlatformView, findings: Sequence[Finding], interview: Interview) -> Remedy:
    """How the other clusters come to consume what infra has."""
    infra = storage_clusters.infra(scene)
    rule = findings[0].code if findings else "storage-own-devices"
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
    refused = [
        *_cannot(scene, infra, consumers),
        *(each for one in consumers for each in _bound(scene, *one, interview)),
    ]
    names = dict.fromkeys(cluster.name for cluster, _ in consumers)
    title = f"Let {' and '.join(names) or 'others'} consume the Ceph of {infra.name}"
    if refused:
        return Remedy(rule=rule, title=title, refused=tuple(refused))
    pools = _pools(scene, infra, interview)
    # One after the other: each has keys of its own, and the first shows whether it works.
    first, store = consumers[0]
    directory = interview.directory(scene, first)
    _ask(scene, infra, consumers, interview)
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
        edits=tuple(_edits(scene, first, pools, directory)),
    )


def _cannot(scene: PlatformView, infra: Cluster, consumers: Sequence[tuple[Cluster, DeviceStorage]]) -> Iterator[str]:
    if not any(each.kind == CEPH for each in storage_clusters.stores(scene, infra.name)):
        yield f"{infra.name} has no CephCluster with devices that others could consume"
    if not consumers:
        yield "nothing but Ceph can be consumed over the network: other storage is moved by its own means"


def _bound(scene: PlatformView, cluster: Cluster, store: DeviceStorage, interview: Interview) -> Iterator[str]:
    """Volumes that are in use go down with the storage that they are on."""
    live = scene.live.get(cluster.name)
    if live is None:
        question = f"Are volumes bound on {store.what} in {cluster.name}? The cluster was not asked: run it with --live"
        if interview.ask(f"volumes-bound.{cluster.name}", question, AnswerForm.YES_NO) == "yes":
            yield f"volumes of {cluster.name} are bound on {store.what}; move or release them first"
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


def _is_on(volume: Mapping[str, Any], store: DeviceStorage) -> bool:
    """Whether a volume is on this storage, and not on an external one beside it."""
    driver = str(within.at(volume, "spec", "csi", "driver") or "")
    cluster = within.at(volume, "spec", "csi", "volumeAttributes", "clusterID")
    return driver.endswith(_CEPH_DRIVERS) and cluster in (None, store.namespace)


def _pools(scene: PlatformView, infra: Cluster, interview: Interview) -> list[str]:
    """The pool that others consume; several, or none, where nobody has said which."""
    pools = [each.object.id.name for each in scene.of_cluster(infra.name, "ceph.rook.io/CephBlockPool")]
    if len(pools) == 1:
        return pools
    question = f"Which pool of {infra.name} do they consume? {', '.join(pools) or 'The repo declares none'}"
    answer = interview.ask("pool", question, AnswerForm.NAME)
    return [answer] if answer else pools


def _ask(
    scene: PlatformView, infra: Cluster, consumers: Sequence[tuple[Cluster, DeviceStorage]], interview: Interview
) -> None:
    """Ask for what no answer on the command line can say: it has to be in the repo."""
    for cluster, _ in consumers:
        if gitops_tree.store(scene, cluster.name) is None:
            interview.tell(
                f"From where does {cluster.name} get the keys? No ClusterSecretStore of External Secrets is there"
            )
    for item in scene.of_cluster(infra.name, CEPH):
        if within.at(item.value, "spec", "network", "provider") != "host" and not within.at(
            item.value, "spec", "external", "enable"
        ):
            interview.tell(
                f"How do others reach the monitors of {infra.name}? {item.object.id} ({item.object.place}) has no "
                "network.provider host, so that they are in its pod network"
            )


def _edits(scene: PlatformView, cluster: Cluster, pools: Sequence[str], directory: str) -> Iterator[FileEdit]:
    """A directory with what consumes, and what makes the cluster apply it after its store and Rook's operator."""
    store = gitops_tree.store(scene, cluster.name)
    if store is None or len(pools) != 1:
        return
    own = cluster.path.removeprefix("./").rstrip("/")
    client = gitops_tree.beside([cluster], f"storage-client-{cluster.name}")
    for name, text in external_files(store, cluster.name, pool=pools[0], ceph=_image(scene)).items():
        yield gitops_tree.write(posixpath.join(client, name), text)
    if gitops_tree.is_flux(cluster):
        after = [gitops_tree.bringing(store.item.component), *_operator(scene, cluster)]
        text = gitops_tree.flux_kustomization(
            scene, cluster, "storage-client", path=client, after=[each for each in after if each]
        )
        yield from gitops_tree.into(scene.files, directory or own, "storage-client.yaml", text)


def _image(scene: PlatformView) -> str:
    """The image of Ceph that they run already."""
    for item in scene.of_kind(CEPH):
        found = within.at(item.value, "spec", "cephVersion", "image")
        if found and "$" not in str(found):
            return str(found)
    return ""


def _operator(scene: PlatformView, cluster: Cluster) -> list[str]:
    """What brings Rook's operator."""
    for component in scene.with_role("storage", cluster.name):
        for layer in scene.values(component):
            if chart_values.chart_name(layer.chart) == "rook-ceph":
                return [gitops_tree.bringing(component)]
    return []


def _steps(
    scene: PlatformView, infra: Cluster, cluster: Cluster, store: DeviceStorage, pools: Sequence[str]
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
        text=f"Move what is on the old classes to {EXTERNAL_CLASS}, workload by workload, and ask again with --live",
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
        f" python3 - --rbd-data-pool-name {pool} --namespace {EXTERNAL_NAMESPACE} --k8s-cluster-name {cluster.name}"
        " --restricted-auth-permission true --format bash < create-external-cluster-resources.py",
    )
    mon, provisioner, node = (external_key(each, cluster.name) for each in EXTERNAL_SECRETS)
    yield ProcedureStep(
        side=None,
        text=f"Put the keys into the store: {mon} (cluster-name, fsid, admin-secret, mon-secret, ceph-username, "
        f"ceph-secret), {provisioner} and {node} (userID, userKey); then delete the output",
    )


def _connection(cluster: Cluster) -> Iterator[ProcedureStep]:
    there = f"--context {cluster.name} --namespace {EXTERNAL_NAMESPACE}"
    yield ProcedureStep(
        side=Side.GITOPS,
        text=f"Push the external cluster, which stands beside the old one in {EXTERNAL_NAMESPACE}, with Rook's "
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
        command=f"kubectl {there} wait --for=jsonpath='{{.status.phase}}'=Connected cephcluster/{EXTERNAL_NAMESPACE} "
        "--timeout=10m",
    )
    yield ProcedureStep(
        side=None,
        text="Test it: the claim storage-test must be bound",
        command=f"kubectl {there} wait --for=jsonpath='{{.status.phase}}'=Bound persistentvolumeclaim/storage-test "
        "--timeout=5m",
    )


def _namespace(scene: PlatformView, infra: Cluster) -> str:
    found = [each.namespace for each in storage_clusters.stores(scene, infra.name) if each.namespace]
    return found[0] if found else "rook-ceph"


REMEDIES = {"storage-own-devices": consume}


# The files of a cluster that consumes the Ceph of another: Rook's external mode, its keys, a class, and a test.


EXTERNAL_NAMESPACE = "rook-ceph-external"
"""A namespace of its own: Rook has one CephCluster in a namespace, and the old one stays until nobody needs it."""
EXTERNAL_SECRETS = ("rook-ceph-mon", "rook-csi-rbd-provisioner", "rook-csi-rbd-node")
EXTERNAL_CLASS = "infra-blocks"


def external_key(secret: str, cluster: str) -> str:
    """What the store calls a Secret: each consumer has keys of its own."""
    return f"{secret}-{cluster}"


def external_files(store: ExternalSecretStore, cluster: str, *, pool: str, ceph: str) -> Mapping[str, str]:
    """The files by their names."""
    written = {
        "namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {EXTERNAL_NAMESPACE}\n",
        "secrets.yaml": "---\n".join(_secret(store, each, cluster) for each in EXTERNAL_SECRETS),
        "cluster.yaml": _cluster(ceph),
        "class.yaml": _class(pool),
        "test.yaml": _test(),
    }
    listed = "".join(f"  - {name}\n" for name in written)
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return {**written, "kustomization.yaml": head + listed}


def _secret(store: ExternalSecretStore, name: str, cluster: str) -> str:
    return (
        f"apiVersion: {store.version}\nkind: ExternalSecret\n"
        f"metadata:\n  name: {name}\n  namespace: {EXTERNAL_NAMESPACE}\n"
        "spec:\n  refreshInterval: 1h\n"
        f"  secretStoreRef:\n    kind: ClusterSecretStore\n    name: {store.name}\n"
        f"  target:\n    name: {name}\n    template:\n      type: kubernetes.io/rook\n"
        f"  dataFrom:\n    - extract:\n        key: {external_key(name, cluster)}\n"
    )


def _cluster(ceph: str) -> str:
    image = f"  cephVersion:\n    image: {ceph}\n" if ceph else ""
    return (
        "# No disks of its own: the Ceph of infra, over the network.\n"
        f"apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata:\n  name: {EXTERNAL_NAMESPACE}\n  "
        f"namespace: {EXTERNAL_NAMESPACE}\n"
        f"spec:\n  external:\n    enable: true\n{image}  dataDirHostPath: /var/lib/rook\n"
    )


def _class(pool: str) -> str:
    secrets = {
        "provisioner": "rook-csi-rbd-provisioner", "controller-expand": "rook-csi-rbd-provisioner",
        "node-stage": "rook-csi-rbd-node",
    }  # fmt: skip
    lines = "".join(
        f"  csi.storage.k8s.io/{what}-secret-name: {name}\n  csi.storage.k8s.io/{what}-secret-namespace: "
        f"{EXTERNAL_NAMESPACE}\n"
        for what, name in secrets.items()
    )
    return (
        f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: {EXTERNAL_CLASS}\n"
        "# The driver of Rook's operator, which is in rook-ceph.\n"
        f"provisioner: rook-ceph.rbd.csi.ceph.com\nparameters:\n  clusterID: {EXTERNAL_NAMESPACE}\n  pool: {pool}\n"
        f'  imageFormat: "2"\n  imageFeatures: layering\n{lines}  csi.storage.k8s.io/fstype: ext4\n'
        "reclaimPolicy: Retain\nallowVolumeExpansion: true\n"
    )


def _test() -> str:
    return (
        f"# Bound as soon as all of the above works; take it away then.\n"
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: storage-test\n  namespace: "
        f"{EXTERNAL_NAMESPACE}\n"
        '  labels:\n    velero.io/exclude-from-backup: "true"\n'
        f"spec:\n  storageClassName: {EXTERNAL_CLASS}\n  accessModes:\n    - ReadWriteOnce\n"
        "  resources:\n    requests:\n      storage: 1Gi\n"
    )
