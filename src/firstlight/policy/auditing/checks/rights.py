"""Who may do anything: bindings of cluster-admin, roles of stars, namespaces whose pods may leave their containers."""

from collections.abc import Iterator

from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene, dig, listed

_GROUP = "rbac.authorization.k8s.io"
_EVERYBODY = ("system:unauthenticated", "system:anonymous", "system:authenticated", "system:serviceaccounts")
_ENFORCE = "pod-security.kubernetes.io/enforce"
_ROLES = frozenset({"cni", "storage", "engine", "dns", "mirror", "monitoring", "backup", "virtualization"})
"""What has pods that must reach into their node."""
_SYSTEM = (
    "kube-system", "rook-ceph", "longhorn", "openebs", "metallb", "democratic-csi", "monitoring", "observability",
    "prometheus", "node-exporter", "nvidia", "gpu", "device-plugin", "kubevirt", "cdi", "system-upgrade", "spegel",
    "ceph", "csi", "storage", "network", "falco", "tetragon", "linstor", "piraeus", "velero", "volsync", "multus",
)  # fmt: skip


def for_everybody(scene: Scene) -> Iterator[Hit]:
    """Powerful roles that are bound to everybody, or to every account."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRoleBinding", f"{_GROUP}/RoleBinding"):
        role = dig(item.value, "roleRef", "name")
        for number, each in enumerate(listed(item.value, "subjects")):
            name = str(dig(each, "name"))
            if not name.startswith(_EVERYBODY) or (name == _EVERYBODY[2] and not _is_powerful(scene, item)):
                continue
            if _is_powerful(scene, item) or name in _EVERYBODY[:2]:
                yield _hit(item, f"{item.object.id} gives {role} to {name}", "subjects", number)


def cluster_admins(scene: Scene) -> Iterator[Hit]:
    """Accounts of workloads that may do anything; the engine's own are among those that must."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRoleBinding"):
        if dig(item.value, "roleRef", "name") != "cluster-admin" or item.component.role == "engine":
            continue
        accounts = [
            str(dig(each, "name")) for each in listed(item.value, "subjects") if dig(each, "kind") == "ServiceAccount"
        ]
        if accounts:
            yield _hit(item, f"{item.object.id} gives cluster-admin to {', '.join(accounts)}", "roleRef", "name")


def star_roles(scene: Scene) -> Iterator[Hit]:
    """Cluster roles that allow everything on everything."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRole"):
        if item.component.role == "engine":
            continue
        for number, rule in enumerate(listed(item.value, "rules")):
            if all("*" in listed(rule, key) for key in ("apiGroups", "resources", "verbs")):
                yield _hit(item, f"{item.object.id} allows everything on everything", "rules", number)


def privileged_namespaces(scene: Scene) -> Iterator[Hit]:
    """Namespaces whose pods may be privileged."""
    for item in scene.of_kind("/Namespace"):
        if dig(item.value, "metadata", "labels", _ENFORCE) != "privileged":
            continue
        name = item.object.id.name
        if item.component.role not in _ROLES and not any(each in name for each in _SYSTEM):
            yield _hit(item, f"pods of namespace {name} may be privileged", "metadata", "labels", _ENFORCE)


def _is_powerful(scene: Scene, item: Item) -> bool:
    name = dig(item.value, "roleRef", "name")
    if name in ("cluster-admin", "admin", "edit"):
        return True
    roles = scene.of_cluster(item.cluster, f"{_GROUP}/ClusterRole", f"{_GROUP}/Role")
    return any(
        each.object.id.name == name and any("*" in listed(rule, "verbs") for rule in listed(each.value, "rules"))
        for each in roles
    )


def _hit(item: Item, message: str, *steps: str | int) -> Hit:
    return Hit(message=message, place=item.object.at(*steps), clusters=(item.cluster,), component=item.component.name)
