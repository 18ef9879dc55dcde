"""Who brings the kinds, namespaces and stores of a cluster, as far as that is certain."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from firstlight.document.within import text
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.plan import known
from firstlight.policy.auditing import charts
from firstlight.policy.auditing.scene import Item, Scene

_OPERATORS: Mapping[str, tuple[str, ...]] = {
    "longhorn": ("longhorn.io",),
    "rook-ceph": ("ceph.rook.io",),
    "cloudnative-pg": ("postgresql.cnpg.io",),
    "strimzi-kafka-operator": ("kafka.strimzi.io",),
    "victoria-metrics-operator": ("operator.victoriametrics.com",),
    "victoria-metrics-k8s-stack": ("operator.victoriametrics.com",),
    "dragonfly-operator": ("dragonflydb.io",),
    "keda": ("keda.sh",),
    "volsync": ("volsync.backube",),
    "kyverno": ("kyverno.io",),
    "gateway-helm": ("gateway.envoyproxy.io",),
    "traefik": ("traefik.io",),
    "velero": ("velero.io",),
    "grafana-operator": ("grafana.integreatly.org",),
}
"""API groups whose kinds well-known charts bring, beside those that the planner knows."""
_CRDS = "apiextensions.k8s.io"
STORES = ("SecretStore", "ClusterSecretStore")
ISSUERS = ("Issuer", "ClusterIssuer")

Supplier = tuple[Component, Origin]


def of_kinds(scene: Scene, cluster: str) -> Mapping[str, tuple[Supplier, ...]]:
    """Who brings the kinds of each API group; what bootstrap brings has the side of bootstrap."""
    found: dict[str, list[Supplier]] = defaultdict(list)
    for component in scene.platform.components_of(cluster):
        for origin in component.origins:
            for group in {*_groups(component, origin), *_defined(origin)}:
                found[group].append((component, origin))
    return {group: tuple(each) for group, each in found.items()}


def _groups(component: Component, origin: Origin) -> Iterator[str]:
    """What a chart brings, or what stands for one in bootstrap."""
    about = known.of(component)
    named = charts.names(origin)
    is_bootstrap = origin.side is Side.BOOTSTRAP
    if about is not None and (named or is_bootstrap or origin.form in (Form.FLUX_COMPONENTS, Form.FLUX_INSTANCE)):
        yield from about[1].kinds
    for name in named or ([component.name] if is_bootstrap else []):
        yield from _OPERATORS.get(name, ()) or _OPERATORS.get(name.removesuffix("-crds"), ())


def _defined(origin: Origin) -> Iterator[str]:
    for each in origin.stated:
        if each.id.group == _CRDS:
            yield text(each.value, "spec", "group") or each.id.name.partition(".")[2]


def bringer(origin: Origin) -> str:
    """The id of the Kustomization that applies it: itself, or the one that brings its HelmRelease."""
    return origin.id if origin.form is Form.KUSTOMIZATION else origin.parent


def of_objects(scene: Scene, cluster: str, *kinds: str) -> Mapping[tuple[str, str, str], tuple[Item, ...]]:
    """Who applies each object of some kinds, by kind, namespace and name."""
    found: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in scene.of_cluster(cluster, *kinds):
        found[item.object.id.kind, item.object.id.namespace, item.object.id.name].append(item)
    return {key: tuple(each) for key, each in found.items()}
