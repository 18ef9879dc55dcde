"""BGP that Talos speaks itself, beside Cilium's."""

from collections.abc import Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model.diagnostic import Evidence
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_INSTANCE = "BGPInstanceConfig"


def twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Neighbours that both speak BGP with, from the same addresses."""
    for cluster in scene.clusters:
        ciliums = dict(_of_cilium(scene, cluster.name))
        for part in cluster.parts:
            neighbours = within.sequence(part.config.value, "neighbors") if part.kind == _INSTANCE else ()
            for number, neighbour in enumerate(neighbours):
                address = within.text(neighbour, "address")
                if address not in ciliums:
                    continue
                yield rule.finding(
                    f"Talos and Cilium both peer with {address}",
                    at=part.config.place("neighbors", number),
                    clusters=(cluster.name,),
                    evidence=(Evidence(f"Cilium peers with {address}", ciliums[address]),),
                )


def _of_cilium(scene: PlatformView, cluster: str) -> Iterator[tuple[str, Place]]:
    """Yield the addresses that Cilium peers with."""
    for item in scene.of_cluster(cluster, "cilium.io/CiliumBGPClusterConfig"):
        for i, instance in enumerate(within.sequence(item.value, "spec", "bgpInstances")):
            for k, peer in enumerate(within.sequence(instance, "peers")):
                if address := within.text(peer, "peerAddress"):
                    yield address, item.object.at("spec", "bgpInstances", i, "peers", k)
