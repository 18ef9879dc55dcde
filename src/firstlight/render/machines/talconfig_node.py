"""What a node of talconfig.yaml says, as documents of machine config."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.render.machines import sheet
from firstlight.repo.talos.config import mapping, sequence

FIELDS = frozenset({
    "nodeLabels", "nodeAnnotations", "nodeTaints", "machineDisks", "machineFiles", "disableSearchDomain",
    "kernelModules", "nameservers", "networkInterfaces", "extraManifests", "certSANs", "patches", "talosImageURL",
    "schematic", "machineSpec", "ingressFirewall", "extensionServices", "volumes", "userVolumes", "inlinePatch",
    "configPatches", "noSchematicValidate", "imageSchematic", "filenameTmpl",
})  # fmt: skip
"""Of groups and nodes; the last three are not about the config of a machine."""
OWN = frozenset({
    "hostname", "ipAddress", "controlPlane", "installDisk", "installDiskSelector", "ignoreHostname", "overridePatches",
    "overrideExtraManifests", "overrideMachineCertSANs",
})  # fmt: skip
"""Of nodes alone."""
_EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
_MACHINE = {
    "networkInterfaces": ("network", "interfaces"),
    "nameservers": ("network", "nameservers"),
    "disableSearchDomain": ("network", "disableSearchDomain"),
    "installDiskSelector": ("install", "diskSelector"),
    "machineDisks": ("disks",),
    "kernelModules": ("kernel", "modules"),
    "nodeLabels": ("nodeLabels",),
    "nodeAnnotations": ("nodeAnnotations",),
    "nodeTaints": ("nodeTaints",),
    "certSANs": ("certSANs",),
}
_SPEC = {"mode", "arch", "secureboot", "useUKI", "bootMethod", "imageSuffix"}


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """Documents, and what could not be said in them: with the field that says it."""

    documents: tuple[Mapping[str, Any], ...]
    problems: tuple[tuple[str, str], ...] = ()


def documents(node: Mapping[str, Any], *, is_control_plane: bool, talos: str) -> Made:
    """A node, its group's fields in it already."""
    machine: dict[str, Any] = {}
    for key, steps in _MACHINE.items():
        if value := node.get(key):
            _put(machine, steps, value)
    if machine.get("nodeLabels") and is_control_plane and not sheet.is_before(talos, (1, 8)):
        # talhelper's labels take the place of the one that Talos generates.
        machine["nodeLabels"] = {**machine["nodeLabels"], **_without_excluded(machine["nodeLabels"])}
    if files := [*_files(node)]:
        machine["files"] = files
    if arguments := _kernel_arguments(node, talos):
        _put(machine, ("install", "extraKernelArgs"), arguments)
    found: list[Mapping[str, Any]] = [{"machine": machine}] if machine else []
    if node.get("hostname") and node.get("ignoreHostname") is not True:
        found.append(sheet.hostname(str(node["hostname"]), talos))
    found += _firewall(mapping(node.get("ingressFirewall")))
    for key, kind in (
        ("extensionServices", "ExtensionServiceConfig"),
        ("volumes", "VolumeConfig"),
        ("userVolumes", "UserVolumeConfig"),
    ):  # fmt: skip
        found += [{"apiVersion": "v1alpha1", "kind": kind, **mapping(each)} for each in sequence(node.get(key))]
    return Made(tuple(found), tuple(_problems(node)))


def _problems(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("nodeLabels", "nodeAnnotations"):
        for name, value in mapping(node.get(key)).items():
            if "{{" in str(value):
                yield f"{key} {name} is a template of talhelper, which is not rendered here", key
    for each in sequence(node.get("machineFiles")):
        if str(mapping(each).get("content") or "").startswith("@"):
            yield f"the file {mapping(each).get('path')} takes its content from another file", "machineFiles"
    spec = mapping(node.get("machineSpec"))
    if str(spec.get("mode") or "metal") != "metal":
        yield f"machineSpec.mode {spec['mode']}: only machines of metal are configured", "machineSpec"
    for key in spec.keys() - _SPEC:
        yield f"machineSpec.{key} is not supported", "machineSpec"


def _without_excluded(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {} if _EXCLUDED in labels else {_EXCLUDED: {"$patch": "delete"}}


def _files(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in sequence(node.get("machineFiles")):
        yield {key: value for key, value in mapping(each).items() if key != "skipEnvsubst"}


def _kernel_arguments(node: Mapping[str, Any], talos: str) -> list[Any]:
    """Those of the schematic, for versions of Talos that do not take them from the image."""
    if mapping(node.get("machineSpec")).get("useUKI") is True or not sheet.is_before(talos, (1, 12)):
        return []
    return list(sequence(mapping(mapping(node.get("schematic")).get("customization")).get("extraKernelArgs")))


def _firewall(firewall: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not firewall:
        return []
    default = {
        "apiVersion": "v1alpha1", "kind": "NetworkDefaultActionConfig",
        "ingress": str(firewall.get("defaultAction") or "block"),
    }  # fmt: skip
    rules = [
        {"apiVersion": "v1alpha1", "kind": "NetworkRuleConfig", **mapping(each)}
        for each in sequence(firewall.get("rules"))
    ]
    return [default, *rules]


def _put(into: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    *inner, last = steps
    for step in inner:
        into = into.setdefault(step, {})
    into[last] = value
