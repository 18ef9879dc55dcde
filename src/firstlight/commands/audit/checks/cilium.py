"""Cilium as Talos needs it."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

from firstlight.commands.audit import cilium_settings, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import talos_facts
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.fact import Fact
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.talos_facts import TalosField
from firstlight.model.versions import minor
from firstlight.plan import well_known
from firstlight.plan.well_known import DroppedCiliumFeature
from firstlight.repo import chart_values
from firstlight.repo.chart_values import GivenValue
from firstlight.repo.platform_view import PlatformView

_MODULES = "SYS_MODULE"
_REPLACEMENT = "kube-proxy-replacement"
"""The key of Cilium's ConfigMap."""
_INSTALLS = re.compile(r"\bkubeProxyReplacement=[\"']?(?:true|strict)\b")
"""An argument of ``cilium install`` or ``helm install``."""
_AGENT_CAPABILITIES = ("securityContext", "capabilities", "ciliumAgent")


def ciliums(scene: PlatformView) -> Iterator[tuple[Cluster, Component]]:
    """Every Cilium of a cluster of Talos machines that is installed from a chart."""
    for cluster in scene.clusters:
        if scene.facts[cluster.name].has_talos:
            for component in scene.with_role("cni", cluster.name):
                if chart_values.has_chart(component, "cilium"):
                    yield cluster, component


def _is_on(given: GivenValue | None) -> bool:
    return given is not None and str(given.value).lower() in ("true", "strict")


def _finding(
    rule: AuditRule,
    component: Component,
    given: GivenValue | None,
    message: str,
    *evidence: Evidence,
    rests: Iterable[Fact[Any]] = (),
    fix: str = "",
    severity: Severity | None = None,
) -> Finding:
    place = given.place if given else component.origins[0].place
    return rule.finding(
        message,
        at=place,
        clusters=(component.cluster,),
        subject=component.name,
        evidence=evidence,
        rests=rests,
        fix=fix,
        severity=severity,
    )


def proxy_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """kube-proxy of Talos beside Cilium, which replaces it."""
    for cluster, component in ciliums(scene):
        replaces = scene.value(component, "kubeProxyReplacement")
        proxy = talos_facts.kube_proxy(cluster)
        if _is_on(replaces) and proxy.value:
            said_there = Evidence(f"Talos runs kube-proxy: {proxy}", proxy.place)
            message = "Talos runs kube-proxy beside Cilium, which replaces it: both program every Service"
            fix = talos_facts.how_to_turn_off(cluster, TalosField.KUBE_PROXY)
            yield _finding(rule, component, replaces, message, said_there, rests=(proxy,), fix=fix)

    yield from _rendered_proxy_twice(rule, scene)


def _rendered_proxy_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Yield kube-proxy beside a Cilium that was rendered, such as into an inline manifest, or that a Job installs."""
    for cluster in scene.clusters:
        proxy = talos_facts.kube_proxy(cluster)
        if not proxy.is_known or not proxy.value or not scene.facts[cluster.name].has_talos:
            continue
        if any(found is cluster for found, _ in ciliums(scene)):
            continue  # the chart's values say it
        for component, message, place in _rendered_replacements(scene, cluster):
            found = rule.finding(
                message,
                at=place,
                clusters=(cluster.name,),
                subject=component.name,
                evidence=(Evidence(f"Talos runs kube-proxy: {proxy}", proxy.place),),
                rests=(proxy,),
                fix=talos_facts.how_to_turn_off(cluster, TalosField.KUBE_PROXY),
            )
            yield found
            break


def _rendered_replacements(scene: PlatformView, cluster: Cluster) -> Iterator[tuple[Component, str, Place]]:
    both = "which replaces it: both program every Service"
    for item in scene.of_cluster(cluster.name, "/ConfigMap"):
        said = at(item.value, "data", _REPLACEMENT)
        if item.object.id.name == cilium_settings.CONFIG and str(said).lower() in ("true", "strict"):
            message = f"Talos runs kube-proxy beside the rendered Cilium, {both}"
            yield item.component, message, item.object.at("data", _REPLACEMENT)
    for item in scene.of_cluster(cluster.name, "batch/Job"):
        if wording.mentions(item.value.get("spec"), _INSTALLS):
            yield (
                item.component,
                f"Talos runs kube-proxy beside the Cilium of Job {item.object.id.name}, {both}",
                item.object.place,
            )


def proxy_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Neither kube-proxy nor Cilium in its place."""
    for cluster, component in ciliums(scene):
        replaces = scene.value(component, "kubeProxyReplacement")
        is_told = replaces is not None or scene.knows(component, "kubeProxyReplacement")
        proxy = talos_facts.kube_proxy(cluster)
        if not proxy.value and is_told and not _is_on(replaces):
            said_there = Evidence("Talos is told not to run kube-proxy", proxy.place)
            message = "Talos runs no kube-proxy and Cilium does not replace it: no Service answers"
            yield _finding(rule, component, replaces, message, said_there, rests=(proxy,))


def api_address(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Cilium that replaces kube-proxy and does not ask KubePrism, or asks it at another port."""
    for cluster, component in ciliums(scene):
        host, port = scene.value(component, "k8sServiceHost"), scene.value(component, "k8sServicePort")
        replaces = scene.value(component, "kubeProxyReplacement")
        prism = talos_facts.kube_prism(cluster)
        if host is None:
            if _is_on(replaces) and scene.knows(component, "k8sServiceHost"):
                message = "Cilium replaces kube-proxy and is not told where the API server is: it never starts"
                yield _finding(rule, component, replaces, message)
            continue
        if str(host.value) not in ("localhost", "127.0.0.1", "::1"):
            continue
        wanted = str(prism.value)
        where = () if prism.place is None else (Evidence(f"KubePrism: {prism}", prism.place),)
        if not prism.value:
            message = f"Cilium asks {host.value} for the API server, and KubePrism is off"
            yield _finding(rule, component, host, message, *where, rests=(prism,), fix=_prism(cluster))
        elif port is None and scene.knows(component, "k8sServicePort"):
            message = f"Cilium asks {host.value} without a port, and KubePrism listens on {wanted}"
            fix = f"Set k8sServicePort: {wanted}."
            yield _finding(rule, component, host, message, *where, rests=(prism,), fix=fix)
        elif port is not None and str(port.value) != wanted:
            message = f"k8sServicePort is {port.value}, and KubePrism listens on {wanted}"
            fix = f"Set k8sServicePort: {wanted}."
            yield _finding(rule, component, port, message, *where, rests=(prism,), fix=fix)


def _prism(cluster: Cluster) -> str:
    if talos_facts.has_documents(cluster):
        return f"Add a KubePrismConfig document with port: {talos_facts.PRISM_PORT} to the machine config."
    return "Set machine.features.kubePrism.enabled: true in the machine config."


def cgroup(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Cilium that would mount cgroups itself, which Talos does not let it."""
    for _, component in ciliums(scene):
        mounts = scene.value(component, "cgroup", "autoMount", "enabled")
        root = scene.value(component, "cgroup", "hostRoot")
        if mounts is not None and mounts.value is False:
            if (root is None and scene.knows(component, "cgroup", "hostRoot")) or (
                root is not None and root.value != "/sys/fs/cgroup"
            ):
                message = "cgroup.hostRoot is not /sys/fs/cgroup, where Talos has it"
                yield _finding(rule, component, root or mounts, message)
        elif _is_on(scene.value(component, "securityContext", "privileged")):
            continue  # such an agent may mount what it likes
        elif mounts is not None or scene.knows(component, "cgroup", "autoMount", "enabled"):
            misspelt = _misspelt(scene, component)
            said = "cgroup.autoMount is not disabled, and Talos lets nobody mount cgroups"
            if misspelt is not None:
                said = f"the chart ignores cgroup.{misspelt.path[1]}: the value is called cgroup.autoMount"
            found = _finding(rule, component, misspelt or mounts, said)
            # Where the agent finds a cgroup2 mounted at its root, it mounts nothing.
            is_mounted = root is not None and root.value == "/sys/fs/cgroup"
            yield dataclasses.replace(found, severity=Severity.WARNING) if is_mounted else found


def _misspelt(scene: PlatformView, component: Component) -> GivenValue | None:
    """A value that was meant to be ``cgroup.autoMount``."""
    for layer in scene.values(component):
        for key in mapping(layer.value, "cgroup"):
            if str(key) != "autoMount" and str(key).lower() == "automount":
                return scene.value(component, "cgroup", str(key))
    return None


def capabilities(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Cilium that asks for kernel modules, which Talos never lets pods load."""
    for _, component in ciliums(scene):
        given = scene.value(component, *_AGENT_CAPABILITIES)
        if given is not None and isinstance(given.value, list):
            if _MODULES in given.value:
                yield _finding(rule, component, given, f"the agent asks for {_MODULES}, and Talos gives it to no pod")
        elif (
            given is None
            and scene.knows(component, *_AGENT_CAPABILITIES)
            and not _is_on(scene.value(component, "securityContext", "privileged"))
        ):
            message = f"the agent's capabilities are the chart's own, with {_MODULES}, which Talos gives to no pod"
            yield _finding(rule, component, None, message)


def address_families(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Two families on one side and one on the other."""
    for cluster, component in ciliums(scene):
        pods = talos_facts.pods(cluster)
        talos = {ipaddress.ip_network(each, strict=False).version for each in pods.value if _is_range(each)}
        six = scene.value(component, "ipv6", "enabled")
        if not talos or (six is None and not scene.knows(component, "ipv6", "enabled")):
            continue
        has_six = _is_on(six)
        if (6 in talos) != has_six:
            ours = "have an IPv6 range" if 6 in talos else "have no IPv6 range"
            theirs = "ipv6.enabled is true" if has_six else "ipv6.enabled is not true"
            said_there = Evidence(f"podSubnets {', '.join(pods.value)}", pods.place)
            message = f"pods {ours} in Talos, and Cilium's {theirs}"
            found = _finding(rule, component, six, message, said_there, rests=(pods,))
            agents = cilium_settings.of(scene, cluster.name)
            uses_nodes = agents is not None and cilium_settings.mode(scene, agents) == "kubernetes"
            # With a pool of Cilium's own, pods get nothing of what nodes have.
            yield (
                found
                if uses_nodes
                else dataclasses.replace(
                    found, severity=min(found.severity, Severity.WARNING, key=lambda each: each.rank)
                )
            )


def _is_range(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def host_dns(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """CoreDNS that asks Talos's DNS on the host, whose answers Cilium's own masquerading loses."""
    for cluster, component in ciliums(scene):
        masquerade = scene.value(component, "bpf", "masquerade")
        legacy = scene.value(component, "bpf", "hostLegacyRouting")
        if not _is_on(masquerade) or _is_on(legacy) or masquerade is None:
            continue
        forwards = talos_facts.host_dns_for_pods(cluster)
        if forwards.value and _asks_host(scene, cluster) and scene.knows(component, "bpf", "hostLegacyRouting"):
            lost = "may not be" if _is_netkit(scene, component) else "are not"
            yield _finding(
                rule,
                component,
                masquerade,
                f"bpf.masquerade is on while CoreDNS asks Talos's DNS on the host: names outside {lost} resolved",
                Evidence(f"CoreDNS asks Talos's DNS on the host: {forwards}", forwards.place),
                rests=(forwards,),
                fix=talos_facts.how_to_turn_off(cluster, TalosField.HOST_DNS) + _or_legacy_routing(scene, component),
                # With netkit pods have a way of their own to the host, and repos that are known run so.
                severity=Severity.NOTE if _is_netkit(scene, component) else None,
            )


def _is_netkit(scene: PlatformView, component: Component) -> bool:
    given = scene.value(component, "bpf", "datapathMode")
    return given is not None and str(given.value).startswith("netkit")


def _or_legacy_routing(scene: PlatformView, component: Component) -> str:
    """The other way, except where agents would refuse to start with it."""
    if _is_netkit(scene, component) or _is_on(scene.value(component, "bandwidthManager", "bbr")):
        return ""
    return " Or set bpf.hostLegacyRouting: true."


def _asks_host(scene: PlatformView, cluster: Cluster) -> bool:
    """Whether the CoreDNS of a cluster forwards to what its nodes ask; not where that was not read."""
    for component in scene.with_role("dns", cluster.name):
        if not chart_values.has_chart(component, "coredns"):
            return False
        servers = scene.value(component, "servers")
        if servers is None:
            return scene.knows(component, "servers")
        return any(
            text(plugin, "name") == "forward" and "/etc/resolv.conf" in str(at(plugin, "parameters"))
            for server in sequence(servers.value)
            for plugin in sequence(server, "plugins")
        )
    own = talos_facts.core_dns(cluster)
    return own.is_known and own.value is True


# What this version of Cilium has no more, and what its next one will not have.


def dropped_features(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What this version of Cilium has no more, or the next one will not have."""
    for cluster in scene.clusters:
        component = next((each for each in scene.with_role("cni", cluster.name) if "cilium" in each.name), None)
        version = minor(component.version) if component else None
        if component is None or version is None:
            continue
        for each in well_known.dropped_cilium_features():
            since = minor(each.since) or (0, 0)
            is_gone = version >= since
            if not is_gone and since[1] - version[1] > 1:
                continue
            when = f"Cilium {each.since} has" if is_gone else f"Cilium {each.since}, which is next, has"
            for what, place, user, evidence in _uses(scene, cluster, component, each):
                yield rule.finding(
                    f"{when} {what}",
                    at=place,
                    clusters=(cluster.name,),
                    subject=user.name,
                    evidence=evidence,
                    fix=each.instead,
                    severity=None if is_gone else Severity.WARNING,
                )


def _uses(
    scene: PlatformView, cluster: Cluster, component: Component, each: DroppedCiliumFeature
) -> Iterator[tuple[str, Place, Component, tuple[Evidence, ...]]]:
    """What is used and no longer there, where, in which component, and what shows it."""
    if each.value:
        given = scene.value(component, *each.value.split("."))
        if given is not None and (not each.only or str(given.value).lower() in each.only):
            shown = f"{each.value}: {given.value}" if each.only else each.value
            yield f"no value {shown}", given.place, component, ()
        return
    group, _, kind = each.kind.rpartition("/")
    group, _, only = group.partition("/")
    version = Evidence(f"Cilium {component.version}", component.origins[0].place)
    for item in scene.of_cluster(cluster.name, f"{group}/{kind}"):
        if only and item.value.get("apiVersion") != f"{group}/{only}":
            continue
        what = f"no {only} of {kind}" if only else f"no {kind}"
        yield f"{what}, which {item.object.id.name} is", item.object.place, item.component, (version,)
