"""Kinds of Talos documents, told by their keys, and the secrets in them."""

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import cluster
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos.config_files import ConfigDocument, mapping
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.work_tree import WorkTree

CONFIG = "config"
PATCH = "patch"
JSON_PATCH = "JSON patch"
SCHEMATIC = cluster.SCHEMATIC
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
_KINDS_BY_WORD = {"volume": "UserVolumeConfig", "link": "LinkConfig", "vlan": "VLANConfig", "bond": "BondConfig"}
"""Kinds of documents by words in the fields that people write instead of them."""
_SECRETS = {"cluster", "secrets", "trustdinfo", "certs"}


def field_instead(steps: tuple[str, ...]) -> str:
    """Return what to write instead of a field that Talos does not have."""
    name = steps[-1]
    if near := difflib.get_close_matches(name, sorted(_FIELDS.get(steps[:-1], ())), n=1, cutoff=0.8):
        return f"Write {'.'.join((*steps[:-1], near[0]))}."
    kind = next((kind for word, kind in _KINDS_BY_WORD.items() if word in name.lower()), "")
    return (
        f"Write a document of kind {kind} beside the config."
        if kind
        else "Take it out: what is newer than the v1alpha1 config has a document of its own kind."
    )


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


# Talos's own secrets, if they stand unencrypted in a repo; their values are never shown.


_REFERENCES = ("op://", "ref+", "vault:", "sops:", "env:", "file:", "ENC[", "$", "<", "{{", "secretref+", "awssecret")
"""What stands for a secret that is kept elsewhere."""
_CONFIG: tuple[tuple[str, ...], ...] = (
    ("cluster", "secret"), ("cluster", "token"), ("machine", "token"), ("machine", "ca", "key"),
    ("cluster", "ca", "key"), ("cluster", "aggregatorCA", "key"), ("cluster", "etcd", "ca", "key"),
    ("cluster", "serviceAccount", "key"), ("cluster", "aescbcEncryptionSecret"),
    ("cluster", "secretboxEncryptionSecret"),
)  # fmt: skip
_BUNDLE: tuple[tuple[str, ...], ...] = (
    ("cluster", "secret"), ("secrets", "bootstraptoken"), ("secrets", "secretboxencryptionsecret"),
    ("secrets", "aescbcencryptionsecret"), ("trustdinfo", "token"), ("certs", "etcd", "key"), ("certs", "k8s", "key"),
    ("certs", "k8saggregator", "key"), ("certs", "k8sserviceaccount", "key"), ("certs", "os", "key"),
)  # fmt: skip
_OF_KIND = {CONFIG: _CONFIG, PATCH: _CONFIG, SECRETS: _BUNDLE}
_DOCUMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "DiscoveryIdentityConfig": (("clusterSecret",),),
    "KubeAPIServerCAConfig": (("issuingCA", "key"),),
    "KubeAggregatorCAConfig": (("issuingCA", "key"),),
    "KubeServiceAccountConfig": (("issuer", "privateKey"),),
    "KubeEtcdEncryptionConfig": (("config", "resources", "*", "providers", "*", "*", "keys", "*", "secret"),),
    "HCloudVIPConfig": (("apiToken",),),
    "WireguardConfig": (("privateKey",),),
    "RegistryAuthConfig": (("password",), ("auth",), ("identityToken",)),
}


def secrets_reference(tree: WorkTree, files: Mapping[str, tuple[str, ...]]) -> str:
    """Where the secrets of a cluster are, if exactly one of its files has them; empty if none does, or several do."""
    paths = [path for path, found in files.items() if SECRETS in found]
    if len(paths) != 1:
        return ""
    is_hidden = any(is_encrypted(each.value) for each in tree.documents(paths[0]))
    return f"{'sops' if is_hidden else 'file'}:{paths[0]}"


def has_secrets(value: Any) -> bool:
    """Whether a whole config has the keys of its cluster, encrypted or not; references to other places are none."""
    found = [_get(value, ("machine", "token")), _get(value, ("machine", "ca", "crt"))]
    elsewhere = tuple(each for each in _REFERENCES if each != "ENC[")
    return all(isinstance(each, str) and bool(each) and not each.startswith(elsewhere) for each in found)


def exposed_secrets(configs: Iterable[ConfigDocument]) -> Iterator[Diagnostic]:
    """A warning for each document of machine config, or bundle of secrets, that holds them as plain text."""
    for config in configs:
        kind = of(config.value, is_near=True)
        fields = _OF_KIND.get(kind) or _DOCUMENTS.get(kind, ())
        if is_encrypted(config.value):
            continue
        found = [steps for steps in fields if any(map(_is_secret, _all(config.value, steps)))]
        if found:
            listed = ", ".join(".".join(step for step in steps if step != "*") for steps in found)
            hint = "Encrypt it with sops or keep references, and rotate the CAs with talosctl rotate-ca."
            yield Diagnostic.warning(
                "talos-secrets-in-clear",
                f"unencrypted Talos secrets in Git: {listed}",
                at=config.place(*(step for step in itertools.takewhile(lambda step: step != "*", found[0]))),
                fix=hint,
            )


def exposed_client_keys(document: YamlDocument) -> Iterator[Diagnostic]:
    """A warning for a talosconfig with the key of a client."""
    contexts = mapping(mapping(document.value).get("contexts"))
    for name, context in contexts.items():
        if _is_secret(mapping(context).get("key")):
            steps: tuple[Step, ...] = ("contexts", str(name), "key")
            message = "unencrypted Talos secrets in Git: the key of a client, which may do anything to its machines"
            hint = "Keep talosconfig out of Git, and roll the certificate authority: Git remembers this key."
            yield Diagnostic.warning("talos-secrets-in-clear", message, at=document.place(*steps), fix=hint)
            return


def _is_secret(value: Any) -> bool:
    return (
        isinstance(value, str)
        and bool(value.strip())
        and not (value.startswith(_REFERENCES) or unknown_values.has_mark(value) or "{{" in value)
    )


def _all(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """The values at a way, of which a star is every item of a list or mapping."""
    if not steps:
        yield value
        return
    first, *rest = steps
    if first != "*":
        inner = [mapping(value).get(first)]
    else:
        inner = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    for each in inner:
        yield from _all(each, tuple(rest))


def _get(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = mapping(value).get(step)
    return value
