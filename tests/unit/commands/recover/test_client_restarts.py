"""Who must begin anew when etcd was restored."""

from typing import Any

from firstlight.commands.recover import client_restarts
from firstlight.commands.recover.client_restarts import RestartTurn, Rights

WATCH = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
URLS = {"nonResourceURLs": ["/metrics"], "verbs": ["*"]}


def workload(name: str, *, account: str = "", namespace: str = "apps", **more: Any) -> dict[str, Any]:
    pod: dict[str, Any] = {"serviceAccountName": account} if account else {}
    if mount := more.pop("mount", ""):
        pod["volumes"] = [{"name": "a", "hostPath": {"path": mount}}]
    labels = {"app.kubernetes.io/part-of": more.pop("part_of", "")}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"metadata": metadata, "spec": {"template": {"spec": pod}, **more}}


def role(name: str, *rules: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def binding(kind: str, name: str, *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}-bound", "namespace": namespace},
        "roleRef": {"kind": kind, "name": name},
        "subjects": list(subjects),
    }


def account(name: str, namespace: str = "apps") -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def names(found: tuple[client_restarts.ApiClient, ...]) -> list[str]:
    return [each.id.name for each in found]


def test_whoever_may_watch_and_nobody_else() -> None:
    rights = Rights(
        cluster_roles=[role("watcher", URLS, WATCH), role("reader", READ), role("scraper", URLS)],
        roles=[role("own", WATCH, namespace="apps"), role("own", READ, namespace="other")],
        cluster_role_bindings=[
            binding("ClusterRole", "watcher", account("operator")),
            binding("ClusterRole", "reader", account("web")),
            binding("ClusterRole", "scraper", account("prometheus")),
        ],
        role_bindings=[
            binding("Role", "own", account("local"), namespace="apps"),
            binding("Role", "own", account("local", "other"), namespace="other"),
        ],
    )
    there = {
        "Deployment": [
            workload("operator", account="operator"), workload("web", account="web"), workload("plain"),
            workload("prometheus", account="prometheus"), workload("local", account="local"),
            workload("elsewhere", account="local", namespace="other"),
            workload("twin", account="operator", namespace="b"),
        ],
    }  # fmt: skip

    assert names(client_restarts.api_clients_of(there, rights)) == ["local", "operator"]


def test_groups_of_service_accounts_count() -> None:
    there = {"StatefulSet": [workload("one"), workload("two", namespace="b")]}
    group = {"kind": "Group", "name": "system:serviceaccounts:b"}
    some = Rights(cluster_roles=[role("w", WATCH)], cluster_role_bindings=[binding("ClusterRole", "w", group)])
    everybody = {"kind": "Group", "name": "system:serviceaccounts"}
    every = Rights(cluster_roles=[role("w", WATCH)], cluster_role_bindings=[binding("ClusterRole", "w", everybody)])

    assert names(client_restarts.api_clients_of(there, some)) == ["two"]
    assert names(client_restarts.api_clients_of(there, every)) == ["one", "two"]


def test_the_network_first_and_the_engine_last() -> None:
    rights = Rights(
        cluster_roles=[role("w", {"resources": ["*"], "verbs": ["*"]})],
        cluster_role_bindings=[binding("ClusterRole", "w", account("a"))],
    )
    there = {
        "Deployment": [workload("kustomize", account="a", part_of="flux"), workload("operator", account="a")],
        "DaemonSet": [
            workload("cni", mount="/etc/cni/net.d", updateStrategy={"type": "OnDelete"}),
            workload("logs", mount="/var/log"),
        ],
    }

    found = client_restarts.api_clients_of(there, rights)

    assert [(each.id.name, each.turn) for each in found] == [
        ("cni", RestartTurn.NETWORK), ("operator", RestartTurn.OTHERS), ("kustomize", RestartTurn.ENGINE),
    ]  # fmt: skip
    assert [each.is_rolling for each in found] == [False, True, True]
