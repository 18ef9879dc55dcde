"""Talos's own secrets, if they stand unencrypted in a repo; their values are never shown."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos import document_kinds
from firstlight.repo.talos.config_files import ConfigDocument, mapping
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.work_tree import WorkTree

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
_OF_KIND = {document_kinds.CONFIG: _CONFIG, document_kinds.PATCH: _CONFIG, document_kinds.SECRETS: _BUNDLE}
_DOCUMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "DiscoveryIdentityConfig": (("clusterSecret",),),
    "KubeAPIServerCAConfig": (("issuingCA", "key"),),
    "KubeAggregatorCAConfig": (("issuingCA", "key"),),
    "KubeServiceAccountConfig": (("key",),),
    "HCloudVIPConfig": (("apiToken",),),
    "WireguardConfig": (("privateKey",),),
    "RegistryAuthConfig": (("password",), ("auth",), ("identityToken",)),
}


def reference(tree: WorkTree, files: Mapping[str, tuple[str, ...]]) -> str:
    """Where the secrets of a cluster are, if exactly one of its files has them; empty if none does, or several do."""
    paths = [path for path, found in files.items() if document_kinds.SECRETS in found]
    if len(paths) != 1:
        return ""
    is_encrypted = any(document_kinds.is_encrypted(each.value) for each in tree.documents(paths[0]))
    return f"{'sops' if is_encrypted else 'file'}:{paths[0]}"


def is_complete(value: Any) -> bool:
    """Whether a whole config has the keys of its cluster, encrypted or not; references to other places are none."""
    found = [_get(value, ("machine", "token")), _get(value, ("machine", "ca", "crt"))]
    elsewhere = tuple(each for each in _REFERENCES if each != "ENC[")
    return all(isinstance(each, str) and bool(each) and not each.startswith(elsewhere) for each in found)


def exposed(configs: Iterable[ConfigDocument]) -> Iterator[Diagnostic]:
    """A warning for each document of machine config, or bundle of secrets, that holds them as plain text."""
    for config in configs:
        kind = document_kinds.of(config.value, is_near=True)
        fields = _OF_KIND.get(kind) or _DOCUMENTS.get(kind, ())
        if document_kinds.is_encrypted(config.value):
            continue
        found = [steps for steps in fields if _is_secret(_get(config.value, steps))]
        if found:
            listed = ", ".join(".".join(steps) for steps in found)
            hint = "Encrypt it with sops or keep references, and make new secrets: Git remembers these."
            yield Diagnostic.warning(
                "talos-secrets-in-clear",
                f"unencrypted Talos secrets in Git: {listed}",
                at=config.place(*found[0]),
                fix=hint,
            )


def exposed_client(document: YamlDocument) -> Iterator[Diagnostic]:
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


def _get(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = mapping(value).get(step)
    return value
