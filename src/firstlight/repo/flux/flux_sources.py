"""Sources of Flux: found by the names that others give them, and told whether they are this very repo."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model import flux_names
from firstlight.model.source import ObjectReference
from firstlight.repo.flux import flux_kustomizations
from firstlight.repo.flux.flux_bootstrap import FluxStart
from firstlight.repo.flux.flux_objects import mapping, spec, text
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

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
        self._references = {flux_kustomizations.source_reference(each) for each in start.manifests}
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
