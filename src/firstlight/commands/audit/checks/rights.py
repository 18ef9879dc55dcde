"""Who may do anything: bindings of cluster-admin, roles of stars, namespaces whose pods may leave their containers."""

import re
from collections.abc import Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.commands.audit.wording import mentions
from firstlight.document.within import at, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Finding
from firstlight.repo import chart_values
from firstlight.repo.platform_view import AppliedObject, PlatformView

_GROUP = "rbac.authorization.k8s.io"
_STRANGERS = ("system:unauthenticated", "system:anonymous")
_ACCOUNTS = ("system:authenticated", "system:serviceaccounts")
"""All of them: with a namespace behind it, it is those of one namespace."""
_FOR_ALL = (
    "system:service-account-issuer-discovery", "system:public-info-viewer", "system:discovery", "system:basic-user",
)  # fmt: skip
"""Roles that Kubernetes means for everybody; the first is for whoever is to trust the cluster's tokens."""
_ENFORCE = "pod-security.kubernetes.io/enforce"
_ROLES = frozenset({"cni", "storage", "engine", "dns", "mirror", "monitoring", "backup", "virtualization"})
"""What has pods that must reach into their node."""
_SYSTEM = (
    "kube-system", "rook-ceph", "longhorn", "openebs", "metallb", "democratic-csi", "monitoring", "observability",
    "prometheus", "node-exporter", "nvidia", "gpu", "device-plugin", "kubevirt", "cdi", "system-upgrade", "spegel",
    "ceph", "csi", "storage", "network", "falco", "tetragon", "linstor", "piraeus", "velero", "volsync", "multus",
)  # fmt: skip
_REACHES = re.compile(
    r"^(?:privileged|hostNetwork|hostPID|hostIPC): true$|^hostPath:|^type: hostPath$|^hostPort: \d"
    r"|^(?:NET_ADMIN|SYS_[A-Z]+)$"
)
"""What the profile baseline does not allow."""
_PLAIN_CHART = "app-template"
"""A chart without pods of its own: all that they need stands in its values."""


def for_everybody(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Roles that are bound to strangers, and powerful ones that are bound to every account."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRoleBinding", f"{_GROUP}/RoleBinding"):
        role = text(item.value, "roleRef", "name")
        if role in _FOR_ALL or _asks_only(scene, item):
            continue
        for number, each in enumerate(sequence(item.value, "subjects")):
            name = text(each, "name")
            if name in _STRANGERS or (name in _ACCOUNTS and _is_powerful(scene, item)):
                yield _finding(rule, item, f"{item.object.id} gives {role} to {name}", "subjects", number)


def cluster_admins(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Accounts of workloads that may do anything; the engine's own are among those that must."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRoleBinding"):
        if text(item.value, "roleRef", "name") != "cluster-admin" or _is_engines(item):
            continue
        accounts = [
            text(each, "name") for each in sequence(item.value, "subjects") if text(each, "kind") == "ServiceAccount"
        ]
        if accounts:
            yield _finding(
                rule, item, f"{item.object.id} gives cluster-admin to {', '.join(accounts)}", "roleRef", "name"
            )


def _is_engines(item: AppliedObject) -> bool:
    """Whether it comes with the engine, or is for its accounts: both engines apply whatever Git has."""
    named = {text(each, "namespace") for each in sequence(item.value, "subjects")}
    return item.component.role == "engine" or named <= {flux_names.FLUX_SYSTEM, argocd_names.NAMESPACE}


def star_roles(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Cluster roles that allow everything on everything."""
    for item in scene.of_kind(f"{_GROUP}/ClusterRole"):
        if item.component.role == "engine":
            continue
        for number, allowed in enumerate(sequence(item.value, "rules")):
            if all("*" in sequence(allowed, key) for key in ("apiGroups", "resources", "verbs")):
                yield _finding(rule, item, f"{item.object.id} allows everything on everything", "rules", number)


def privileged_namespaces(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Namespaces whose pods may be privileged, where nothing is seen to need it."""
    for item in scene.of_kind("/Namespace"):
        steps = ("metadata", "labels", _ENFORCE)
        name = item.object.id.name
        if text(item.value, *steps) != "privileged" or item.component.role in _ROLES:
            continue
        if any(each in name for each in _SYSTEM) or _has_need(scene, item.cluster, name):
            continue
        severity = Severity.NOTE if _has_charts(scene, item.cluster, name) else None
        yield _finding(rule, item, f"pods of namespace {name} may be privileged", *steps, severity=severity)


def _has_need(scene: PlatformView, cluster: str, namespace: str) -> bool:
    """Whether something of a namespace asks for its node."""
    here = (each.value for each in scene.items if each.cluster == cluster and each.object.id.namespace == namespace)
    given = (
        layer.value
        for component in scene.platform.components_of(cluster)
        for layer in scene.values(component)
        if layer.chart.namespace == namespace
    )
    return any(mentions(each, _REACHES) for each in (*here, *given))


def _has_charts(scene: PlatformView, cluster: str, namespace: str) -> bool:
    """Whether charts bring pods there whose needs only rendering would tell."""
    return any(
        chart.namespace == namespace and chart_values.chart_name(chart) != _PLAIN_CHART
        for component in scene.platform.components_of(cluster)
        for chart in chart_values.charts_of(component)
    )


def _roles(scene: PlatformView, binding: AppliedObject) -> Iterator[AppliedObject]:
    """The role that a binding names, where the repo has it."""
    kind, name = text(binding.value, "roleRef", "kind"), text(binding.value, "roleRef", "name")
    for each in scene.of_cluster(binding.cluster, f"{_GROUP}/{kind}"):
        if each.object.id.name == name and each.object.id.namespace in ("", binding.object.id.namespace):
            yield each


def _is_powerful(scene: PlatformView, item: AppliedObject) -> bool:
    if text(item.value, "roleRef", "name") in ("cluster-admin", "admin", "edit"):
        return True
    return any("*" in sequence(rule, "verbs") for role in _roles(scene, item) for rule in sequence(role.value, "rules"))


def _asks_only(scene: PlatformView, item: AppliedObject) -> bool:
    """Whether a role is for paths such as /healthz alone, and for no objects."""
    rules = [rule for role in _roles(scene, item) for rule in sequence(role.value, "rules")]
    return bool(rules) and all(at(each, "nonResourceURLs") and not at(each, "resources") for each in rules)


def _finding(
    rule: AuditRule, item: AppliedObject, message: str, *steps: str | int, severity: Severity | None = None
) -> Finding:
    return rule.finding(
        message,
        at=item.object.at(*steps),
        clusters=(item.cluster,),
        subject=item.component.name,
        severity=severity,
    )
