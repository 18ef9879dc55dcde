"""The files of a cluster that consumes the Ceph of another: Rook's external mode, its keys, a class, and a test."""

from collections.abc import Mapping

from firstlight.policy.auditing.gitops_tree import Store

NAMESPACE = "rook-ceph-external"
"""A namespace of its own: Rook has one CephCluster in a namespace, and the old one stays until nobody needs it."""
SECRETS = ("rook-ceph-mon", "rook-csi-rbd-provisioner", "rook-csi-rbd-node")
CLASS = "infra-blocks"


def key(secret: str, cluster: str) -> str:
    """What the store calls a Secret: each consumer has keys of its own."""
    return f"{secret}-{cluster}"


def texts(store: Store, cluster: str, *, pool: str, ceph: str) -> Mapping[str, str]:
    """The files by their names."""
    written = {
        "namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n",
        "secrets.yaml": "---\n".join(_secret(store, each, cluster) for each in SECRETS),
        "cluster.yaml": _cluster(ceph),
        "class.yaml": _class(pool),
        "test.yaml": _test(),
    }
    listed = "".join(f"  - {name}\n" for name in written)
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return {**written, "kustomization.yaml": head + listed}


def _secret(store: Store, name: str, cluster: str) -> str:
    return (
        f"apiVersion: {store.version}\nkind: ExternalSecret\n"
        f"metadata:\n  name: {name}\n  namespace: {NAMESPACE}\n"
        "spec:\n  refreshInterval: 1h\n"
        f"  secretStoreRef:\n    kind: ClusterSecretStore\n    name: {store.name}\n"
        f"  target:\n    name: {name}\n    template:\n      type: kubernetes.io/rook\n"
        f"  dataFrom:\n    - extract:\n        key: {key(name, cluster)}\n"
    )


def _cluster(ceph: str) -> str:
    image = f"  cephVersion:\n    image: {ceph}\n" if ceph else ""
    return (
        "# No disks of its own: the Ceph of infra, over the network.\n"
        f"apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata:\n  name: {NAMESPACE}\n  namespace: {NAMESPACE}\n"
        f"spec:\n  external:\n    enable: true\n{image}  dataDirHostPath: /var/lib/rook\n"
    )


def _class(pool: str) -> str:
    secrets = {
        "provisioner": "rook-csi-rbd-provisioner", "controller-expand": "rook-csi-rbd-provisioner",
        "node-stage": "rook-csi-rbd-node",
    }  # fmt: skip
    lines = "".join(
        f"  csi.storage.k8s.io/{what}-secret-name: {name}\n  csi.storage.k8s.io/{what}-secret-namespace: {NAMESPACE}\n"
        for what, name in secrets.items()
    )
    return (
        f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: {CLASS}\n"
        "# The driver of Rook's operator, which is in rook-ceph.\n"
        f"provisioner: rook-ceph.rbd.csi.ceph.com\nparameters:\n  clusterID: {NAMESPACE}\n  pool: {pool}\n"
        f'  imageFormat: "2"\n  imageFeatures: layering\n{lines}  csi.storage.k8s.io/fstype: ext4\n'
        "reclaimPolicy: Retain\nallowVolumeExpansion: true\n"
    )


def _test() -> str:
    return (
        f"# Bound as soon as all of the above works; take it away then.\n"
        f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: storage-test\n  namespace: {NAMESPACE}\n"
        '  labels:\n    velero.io/exclude-from-backup: "true"\n'
        f"spec:\n  storageClassName: {CLASS}\n  accessModes:\n    - ReadWriteOnce\n"
        "  resources:\n    requests:\n      storage: 1Gi\n"
    )
