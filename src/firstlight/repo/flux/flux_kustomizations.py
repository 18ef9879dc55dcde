"""Kustomizations of Flux as origins, and the sources that they and HelmReleases read from.

Whether a source is this very repo decides if a Kustomization can be followed.
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model import flux_names
from firstlight.model.component import ComponentNeed, ObjectId, Origin, SecretNeed, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, ObjectReference, RemoteSource, Unresolved
from firstlight.repo.flux import flux_objects, post_build
from firstlight.repo.flux.flux_bootstrap import FluxStart
from firstlight.repo.flux.flux_objects import entries, mapping, spec, text
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
                    id="/".join(each for each in (form, namespace, name) if each),
                    place=place,
                    why="dependsOn",
                    is_awaited=True,
                )
            )
    return found


# Sources, found by the names that others give them, and told whether they are this very repo.


_SCP = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>[^/].*)")
_URL = re.compile(r"[a-z+]+://(?:[^@/]*@)?(?P<host>[^/]*)/(?P<path>.*)")


@dataclasses.dataclass(frozen=True, slots=True)
class FluxSource:
    """A source that somebody names."""

    reference: ObjectReference
    manifest: Manifest | None = None
    """Where it is declared; None where nothing in the repo declares it."""
    is_reached: bool = True
    """Whether the cluster's own tree brings it."""

    @property
    def url(self) -> str:
        """Where it fetches from."""
        return "" if self.manifest is None else text(spec(self.manifest).get("url"))

    @property
    def revision(self) -> str:
        """What it fetches, as people call it: a tag, a branch, a range of versions, a commit."""
        return revision(source_ref(self.manifest))


def source_ref(manifest: Manifest | None) -> Mapping[str, Any]:
    """The ``ref`` of a source; empty if there is none."""
    return {} if manifest is None else mapping(spec(manifest).get("ref"))


def revision(written: Mapping[str, Any]) -> str:
    """What a ``ref`` pins, the hardest first, as Flux goes through it."""
    for name in ("digest", "commit", "name", "semver", "tag", "branch"):
        if found := text(written.get(name)):
            return found.removeprefix("refs/heads/").removeprefix("refs/tags/")
    return ""


def same_place(url: str) -> str:
    """A Git URL without what does not matter: scheme, user, port, ``.git``; equal for the same repository."""
    match = _URL.fullmatch(url.strip()) or _SCP.fullmatch(url.strip())
    if match is None:
        return url.strip().rstrip("/").removesuffix(".git")
    host = match["host"].lower().partition(":")[0].removeprefix("ssh.").removeprefix("www.")
    return f"{host}/{match['path'].strip('/').removesuffix('.git').lower()}"


class FluxSources:
    """The sources of one cluster; those of the rest of the repo are known too, and told apart."""

    def __init__(self, everywhere: Sequence[Manifest]) -> None:
        self._reached: dict[tuple[str, str, str], Manifest] = {}
        self._everywhere = everywhere

    def note(self, manifest: Manifest) -> None:
        """Remember a source that the cluster's tree brings."""
        self._reached.setdefault((manifest.id.kind, manifest.id.namespace, manifest.id.name), manifest)

    def find(self, kind: str, name: str, namespace: str) -> FluxSource:
        """A source by its name."""
        reference = ObjectReference(kind=kind, name=name, namespace=namespace)
        found = self._reached.get((kind, namespace, name))
        if found is not None:
            return FluxSource(reference, found)
        # Elsewhere in the repo a namespace may be missing, since a kustomization sets it.
        same = [each for each in self._everywhere if each.id.kind == kind and each.id.name == name]
        exact = [each for each in same if each.id.namespace == namespace] or [e for e in same if not e.id.namespace]
        return FluxSource(reference, exact[0] if exact else None, is_reached=False)


# Whether a source is this very repo, which is what decides if a Kustomization can be followed.


class OwnSources:
    """The source of a cluster's first Kustomization: what it fetches is what lies here."""

    def __init__(self, tree: WorkTree, start: FluxStart) -> None:
        self._tree = tree
        self._references = {source_reference(each) for each in start.manifests}
        self._places: set[str] = set()

    def know(self, source: FluxSource) -> None:
        """Remember where this repo is fetched from."""
        if source.url:
            self._places.add(same_place(source.url))

    def is_own(self, source: FluxSource) -> bool:
        """Whether a source is this repo."""
        named = ObjectReference(
            kind=source.reference.kind, name=source.reference.name, namespace=source.reference.namespace
        )
        if named in self._references:
            self.know(source)
            return True
        return bool(source.url) and same_place(source.url) in self._places

    def elsewhere(self, source: FluxSource, path: str) -> str:
        """Why a Kustomization is not followed; empty if it is."""
        if self.is_own(source):
            return ""
        if source.manifest is not None:
            return f"{source.reference} fetches {source.url[:120] or 'from elsewhere'}, which is not this repo"
        if source.reference.kind != flux_names.GIT_REPOSITORY:
            return f"{source.reference} is nowhere in the repo"
        return "" if self._tree.is_dir(path) else f"{source.reference} is nowhere in the repo, and its path neither"

    def doubt(self, source: FluxSource) -> str:
        """Why it is not certain that a source is this repo."""
        if self.is_own(source):
            return ""
        return f"{source.reference} is nowhere in the repo; taken for this repo, since the path is here"
