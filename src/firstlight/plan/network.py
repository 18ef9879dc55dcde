"""Talos's own CNI, kube-proxy and CoreDNS beside components that replace them, and clusters that have neither."""

from collections.abc import Iterator
from typing import Any

from firstlight.document.within import text
from firstlight.model import talos_facts
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.fact import Fact
from firstlight.model.place import Place
from firstlight.model.talos_facts import TalosField
from firstlight.plan import cluster_facts as plan_cluster_facts
from firstlight.plan import well_known
from firstlight.plan.cluster_facts import ClusterFacts


def problems(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    """What is there twice, and what is not there at all; nothing where the repo says nothing about Talos."""
    if not cluster_facts.has_talos:
        return
    yield from _not_judged(cluster_facts)
    yield from _cni(cluster_facts)
    yield from _proxy(cluster_facts)
    yield from _dns(cluster_facts)


def _not_judged(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    """Say once why nothing is said of what Talos brings."""
    facts: dict[str, Fact[Any]] = {
        "a CNI": cluster_facts.cni,
        "kube-proxy": cluster_facts.kube_proxy,
        "CoreDNS": cluster_facts.core_dns,
    }
    unknown = {name: each for name, each in facts.items() if not each.is_known}
    if unknown:
        first = next(iter(unknown.values()))
        yield Diagnostic.unknown(
            "talos-parts-unknown",
            f"whether Talos brings {', '.join(unknown)} is not known: {first.why}",
            at=first.place or cluster_facts.cluster.place,
            fix="Declare them in firstlight.yaml: clusters.NAME.network.cni, kubeProxy, coreDns.",
            subject=cluster_facts.cluster.name,
        )


def _anywhere(cluster_facts: ClusterFacts, role: str) -> list[Component]:
    """Components of a role in GitOps alone; parts that only configure it are not meant."""
    return [each for each in cluster_facts.gitops if each.role == role and not each.part_of]


def _evidence(cluster_facts: ClusterFacts, one: Fact[Any], text: str) -> Evidence:
    shown = text if one.is_read else f"{text} ({one.why})"
    return Evidence(shown, one.place, where=cluster_facts.cluster.name)


def _cni(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    mine, later, cni = cluster_facts.with_role("cni"), _anywhere(cluster_facts, "cni"), cluster_facts.cni
    if cni.is_known and cni.value == "none" and not mine:
        chain = [_evidence(cluster_facts, cni, "Talos brings no CNI")]
        chain += [
            Evidence("is brought by GitOps only", plan_cluster_facts.place(each, Side.GITOPS), where=each.name)
            for each in later
        ]
        name = later[0].name if later else "a CNI such as cilium"
        yield Diagnostic(
            code="cni-missing",
            # Where the repo has no bootstrap at all, people or another repo do it.
            severity=Severity.ERROR if cluster_facts.bootstrap else Severity.NOTE,
            basis=cni.basis,
            message="Talos brings no CNI and bootstrap has none: nodes never become Ready"
            if cluster_facts.bootstrap
            else "Talos brings no CNI, and the repo does not say what installs one before the engine",
            places=_places(cni, cluster_facts),
            evidence=(*chain, Evidence("needs nodes that are Ready", where="gitops")) if later else tuple(chain),
            fix=f"Install {name} in bootstrap (phase: inline or core).",
            subject=later[0].name if later else "",
        )
    elif cni.is_known and cni.value == "flannel" and (mine or later):
        other = (*mine, *later)[0]
        yield Diagnostic(
            code="cni-twice",
            severity=Severity.ERROR,
            basis=cni.basis,
            message=f"Talos brings flannel beside {other.name}: two CNIs on every node",
            places=_places(cni, cluster_facts),
            evidence=(
                _evidence(cluster_facts, cni, "Talos brings flannel"),
                Evidence("is a CNI too", plan_cluster_facts.place(other, Side.BOOTSTRAP), where=other.name),
            ),
            fix=talos_facts.how_to_turn_off(cluster_facts.cluster, TalosField.CNI),
            subject=other.name,
        )


def _places(one: Fact[Any], cluster_facts: ClusterFacts) -> tuple[Place, ...]:
    return (one.place or cluster_facts.cluster.place,)


def _proxy(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    proxy = cluster_facts.kube_proxy
    if not proxy.is_known:
        return
    ciliums = [
        each
        for each in (*cluster_facts.with_role("cni"), *_anywhere(cluster_facts, "cni"))
        if (about := well_known.of(each)) and about[0] == "cilium"
    ]
    for cilium in ciliums:
        replaces = replaces_proxy(cluster_facts, cilium)
        place = plan_cluster_facts.place(cilium, Side.BOOTSTRAP)
        if replaces and proxy.value:
            yield Diagnostic(
                code="proxy-twice",
                severity=Severity.ERROR,
                basis=proxy.basis,
                message=f"Talos runs kube-proxy beside {cilium.name}, which replaces it: both program every Service",
                places=_places(proxy, cluster_facts),
                evidence=(
                    _evidence(cluster_facts, proxy, "Talos runs kube-proxy"),
                    Evidence("kubeProxyReplacement is true", place, where=cilium.name),
                ),
                fix=talos_facts.how_to_turn_off(cluster_facts.cluster, TalosField.KUBE_PROXY),
                subject=cilium.name,
            )
        elif replaces is False and not proxy.value:
            yield Diagnostic(
                code="proxy-missing",
                severity=Severity.ERROR,
                basis=proxy.basis,
                message=f"Talos runs no kube-proxy and {cilium.name} does not replace it: no Service answers",
                places=_places(proxy, cluster_facts),
                evidence=(
                    _evidence(cluster_facts, proxy, "Talos is told not to run kube-proxy"),
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
        False
        if plan_cluster_facts.charts(cilium, side)
        and plan_cluster_facts.has_all_values(cilium, side, "kubeProxyReplacement")
        else None
    )


def _dns(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    dns = cluster_facts.core_dns
    mine, later = cluster_facts.with_role("dns"), _anywhere(cluster_facts, "dns")
    if dns.is_known and dns.value and (mine or later):
        other = (*mine, *later)[0]
        yield Diagnostic(
            code="dns-twice",
            severity=Severity.ERROR,
            basis=dns.basis,
            message=f"Talos brings its own CoreDNS beside {other.name}: both want the Service kube-dns",
            places=_places(dns, cluster_facts),
            evidence=(
                _evidence(cluster_facts, dns, "Talos brings CoreDNS"),
                Evidence("is the cluster's DNS too", plan_cluster_facts.place(other, Side.BOOTSTRAP), where=other.name),
            ),
            fix=talos_facts.how_to_turn_off(cluster_facts.cluster, TalosField.CORE_DNS),
            subject=other.name,
        )
    elif dns.is_known and not dns.value and not mine:
        chain = [_evidence(cluster_facts, dns, "Talos is told not to bring CoreDNS")]
        chain += [
            Evidence("is brought by GitOps only", plan_cluster_facts.place(each, Side.GITOPS), where=each.name)
            for each in later
        ]
        yield Diagnostic(
            code="dns-missing",
            severity=Severity.ERROR if cluster_facts.bootstrap else Severity.NOTE,
            basis=dns.basis,
            message="Talos brings no CoreDNS and bootstrap has none: the engine finds no Git host by its name"
            if cluster_facts.bootstrap
            else "Talos brings no CoreDNS, and the repo does not say what installs one before the engine",
            places=_places(dns, cluster_facts),
            evidence=(*chain, Evidence("needs an engine that reaches Git", where="gitops")) if later else tuple(chain),
            fix=f"Install {later[0].name if later else 'coredns'} in bootstrap (phase: core), "
            "or let Talos bring CoreDNS.",
            subject=later[0].name if later else "",
        )
