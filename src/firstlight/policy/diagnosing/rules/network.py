"""The network of the cluster: a CNI that is missing or not everywhere, and DNS that nobody answers for."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import number, text
from firstlight.gates import status
from firstlight.gates.causes import of_nodes
from firstlight.policy.diagnosing import found, groups, roles
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene

_UNAVAILABLE = "NetworkUnavailable"
_UP = ("CiliumIsUp", "FlannelIsUp", "CalicoIsUp")
"""What agents write that are known by the names of their DaemonSets, too."""


def agents(scene: Scene) -> Iterator[Found]:
    """The CNI: missing, or not running on nodes that need it."""
    found_agents = [each for each in groups.all_of(scene) if roles.is_agent(each)]
    for group in found_agents:
        desired = number(group.workload, "status", "desiredNumberScheduled")
        names = roles.names(group, scene)
        without = sorted(each for each in names if each.startswith("network of "))
        created = status.created(group.value)
        if group.workload is None or not without or not scene.is_over(created, times=2) or not scene.of("/Node"):
            continue
        well = groups.ready_pods(group)
        sick = [each for each in group.pods if not status.is_true(each, "Ready")]
        began = [moment for each in sick if (moment := status.since(each, "Ready") or status.created(each)) is not None]
        if sick and not scene.is_over(min(began, default=None)):
            continue
        nodes = [each.removeprefix("network of ") for each in without]
        yield Found(
            rule="cni-agents-down",
            subject=f"agents of {group.name}",
            says=f"{group.name} runs on {well} of {max(desired, len(scene.of('/Node')))} nodes, and not on "
            f"{', '.join(nodes[:3])}{' …' if len(nodes) > 3 else ''}: pods there get no network",
            evidence=(found.of_field(group.value, "status.numberReady", well),),
            next=(
                found.kubectl("describe", group.value),
                found.command(f"kubectl -n {group.namespace} get pods -o wide"),
            ),
            since=min(began, default=created),
            names=names - {group.subject},
            needs=found.names(
                group.subject, (f"machine {each}" for each in nodes), (f"Node {each}" for each in _silent(nodes, scene))
            ),
        )
    if not found_agents:
        yield from _no_agents(scene)


def _silent(nodes: list[str], scene: Scene) -> list[str]:
    return [each for each in nodes if text(status.condition(scene.one("/Node", each), "Ready"), "status") == "Unknown"]


def _no_agents(scene: Scene) -> Iterator[Found]:
    bare = [
        each
        for each in scene.of("/Node")
        if (cause := of_nodes.of(each)) and "no CNI" in cause.what and scene.is_over(cause.since, times=2)
    ]
    if not scene.is_listed("apps/DaemonSet"):
        return
    if not bare:
        yield from _gone(scene)
        return
    yield Found(
        rule="cni-missing",
        subject="network",
        says=f"no CNI is in the cluster: {found.counted(len(bare), 'node')} without a network",
        evidence=(found.of_condition(bare[0], "Ready"),),
        next=(found.command(f"firstlight up {scene.cluster.name} --until inline", "brings what Talos applies"),),
        since=min((status.since(each, "Ready") or scene.now for each in bare), default=None),
        names=frozenset({found.NETWORK, *(found.network_of(text(each, "metadata", "name")) for each in bare)}),
    )


def _gone(scene: Scene) -> Iterator[Found]:
    """Nodes that stay ready by what the CNI has left on their disks, though nobody is there any more to serve pods."""
    nodes = [each for each in scene.of("/Node") if _says_it_is_up(each)]
    if not nodes:
        return
    reason = text(status.condition(nodes[0], _UNAVAILABLE), "reason")
    yield Found(
        rule="cni-missing",
        subject="network",
        says=f"the CNI is not in the cluster any more ({found.counted(len(nodes), 'node')} had it: {reason}): new pods "
        "get no network",
        evidence=(found.of_condition(nodes[0], _UNAVAILABLE),),
        next=(
            found.command(
                f"firstlight recover {scene.cluster.name}", "whether the engine can bring it back, or who else"
            ),
        ),
        names=frozenset({found.NETWORK, *(found.network_of(text(each, "metadata", "name")) for each in nodes)}),
    )


def _says_it_is_up(node: Mapping[str, Any]) -> bool:
    """Whether an agent wrote that it has made the node's network; it takes that back only while it runs."""
    found = status.condition(node, _UNAVAILABLE)
    return text(found, "status") == "False" and text(found, "reason") in _UP


def dns(scene: Scene) -> Iterator[Found]:
    """Cluster DNS that nobody answers for."""
    for service in scene.of("/Service"):
        space, name = text(service, "metadata", "namespace"), text(service, "metadata", "name")
        if (
            space != "kube-system"
            or name not in ("kube-dns", "coredns")
            or not scene.is_over(status.created(service), times=2)
        ):
            continue
        if roles.endpoints(scene, space, name) == 0:
            group = next((each for each in groups.all_of(scene) if roles.is_dns(each)), None)
            says = (
                "no CoreDNS is in the cluster"
                if group is None
                else f"none of the {len(group.pods)} pods of {group.name} is ready"
            )
            yield Found(
                rule="dns-down",
                subject=f"Service {space}/{name}",
                says=f"names are not found in the cluster: {says}",
                evidence=(found.evidence(f"Service {space}/{name}, EndpointSlices", "no endpoint is ready"),),
                next=(
                    found.command("kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide", "why none is ready"),
                ),
                since=status.created(service),
                names=frozenset({found.DNS}),
                needs=found.names(
                    group.subject if group else "",
                    found.NETWORK,
                    (found.network_of(text(pod, "spec", "nodeName")) for pod in (group.pods if group else ())),
                    (f"Node {text(pod, 'spec', 'nodeName')}" for pod in (group.pods if group else ())),
                ),
            )
