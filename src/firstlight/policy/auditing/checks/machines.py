"""Machine configs that do not fit what is installed, or are dangerous to leave so."""

from collections.abc import Iterator

from firstlight.document.within import at, sequence
from firstlight.model.cluster import Cluster
from firstlight.model.finding import Evidence
from firstlight.model.place import Place
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

SERVICE_CONFIG = "ExtensionServiceConfig"
CONFIGURED = frozenset(
    {
        "cloudflared",
        "lldpd",
        "nebula",
        "netbird",
        "newt",
        "nut-client",
        "tailscale",
        "zerotier",
    }
)
"""Extensions whose services wait for an ExtensionServiceConfig and do nothing before."""


def wiping(scene: Scene) -> Iterator[Hit]:
    """A disk that is wiped whenever Talos is installed to it."""
    for cluster in scene.clusters:
        for part in cluster.parts:
            steps = ("machine", "install", "wipe")
            if part.config.get(*steps) is True:
                yield Hit(
                    message="machine.install.wipe is true: whoever installs the machine anew loses what the disk holds",
                    place=part.config.place(*steps),
                    clusters=(cluster.name,),
                )


def unconfigured_extensions(scene: Scene) -> Iterator[Hit]:
    """An extension whose service waits for a config that nobody gives it."""
    for cluster in scene.clusters:
        configured = {name for name, _ in _configs(scene, cluster)}
        for name, place in sorted(_extensions(cluster).items()):
            if name in CONFIGURED - configured and _knows_all_configs(cluster):
                yield Hit(
                    message=f"the extension {name} is installed, and no machine config has an {SERVICE_CONFIG} for it",
                    place=place,
                    clusters=(cluster.name,),
                    evidence=tuple(_left_out(scene, name)),
                )


def _left_out(scene: Scene, name: str) -> Iterator[Evidence]:
    """Service configs that stand in a file of their own, for a command that somebody has to remember."""
    for path in scene.files.files:
        if path.endswith((".yaml", ".yml")) and SERVICE_CONFIG in (scene.files.text(path) or ""):
            for document in scene.files.documents(path):
                if at(document.value, "kind") == SERVICE_CONFIG and at(document.value, "name") == name:
                    yield Evidence("a file has one that no machine config takes in", document.place())


def missing_extensions(scene: Scene) -> Iterator[Hit]:
    """A config for the service of an extension that no machine has."""
    for cluster in scene.clusters:
        installed = _extensions(cluster)
        # Where nothing says what is installed, everything may be.
        if not installed or any(not each.extensions for each in cluster.machines):
            continue
        for name, place in _configs(scene, cluster):
            if name not in installed:
                evidence = Evidence(f"installed: {', '.join(sorted(installed))}", next(iter(installed.values())))
                yield Hit(
                    message=f"{SERVICE_CONFIG} {name} is for an extension that no machine has installed",
                    place=place,
                    clusters=(cluster.name,),
                    evidence=(evidence,),
                )


def _configs(scene: Scene, cluster: Cluster) -> Iterator[tuple[str, Place]]:
    """The service configs, by the name of their extension: documents of machine config, and talhelper's own field."""
    for part in cluster.parts:
        if part.kind == SERVICE_CONFIG and part.config.text("name"):
            yield part.config.text("name"), part.config.place("name")
    for path in _talconfigs(cluster):
        for document in scene.files.documents(path):
            groups = [
                ("controlPlane",),
                ("worker",),
                *(("nodes", n) for n in range(len(sequence(document.value, "nodes")))),
            ]
            for steps in groups:
                for number, each in enumerate(sequence(document.value, *steps, "extensionServices")):
                    yield str(at(each, "name")), document.place(*steps, "extensionServices", number)


def _talconfigs(cluster: Cluster) -> list[str]:
    return [path for path, kinds in cluster.documents.items() if "talconfig" in kinds]


def _knows_all_configs(cluster: Cluster) -> bool:
    """Whether machine configs were read at all: those of Omni, or of a template tool, may be elsewhere."""
    return bool(cluster.parts or _talconfigs(cluster))


def _extensions(cluster: Cluster) -> dict[str, Place]:
    """The extensions of a cluster's machines, without their publishers, and where the first machine is declared."""
    found: dict[str, Place] = {}
    for machine in cluster.machines:
        for each in machine.extensions:
            found.setdefault(each.rpartition("/")[2].partition(":")[0], machine.place)
    return found
