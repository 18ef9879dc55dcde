"""Secrets that must exist before parts of a tree work: keys, credentials, variables, what stores log in with."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at
from firstlight.model import flux_names
from firstlight.model.component import SecretNeed
from firstlight.repo.flux import flux_objects
from firstlight.repo.flux.flux_objects import called, entries, mapping, text
from firstlight.repo.manifest import Manifest

_STORES = {"SecretStore", "ClusterSecretStore"}
_DEEPEST = 10
"""Levels below a store's provider; the deepest that its API has is six."""
_GLOBAL_KEY = re.compile(r"--sops-age-secret=(?P<name>[a-z0-9][a-z0-9.-]*)")
"""The argument of kustomize-controller that names the keys of Kustomizations without a Secret of their own."""


def of_kustomization(manifest: Manifest) -> Iterator[SecretNeed]:
    """What a Kustomization itself names."""
    spec = flux_objects.spec(manifest)
    namespace = manifest.id.namespace
    if name := text(mapping(mapping(spec.get("decryption")).get("secretRef")).get("name")):
        place = manifest.at("spec", "decryption", "secretRef")
        why = f"decrypts {called(manifest)}"
        yield SecretNeed(name=name, namespace=namespace, place=place, why=why, is_decryption=True)
    for number, each in enumerate(entries(mapping(spec.get("postBuild")).get("substituteFrom"))):
        each = mapping(each)
        if each.get("kind") == "Secret" and each.get("optional") is not True and text(each.get("name")):
            place = manifest.at("spec", "postBuild", "substituteFrom", number)
            why = f"variables of {called(manifest)}"
            yield SecretNeed(name=text(each["name"]), namespace=namespace, place=place, why=why)
    yield from _of_kubeconfig(manifest)


def of_helm_release(manifest: Manifest) -> Iterator[SecretNeed]:
    """What a HelmRelease itself names."""
    for number, each in enumerate(entries(flux_objects.spec(manifest).get("valuesFrom"))):
        each = mapping(each)
        if each.get("kind") == "Secret" and each.get("optional") is not True and text(each.get("name")):
            place = manifest.at("spec", "valuesFrom", number)
            keys = (text(each["valuesKey"]),) if text(each.get("valuesKey")) else ()
            why = f"values of {called(manifest)}"
            yield SecretNeed(name=text(each["name"]), namespace=manifest.id.namespace, keys=keys, place=place, why=why)
    yield from _of_kubeconfig(manifest)
    values = mapping(flux_objects.spec(manifest).get("values"))
    patches = mapping(mapping(values.get("instance")).get("kustomize")).get("patches")
    yield from _global_keys(patches, manifest, "spec", "values", "instance", "kustomize", "patches")


def of_source(manifest: Manifest | None) -> Iterator[SecretNeed]:
    """The credentials of a source."""
    if manifest is None:
        return
    for field in ("secretRef", "certSecretRef", "proxySecretRef"):
        if name := text(mapping(flux_objects.spec(manifest).get(field)).get("name")):
            why = f"credentials of {manifest.id.kind} {called(manifest)}"
            place = manifest.at("spec", field)
            yield SecretNeed(name=name, namespace=manifest.id.namespace, place=place, why=why)


def of_instance(manifest: Manifest) -> Iterator[SecretNeed]:
    """What a FluxInstance pulls its sources with."""
    if name := text(mapping(flux_objects.spec(manifest).get("sync")).get("pullSecret")):
        place = manifest.at("spec", "sync", "pullSecret")
        why = f"credentials of the source of FluxInstance {called(manifest)}"
        yield SecretNeed(name=name, namespace=manifest.id.namespace, place=place, why=why)
    patches = mapping(flux_objects.spec(manifest).get("kustomize")).get("patches")
    yield from _global_keys(patches, manifest, "spec", "kustomize", "patches")


def _global_keys(value: Any, manifest: Manifest, *steps: str) -> Iterator[SecretNeed]:
    """The keys that kustomize-controller is given for all Kustomizations, in its own namespace."""
    for name in dict.fromkeys(_GLOBAL_KEY.findall(str(value))) if value else ():
        why = "decrypts Kustomizations that name no Secret (--sops-age-secret)"
        yield SecretNeed(
            name=name, namespace=manifest.id.namespace, place=manifest.at(*steps), why=why, is_decryption=True
        )


def of_object(manifest: Manifest) -> Iterator[SecretNeed]:
    """What a store of External Secrets logs in with, or a receiver of webhooks knows its callers by."""
    if manifest.id.kind == flux_names.RECEIVER and manifest.id.group == flux_names.NOTIFICATION_GROUP:
        if name := text(mapping(flux_objects.spec(manifest).get("secretRef")).get("name")):
            place, why = manifest.at("spec", "secretRef"), f"token of Receiver {called(manifest)}"
            yield SecretNeed(name=name, namespace=manifest.id.namespace, keys=("token",), place=place, why=why)
        return
    if (manifest.id.kind, manifest.id.name) == ("Deployment", flux_names.KUSTOMIZE_CONTROLLER):
        yield from _global_keys(at(manifest.value, "spec", "template", "spec", "containers"), manifest, "spec")
    if manifest.id.kind not in _STORES or manifest.id.group != "external-secrets.io":
        return
    provider = mapping(flux_objects.spec(manifest).get("provider"))
    why = f"what the store {manifest.id.name} logs in with"
    for reference in _references(provider, 0):
        namespace = text(reference.get("namespace")) or manifest.id.namespace
        keys = (text(reference["key"]),) if text(reference.get("key")) else ()
        yield SecretNeed(name=text(reference["name"]), namespace=namespace, keys=keys, place=manifest.place, why=why)


def _references(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for name, each in value.items():
        if name.lower().endswith("secretref") and text(mapping(each).get("name")):
            yield each
        else:
            yield from _references(each, depth + 1)


def _of_kubeconfig(manifest: Manifest) -> Iterator[SecretNeed]:
    reference = mapping(mapping(flux_objects.spec(manifest).get("kubeConfig")).get("secretRef"))
    if name := text(reference.get("name")):
        place = manifest.at("spec", "kubeConfig", "secretRef")
        why = f"the cluster that {called(manifest)} is for"
        yield SecretNeed(name=name, namespace=manifest.id.namespace, place=place, why=why)
