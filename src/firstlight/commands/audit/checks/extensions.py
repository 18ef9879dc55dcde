"""Extensions of Talos and the configs of their services: one without the other does nothing."""

import posixpath
import re
from collections.abc import Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, sequence
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Evidence
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

SERVICE_CONFIG = "ExtensionServiceConfig"
CONFIGURED = frozenset(
    {"cloudflared", "lldpd", "nebula", "netbird", "newt", "nut-client", "tailscale", "zerotier"},
)
"""Extensions whose services wait for an ExtensionServiceConfig and do nothing before."""


def unconfigured(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An extension whose service waits for a config that nobody gives it."""
    for cluster in scene.clusters:
        configured = {name for name, _ in _configs(scene, cluster)}
        for name, place in sorted(_extensions(cluster).items()):
            if name in CONFIGURED - configured and _knows_all_configs(cluster):
                beside = list(_beside(scene, name))
                edits = tuple(_taking_in(scene, cluster, name, beside[0])) if len(beside) == 1 else ()
                yield rule.finding(
                    f"the extension {name} is installed, and no machine config has an {SERVICE_CONFIG} for it",
                    at=place,
                    clusters=(cluster.name,),
                    evidence=(
                        *(Evidence("a file has one that no machine config takes in", each.place()) for each in beside),
                        *(each for one in beside for each in _applied_by_hand(scene, one.place().path)),
                    ),
                    fix=f"Name {beside[0].place().path} among the patches of the machines; what applies it by hand "
                    "is not needed then."
                    if beside
                    else "",
                    edits=edits,
                )


def _beside(scene: PlatformView, name: str) -> Iterator[YamlDocument]:
    """Service configs that stand in a file of their own, for a command that somebody has to remember."""
    for path in scene.files.files:
        if path.endswith((".yaml", ".yml")) and SERVICE_CONFIG in (scene.files.text(path) or ""):
            for document in scene.files.documents(path):
                if at(document.value, "kind") == SERVICE_CONFIG and at(document.value, "name") == name:
                    yield document


def _applied_by_hand(scene: PlatformView, path: str) -> Iterator[Evidence]:
    """Where a task or a script gives the file to machines that run."""
    named = re.escape(posixpath.basename(path))
    pattern = rf"(?:--patch(?:-file)?|-p|--config-patch[\w-]*)[ =][\"']?@?[^\s\"']*{named}"
    for script in scene.files.files:
        if script != path and named in re.escape(scene.files.text(script) or ""):
            yield from (Evidence("is applied by hand", place) for place, _ in scene.lines(script, pattern))


def _taking_in(scene: PlatformView, cluster: Cluster, name: str, config: YamlDocument) -> Iterator[FileEdit]:
    """The edits that name a file among the patches of all machines with the extension; none where it holds more."""
    path = config.place().path
    if any(at(each.value, "kind") != SERVICE_CONFIG or at(each.value, "sops") for each in scene.files.documents(path)):
        return
    machines = [each for each in cluster.machines if name in map(_bare, each.extensions)]
    talconfigs = _talconfigs(cluster)
    if len(talconfigs) == 1:
        yield from _into_talconfig(scene, cluster, talconfigs[0], path, machines)
    elif cluster.omni_template and len(machines) == len(cluster.machines):
        yield from _into_template(scene, cluster.omni_template, path)


def _into_talconfig(
    scene: PlatformView, cluster: Cluster, file: str, path: str, machines: list[Machine]
) -> Iterator[FileEdit]:
    patch = f"@./{posixpath.relpath(path, posixpath.dirname(file) or '.')}"
    for document in scene.files.documents(file)[:1]:
        if len(machines) == len(cluster.machines):
            yield _appended(file, ("patches",), patch, document)
            return
        for number, node in enumerate(sequence(document.value, "nodes")):
            if at(node, "hostname") in [each.name for each in machines]:
                yield _appended(file, ("nodes", number, "patches"), patch, document)


def _into_template(scene: PlatformView, template: str, path: str) -> Iterator[FileEdit]:
    # Omnictl looks beside the template, and where it runs: at the top of the repo.
    beside = posixpath.relpath(path, posixpath.dirname(template) or ".")
    for document in scene.files.documents(template):
        if at(document.value, "kind") == "Cluster":
            yield _appended(template, ("patches",), {"file": path if beside.startswith("..") else beside}, document)


def _appended(file: str, steps: tuple[str | int, ...], value: object, document: YamlDocument) -> FileEdit:
    return FileEdit(path=file, verb=EditVerb.APPEND, steps=steps, value=value, document=document.index)


def missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A config for the service of an extension that no machine has."""
    for cluster in scene.clusters:
        installed = _extensions(cluster)
        # Where nothing says what is installed, everything may be.
        if not installed or any(not each.extensions for each in cluster.machines):
            continue
        for name, place in _configs(scene, cluster):
            if name not in installed:
                evidence = Evidence(f"installed: {', '.join(sorted(installed))}", next(iter(installed.values())))
                yield rule.finding(
                    f"{SERVICE_CONFIG} {name} is for an extension that no machine has installed",
                    at=place,
                    clusters=(cluster.name,),
                    evidence=(evidence,),
                )


def _configs(scene: PlatformView, cluster: Cluster) -> Iterator[tuple[str, Place]]:
    """The service configs, by the name of their extension: documents of machine config, and talhelper's own field."""
    for part in cluster.parts:
        if part.kind == SERVICE_CONFIG and part.config.text("name"):
            yield part.config.text("name"), part.config.place("name")
    for path in _talconfigs(cluster):
        for document in scene.files.documents(path):
            nodes = range(len(sequence(document.value, "nodes")))
            groups = [("controlPlane",), ("worker",), *(("nodes", n) for n in nodes)]
            for steps in groups:
                for number, each in enumerate(sequence(document.value, *steps, "extensionServices")):
                    yield str(at(each, "name")), document.place(*steps, "extensionServices", number)


def _talconfigs(cluster: Cluster) -> list[str]:
    return [path for path, kinds in cluster.documents.items() if "talconfig" in kinds]


def _knows_all_configs(cluster: Cluster) -> bool:
    """Whether machine configs were read at all: those of Omni, or of a template tool, may be elsewhere."""
    return bool(cluster.parts or _talconfigs(cluster))


def _extensions(cluster: Cluster) -> dict[str, Place]:
    """The extensions of a cluster's machines, and where the first machine is declared."""
    found: dict[str, Place] = {}
    for machine in cluster.machines:
        for each in machine.extensions:
            found.setdefault(_bare(each), machine.place)
    return found


def _bare(extension: str) -> str:
    """An extension without its publisher and its tag."""
    return extension.rpartition("/")[2].partition(":")[0]
