"""What a YAML document has to do with Talos, by its keys."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.repo.talos.embedded_yaml import Step

CONFIG = "config"
PATCH = "patch"
JSON_PATCH = "JSON patch"
SCHEMATIC = "schematic"
SECRETS = "secrets"
OMNI = {"Cluster", "ControlPlane", "Workers", "Machine"}
"""Kinds of an Omni cluster template."""

_TOP = {"version", "debug", "persist", "machine", "cluster"}
_FIELDS: Mapping[tuple[str, ...], frozenset[str]] = {
    ("machine",): frozenset({
        "type", "token", "ca", "acceptedCAs", "certSANs", "controlPlane", "kubelet", "pods", "network", "disks",
        "install", "files", "env", "time", "sysctls", "sysfs", "registries", "systemDiskEncryption", "features", "udev",
        "logging", "kernel", "seccompProfiles", "baseRuntimeSpecOverrides", "nodeLabels", "nodeAnnotations",
        "nodeTaints",
    }),
    ("cluster",): frozenset({
        "id", "secret", "controlPlane", "clusterName", "network", "token", "aescbcEncryptionSecret",
        "secretboxEncryptionSecret", "ca", "acceptedCAs", "aggregatorCA", "serviceAccount", "apiServer",
        "controllerManager", "proxy", "scheduler", "discovery", "etcd", "coreDNS", "externalCloudProvider",
        "extraManifests", "extraManifestHeaders", "inlineManifests", "adminKubeconfig", "allowSchedulingOnMasters",
        "allowSchedulingOnControlPlanes",
    }),
    ("cluster", "network"): frozenset({"cni", "dnsDomain", "podSubnets", "serviceSubnets"}),
    ("cluster", "proxy"): frozenset({"disabled", "image", "mode", "extraArgs"}),
    ("cluster", "coreDNS"): frozenset({"disabled", "image"}),
    ("machine", "install"): frozenset({
        "disk", "diskSelector", "extraKernelArgs", "image", "extensions", "bootloader", "wipe", "legacyBIOSSupport",
        "grubUseUKICmdline",
    }),
    ("machine", "network"): frozenset({
        "hostname", "interfaces", "nameservers", "searchDomains", "extraHostEntries", "kubespan",
        "disableSearchDomain",
    }),
}  # fmt: skip
"""The fields of Talos 1.13, and some that it has dropped, where a mistake changes what a cluster is."""
_SECRETS = {"cluster", "secrets", "trustdinfo", "certs"}


def of(value: Any, *, is_near: bool = False) -> str:
    """What a document is: ``config``, ``patch``, ``JSON patch``, ``schematic``, ``secrets`` or a kind; else empty.

    Args:
        value: The document.
        is_near: Whether it stands where Talos files are, so that an unknown field is rather a mistake.
    """
    if isinstance(value, list):
        return JSON_PATCH if value and all(_is_operation(each) for each in value) else ""
    if not isinstance(value, Mapping):
        return ""
    if value.get("apiVersion") == "v1alpha1" and "metadata" not in value:
        kind = value.get("kind")
        return kind if isinstance(kind, str) and kind.endswith("Config") else ""
    keys = {str(key) for key in value if key != "sops"}
    if "customization" in keys and keys <= {"customization", "overlay", "owner"}:
        return SCHEMATIC
    if keys and keys <= _SECRETS and ("certs" in keys or "trustdinfo" in keys):
        return SECRETS
    if not keys & {"machine", "cluster"} or not keys <= _TOP:
        return ""
    known = any(str(key) in _FIELDS[part,] for part in ("machine", "cluster") for key in _mapping(value.get(part)))
    if not known and not is_near:
        return ""
    return CONFIG if value.get("version") == "v1alpha1" else PATCH


def listed(documents: Iterable[YamlDocument]) -> tuple[str, ...]:
    """What the documents of a file are that is known to be Talos's."""
    return tuple(of(each.value, is_near=True) or "other" for each in documents) or ("empty",)


def unknown_fields(value: Any) -> Iterator[tuple[Step, ...]]:
    """Fields that Talos does not have, so that it refuses the whole config."""
    for steps, fields in _FIELDS.items():
        here = value
        for step in steps:
            here = _mapping(here).get(step)
        for key in _mapping(here):
            if str(key) not in fields and key != "$patch":
                yield (*steps, key)


def is_omni(value: Any) -> bool:
    """Whether a document is one of an Omni cluster template."""
    return isinstance(value, Mapping) and str(value.get("kind")) in OMNI and "apiVersion" not in value


def is_encrypted(value: Any) -> bool:
    """Whether sops encrypted a document."""
    sops = value.get("sops") if isinstance(value, Mapping) else None
    return isinstance(sops, Mapping) and ("mac" in sops or "lastmodified" in sops)


def _is_operation(value: Any) -> bool:
    if not isinstance(value, Mapping) or "op" not in value:
        return False
    return str(value.get("path")).startswith(("/machine", "/cluster"))


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}
