"""The files that a source of Flux has, where they are files of this repo: all of them, a directory, an artifact."""

import json
from collections.abc import Sequence

from firstlight.model import flux_names
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ObjectReference
from firstlight.repo.flux import artifact_generators, artifact_pushes, flux_objects
from firstlight.repo.flux.artifact_generators import GeneratedArtifact, GeneratedArtifacts, SourceTree
from firstlight.repo.flux.flux_kustomizations import FluxSource, FluxSources, OwnSources
from firstlight.repo.flux.flux_objects import called, entries, mapping, text
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_KNOWN = "_artifacts"
"""Kept by the tree itself: clusters and passes ask for the same artifacts again."""
_DEEPEST = 8
"""Artifacts made of artifacts."""


class SourceTrees:
    """The files of the sources of one cluster."""

    def __init__(
        self, tree: WorkTree, sources: FluxSources, own: OwnSources, everywhere: Sequence[Manifest] = ()
    ) -> None:
        """Begin without generators.

        Args:
            tree: The repo.
            sources: The sources of the cluster.
            own: Which of them are this repo.
            everywhere: The ArtifactGenerators of the whole repo.
        """
        self._tree = tree
        self._sources = sources
        self._own = own
        self._everywhere = everywhere
        self._generators: list[Manifest] = []
        self.diagnostics: dict[Diagnostic, None] = {}

    def note(self, generator: Manifest) -> None:
        """Remember an ArtifactGenerator that the cluster's tree brings."""
        self._generators.append(generator)

    def is_awaited(self, source: FluxSource) -> bool:
        """Whether a source is one that something reached later may make."""
        return source.reference.kind == flux_names.EXTERNAL_ARTIFACT and self._made(source.reference, 0) is None

    def of(self, source: FluxSource, depth: int = 0) -> SourceTree | None:
        """The files of a source; None where it is the repo as a whole, or not known to be of it."""
        if source.reference.kind == flux_names.EXTERNAL_ARTIFACT:
            made = self._made(source.reference, depth) or self._made_elsewhere(source.reference, depth)
            return None if made is None else _as_source(made)
        if source.reference.kind == flux_names.OCI_REPOSITORY and source.url:
            return artifact_pushes.pushed(self._tree, source.url)
        return None

    def only_source(self, reference: ObjectReference) -> Manifest | None:
        """The source elsewhere that an artifact is a copy of, if it is only that."""
        made = self._made(reference, 0)
        return made.only_source if made else None

    def _made(self, reference: ObjectReference, depth: int) -> GeneratedArtifact | None:
        for generator in self._generators:
            if generator.id.namespace == reference.namespace:
                for artifact in self._generated(generator, depth).artifacts:
                    if artifact.name == reference.name:
                        return artifact
        return None

    def _made_elsewhere(self, reference: ObjectReference, depth: int) -> GeneratedArtifact | None:
        """One of a generator that nothing in the cluster's tree brings."""
        for generator in self._everywhere:
            if generator.id.namespace in ("", reference.namespace):
                for artifact in self._generated(generator, depth, is_said=False).artifacts:
                    if artifact.name == reference.name:
                        doubt = f"its ArtifactGenerator is at {generator.place}, and not in the cluster's tree"
                        return GeneratedArtifact(artifact.name, generator, artifact.tree, artifact.unread, doubt)
        return None

    def _generated(self, generator: Manifest, depth: int, *, is_said: bool = True) -> GeneratedArtifacts:
        if depth > _DEEPEST:
            return GeneratedArtifacts()
        sources = {
            text(each.get("alias")): self._alias(each, generator, depth)
            for each in map(mapping, entries(flux_objects.spec(generator).get("sources")))
        }
        known: dict[tuple[object, ...], GeneratedArtifacts] = self._tree.__dict__.setdefault(_KNOWN, {})
        written = json.dumps(flux_objects.spec(generator), sort_keys=True, default=str)
        seen = tuple((alias, id(each.tree), each.reason) for alias, each in sources.items())
        key = (generator.place, generator.id, written, seen)
        if key not in known:
            known[key] = artifact_generators.generate(generator, self._tree, sources)
        if is_said:
            self.diagnostics.update(dict.fromkeys(known[key].diagnostics))
        return known[key]

    def _alias(self, written: object, generator: Manifest, depth: int) -> SourceTree:
        entry = mapping(written)
        kind, name = text(entry.get("kind")), text(entry.get("name"))
        found = self._sources.find(kind, name, text(entry.get("namespace")) or generator.id.namespace)
        if (files := self.of(found, depth + 1)) is not None:
            return files
        if self._own.is_own(found):
            return SourceTree(self._tree)
        if found.manifest is not None:
            where = found.url[:120] or "from elsewhere"
            return SourceTree(None, f"{found.reference} fetches {where}, which is not this repo", found.manifest)
        if kind == flux_names.GIT_REPOSITORY:
            return SourceTree(self._tree, f"{found.reference} is nowhere in the repo; taken for this repo")
        return SourceTree(None, f"{found.reference} is nowhere in the repo")


def _as_source(made: GeneratedArtifact) -> SourceTree:
    unread = made.unread or f"ArtifactGenerator {called(made.generator)} puts nothing into it"
    return SourceTree(made.tree, made.doubt if made.tree is not None else unread, unread=made.unread)
