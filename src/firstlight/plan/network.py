"""Talos's own CNI, kube-proxy and CoreDNS beside components that replace them, and clusters that have neither."""

from collections.abc import Iterator

from firstlight.document.within import text
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic, Evidence
from firstlight.plan import cluster_facts as plan_cluster_facts
from firstlight.plan import well_known
from firstlight.plan.cluster_facts import ClusterFacts


def problems(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    """What is there twice, and what is not there at all; nothing where the repo says nothing about Talos."""
    if not cluster_facts.has_talos:
        return
    yield from _cni(cluster_facts)
    yield from _proxy(cluster_facts)
    yield from _dns(cluster_facts)


def _anywhere(cluster_facts: ClusterFacts, role: str) -> list[Component]:
    """Components of a role in GitOps alone; parts that only configure it are not meant."""
    return [each for each in cluster_facts.gitops if each.role == role and not each.part_of]


def _cni(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    network, mine = cluster_facts.cluster.network, cluster_facts.with_role("cni")
    later = _anywhere(cluster_facts, "cni")
    said = cluster_facts.said("network.cni")
    if network.cni == "none" and not mine:
        chain = [Evidence("cluster.network.cni.name is none", said, where=cluster_facts.cluster.name)]
        chain += [
            Evidence("is brought by GitOps only", plan_cluster_facts.place(each, Side.GITOPS), where=each.name)
            for each in later
        ]
        name = later[0].name if later else "a CNI such as cilium"
        yield Diagnostic.error(
            "cni-missing",
            "Talos brings no CNI and bootstrap has none: nodes never become Ready",
            evidence=(*chain, Evidence("needs nodes that are Ready", where="gitops")) if later else tuple(chain),
            fix=f"Install {name} in bootstrap (phase: inline or core).",
            subject=later[0].name if later else "",
        )
    elif network.cni in ("", "flannel") and (mine or later):
        other = (*mine, *later)[0]
        yield Diagnostic.error(
            "cni-twice",
            f"Talos brings flannel beside {other.name}: two CNIs on every node",
            evidence=(
                Evidence(
                    _unsaid(network.cni, "cluster.network.cni.name", "flannel"), said, where=cluster_facts.cluster.name
                ),
                Evidence("is a CNI too", plan_cluster_facts.place(other, Side.BOOTSTRAP), where=other.name),
            ),
            fix="Set cluster.network.cni.name: none in the machine config.",
            subject=other.name,
        )


def _proxy(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    network, said = cluster_facts.cluster.network, cluster_facts.said("network.kube_proxy")
    ciliums = [
        each
        for each in (*cluster_facts.with_role("cni"), *_anywhere(cluster_facts, "cni"))
        if (about := well_known.of(each)) and about[0] == "cilium"
    ]
    for cilium in ciliums:
        replaces = replaces_proxy(cluster_facts, cilium)
        place = plan_cluster_facts.place(cilium, Side.BOOTSTRAP)
        if replaces and network.kube_proxy is not False:
            yield Diagnostic.error(
                "proxy-twice",
                f"Talos runs kube-proxy beside {cilium.name}, which replaces it: both program every Service",
                evidence=(
                    Evidence("cluster.proxy.disabled is not true", said, where=cluster_facts.cluster.name),
                    Evidence("kubeProxyReplacement is true", place, where=cilium.name),
                ),
                fix="Set cluster.proxy.disabled: true in the machine config.",
                subject=cilium.name,
            )
        elif replaces is False and network.kube_proxy is False:
            yield Diagnostic.error(
                "proxy-missing",
                f"Talos runs no kube-proxy and {cilium.name} does not replace it: no Service answers",
                evidence=(
                    Evidence("cluster.proxy.disabled is true", said, where=cluster_facts.cluster.name),
                    Evidence("kubeProxyReplacement is not true", place, where=cilium.name),
                ),
                fix="Set kubeProxyReplacement: true in Cilium's values.",
                subject=cilium.name,
            )


def replaces_proxy(cluster_facts: ClusterFacts, cilium: Component) -> bool | None:
    """Whether Cilium is told to replace kube-proxy; None where only rendering would tell."""
    sides = plan_cluster_facts.sides(cilium)
    for side in sides:
        for item in cluster_facts.objects(cilium, side):
            if item.id.kind == "ConfigMap" and item.id.name == "cilium-config":
                return text(item.value, "data", "kube-proxy-replacement") in ("true", "strict")
    for side in sides:
        value = plan_cluster_facts.value(cilium, side, "kubeProxyReplacement")
        if value is not None:
            return str(value).lower() in ("true", "strict")
    side = sides[0] if sides else Side.BOOTSTRAP
    return (
        False if plan_cluster_facts.charts(cilium, side) and plan_cluster_facts.has_all_values(cilium, side) else None
    )


def _dns(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    network, said = cluster_facts.cluster.network, cluster_facts.said("network.core_dns")
    mine, later = cluster_facts.with_role("dns"), _anywhere(cluster_facts, "dns")
    if network.core_dns is not False and (mine or later):
        other = (*mine, *later)[0]
        yield Diagnostic.error(
            "dns-twice",
            f"Talos brings its own CoreDNS beside {other.name}: both want the Service kube-dns",
            evidence=(
                Evidence("cluster.coreDNS.disabled is not true", said, where=cluster_facts.cluster.name),
                Evidence("is the cluster's DNS too", plan_cluster_facts.place(other, Side.BOOTSTRAP), where=other.name),
            ),
            fix="Set cluster.coreDNS.disabled: true in the machine config.",
            subject=other.name,
        )
    elif network.core_dns is False and not mine:
        chain = [Evidence("cluster.coreDNS.disabled is true", said, where=cluster_facts.cluster.name)]
        chain += [
            Evidence("is brought by GitOps only", plan_cluster_facts.place(each, Side.GITOPS), where=each.name)
            for each in later
        ]
        yield Diagnostic.error(
            "dns-missing",
            "Talos brings no CoreDNS and bootstrap has none: the engine finds no Git host by its name",
            evidence=(*chain, Evidence("needs an engine that reaches Git", where="gitops")) if later else tuple(chain),
            fix=f"Install {later[0].name if later else 'coredns'} in bootstrap (phase: core), "
            "or let Talos bring CoreDNS.",
            subject=later[0].name if later else "",
        )


def _unsaid(value: str, field: str, default: str) -> str:
    return f"{field} is {value}" if value else f"{field} is not set, which means {default}"
