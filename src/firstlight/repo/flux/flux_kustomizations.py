"""Kustomizations of Flux: what they add to a build, and what is known of them as origins."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.component import ComponentNeed, ObjectId, Origin, SecretNeed, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, ObjectReference, RemoteSource, Unresolved
from firstlight.repo.flux import flux_objects, post_build
from firstlight.repo.flux.flux_objects import entries, mapping, text
from firstlight.repo.kustomize import Overlay
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join


def id_of(namespace: str, name: str) -> str:
    """The id of the origin that a Kustomization is."""
    return "/".join(each for each in ("kustomization", namespace, name) if each)


def source_reference(manifest: Manifest) -> ObjectReference:
    """The source that a Kustomization names."""
    written = mapping(flux_objects.spec(manifest).get("sourceRef"))
    return ObjectReference(
        kind=text(written.get("kind")),
        name=text(written.get("name")),
        namespace=text(written.get("namespace")) or manifest.id.namespace,
    )


def overlay(manifest: Manifest, tree: WorkTree, path: str) -> Overlay:
    """What a Kustomization adds to the kustomization of its directory."""
    spec = flux_objects.spec(manifest)
    fields: dict[str, Any] = {}
    if text(spec.get("targetNamespace")):
        fields["namespace"] = text(spec["targetNamespace"])
    for name in ("namePrefix", "nameSuffix"):
        if text(spec.get(name)):
            fields[name] = text(spec[name])
    patches = [
        {"patch": text(each.get("patch")), **({"target": each["target"]} if each.get("target") else {})}
        for each in map(mapping, entries(spec.get("patches")))
    ]
    components = [text(each) for each in entries(spec.get("components"))]
    if spec.get("ignoreMissingComponents") is True:
        components = [each for each in components if tree.is_dir(join(path, each) or "")]
    # Both are written as objects here, and as texts in a file of kustomize.
    merges = [{"patch": json.dumps(each)} for each in entries(spec.get("patchesStrategicMerge"))]
    by_json = [
        {"patch": json.dumps(each.get("patch")), "target": mapping(each.get("target"))}
        for each in map(mapping, entries(spec.get("patchesJson6902")))
    ]
    found = {
        "patches": patches,
        "components": components,
        "patchesStrategicMerge": merges,
        "patchesJson6902": by_json,
        "images": [each for each in entries(spec.get("images")) if isinstance(each, dict)],
    }
    return Overlay(manifest.place, {**fields, **{name: each for name, each in found.items() if each}})


def with_common_metadata(manifest: Manifest, spec: Mapping[str, Any]) -> Manifest:
    """An object with the labels and annotations that a Kustomization puts on all of its objects."""
    common = mapping(spec.get("commonMetadata"))
    added = {name: mapping(common.get(name)) for name in ("labels", "annotations") if mapping(common.get(name))}
    if not added:
        return manifest
    metadata = mapping(manifest.value.get("metadata"))
    both = {name: {**mapping(metadata.get(name)), **pairs} for name, pairs in added.items()}
    value = {**manifest.value, "metadata": {**metadata, **both}}
    return Manifest(value, manifest.place, manifest.document, manifest.steps)


def origin(
    manifest: Manifest,
    *,
    cluster: str,
    parent: str,
    path: str,
    remote: RemoteSource | Unresolved | None,
    objects: Sequence[ObjectId] = (),
    stated: Sequence[Manifest] = (),
    secrets: Sequence[SecretNeed] = (),
    doubt: str = "",
) -> Origin:
    """A Kustomization as an origin.

    Args:
        manifest: The Kustomization, as Flux would see it.
        cluster: The cluster that applies it.
        parent: The id of the Kustomization that brings it.
        path: Its directory, from the repo's root.
        remote: Where its manifests are, if they are not in this repo.
        objects: What it applies itself.
        stated: The same as it is stated, with what declares its children.
        secrets: The Secrets that it needs.
        doubt: Why any of it is uncertain.
    """
    spec = flux_objects.spec(manifest)
    return Origin(
        form=SourceForm.KUSTOMIZATION,
        side=Side.GITOPS,
        place=manifest.place,
        name=manifest.id.name,
        namespace=manifest.id.namespace,
        cluster=cluster,
        source=remote or _directory(spec, path, manifest),
        version=remote.revision if isinstance(remote, RemoteSource) else "",
        needs=tuple(needs(manifest, "kustomization")),
        parent=parent,
        suspended=spec.get("suspend") is True,
        objects=tuple(objects),
        stated=tuple(stated),
        secrets=tuple(secrets),
        definition=manifest.value,
        doubt=doubt,
    )


def _directory(spec: Mapping[str, Any], path: str, manifest: Manifest) -> DirectorySource:
    build = mapping(spec.get("postBuild"))
    return DirectorySource(
        path=path,
        source=source_reference(manifest),
        substitute={str(name): text(value) for name, value in mapping(build.get("substitute")).items()},
        substitute_from=tuple(post_build.variable_references(spec, manifest.id.namespace)),
        target_namespace=text(spec.get("targetNamespace")),
        name_prefix=text(spec.get("namePrefix")),
        name_suffix=text(spec.get("nameSuffix")),
        common_metadata=mapping(spec.get("commonMetadata")),
        components=tuple(text(each) for each in entries(spec.get("components"))),
        patches=tuple(each for each in entries(spec.get("patches")) if isinstance(each, dict)),
        images=tuple(each for each in entries(spec.get("images")) if isinstance(each, dict)),
        decryption=_decryption(spec, manifest.id.namespace),
    )


def _decryption(spec: Mapping[str, Any], namespace: str) -> str:
    written = mapping(spec.get("decryption"))
    name = text(mapping(written.get("secretRef")).get("name"))
    secret = str(ObjectReference(kind="Secret", name=name, namespace=namespace)) if name else ""
    return " ".join(each for each in (text(written.get("provider")), secret) if each)


def elsewhere(manifest: Manifest) -> str:
    """Why a Kustomization or a HelmRelease is not for the cluster that it is in; empty if it is."""
    written = mapping(flux_objects.spec(manifest).get("kubeConfig"))
    reference = mapping(written.get("secretRef") or written.get("configMapRef"))
    return f"it is for another cluster, by the kubeconfig in {text(reference.get('name'))}" if written else ""


def needs(manifest: Manifest, form: str) -> list[ComponentNeed]:
    """What a Kustomization or a HelmRelease waits for."""
    found = []
    for number, entry in enumerate(entries(flux_objects.spec(manifest).get("dependsOn"))):
        name = text(mapping(entry).get("name"))
        namespace = text(mapping(entry).get("namespace")) or manifest.id.namespace
        if name:
            place: Place = manifest.at("spec", "dependsOn", number)
            found.append(
                ComponentNeed(
                    id="/".join(each for each in (form, namespace, name) if each), place=place, why="dependsOn"
                )
            )
    return found
