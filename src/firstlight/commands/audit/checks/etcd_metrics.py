"""Who asks etcd for its metrics where it does not answer."""

from collections.abc import Iterator
from typing import Any

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import talos_facts, versions
from firstlight.model.cluster import Cluster
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_CLIENT_PORT = 2379
_VALUES = (("kubeEtcd", "service", "targetPort"), ("kubeEtcd", "service", "port"))
"""Where charts of Prometheus and VictoriaMetrics are told etcd's port; the second is taken for both."""
_ARGUMENT = ("cluster", "etcd", "extraArgs", "listen-metrics-urls")


def moved(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Scrapers of the port for clients, which answers gRPC only since Talos 1.14."""
    for cluster in scene.clusters:
        line = versions.minor(cluster.talos)
        if line is None or line < talos_facts.DOCUMENTS or _has_own_address(cluster):
            continue
        for component in scene.platform.components_of(cluster.name):
            given = next(filter(None, (scene.value(component, *path) for path in _VALUES)), None)
            if given is not None and _is_client_port(given.value) and _is_asked(scene.value(component, "kubeEtcd")):
                yield _finding(rule, cluster, component.name, given.place)


def _has_own_address(cluster: Cluster) -> bool:
    return any(not part.kind and part.config.get(*_ARGUMENT) for part in cluster.parts)


def _is_client_port(value: Any) -> bool:
    return str(value) == str(_CLIENT_PORT)


def _is_asked(given: Any) -> bool:
    return given is None or within.at(given.value, "enabled") is not False


def _finding(rule: AuditRule, cluster: Cluster, component: str, place: Place) -> Finding:
    return rule.finding(
        f"{component} asks etcd for metrics on port {_CLIENT_PORT}, which answers gRPC only since Talos 1.14",
        at=place,
        clusters=(cluster.name,),
        subject=component,
    )
