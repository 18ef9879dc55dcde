"""Whether a source is this very repo, which is what decides if a Kustomization can be followed."""

from firstlight.model.source import Reference
from firstlight.repo.flux import kustomizations
from firstlight.repo.flux.sources import Source, same_place
from firstlight.repo.flux.start import Start
from firstlight.repo.work_tree import WorkTree


class Own:
    """The source of a cluster's first Kustomization: what it fetches is what lies here."""

    def __init__(self, tree: WorkTree, start: Start) -> None:
        self._tree = tree
        self._references = {kustomizations.source_reference(each) for each in start.manifests}
        self._places: set[str] = set()

    def know(self, source: Source) -> None:
        """Remember where this repo is fetched from."""
        if source.url:
            self._places.add(same_place(source.url))

    def is_own(self, source: Source) -> bool:
        """Whether a source is this repo."""
        named = Reference(kind=source.reference.kind, name=source.reference.name, namespace=source.reference.namespace)
        if named in self._references:
            self.know(source)
            return True
        return bool(source.url) and same_place(source.url) in self._places

    def elsewhere(self, source: Source, path: str) -> str:
        """Why a Kustomization is not followed; empty if it is."""
        if self.is_own(source):
            return ""
        if source.manifest is not None:
            return f"{source.reference} fetches {source.url[:120] or 'from elsewhere'}, which is not this repo"
        if source.reference.kind != "GitRepository":
            return f"{source.reference} is nowhere in the repo"
        return "" if self._tree.is_dir(path) else f"{source.reference} is nowhere in the repo, and its path neither"

    def doubt(self, source: Source) -> str:
        """Why it is not certain that a source is this repo."""
        if self.is_own(source):
            return ""
        return f"{source.reference} is nowhere in the repo; taken for this repo, since the path is here"
