"""Files that a kustomization takes in: as patches, for generators, as values of charts."""

import enum
import functools
import posixpath
from collections.abc import Iterator, Mapping

from firstlight.repo.kustomize import kustomization
from firstlight.repo.kustomize.kustomization import Named
from firstlight.repo.work_tree import WorkTree, join


class Use(enum.Enum):
    """What a kustomization does with a file."""

    RESOURCE = "resource"
    """It is applied, whatever it is called."""
    PATCH = "patch"
    REPLACEMENT = "replacement"
    VALUES = "values"
    """It becomes a ConfigMap, or is given to a chart, with values in it."""
    GENERATED = "ConfigMap"
    HIDDEN = "Secret"


_USES = {
    "resources": Use.RESOURCE, "bases": Use.RESOURCE, "components": Use.RESOURCE, "crds": Use.RESOURCE,
    "generators": Use.RESOURCE, "transformers": Use.RESOURCE, "validators": Use.RESOURCE,
    "patches": Use.PATCH, "patchesJson6902": Use.PATCH, "patchesStrategicMerge": Use.PATCH,
    "replacements": Use.REPLACEMENT, "helmCharts": Use.VALUES, "configMapGenerator": Use.GENERATED,
    "secretGenerator": Use.HIDDEN,
}  # fmt: skip


class Uses:
    """What the kustomizations of a tree do with its files; each is read once."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._known: dict[str, Mapping[str, Use]] = {}

    def of(self, path: str) -> Use | None:
        """What a kustomization beside or above a file does with it; None where none names it so."""
        directory = posixpath.dirname(path)
        while True:
            at = directory or "."
            if at not in self._known:
                self._known[at] = dict(_uses(self._tree, at))
            if path in self._known[at]:
                return self._known[at][path]
            if not directory:
                return None
            directory = posixpath.dirname(directory)

    def anywhere(self, path: str) -> Use | None:
        """The same of all kustomizations, wherever they stand."""
        return self.of(path) or next((found[path] for found in self._everything.values() if path in found), None)

    def reaches(self, top: str) -> bool:
        """Whether a kustomization elsewhere takes in something of a directory at the top of the repo."""
        inside = f"{top}/"
        return any(
            named.startswith(inside)
            for directory, found in self._everything.items()
            if not f"{directory}/".startswith(inside)
            for named in found
        )

    @functools.cached_property
    def _everything(self) -> Mapping[str, Mapping[str, Use]]:
        files = [each for each in self._tree.files if posixpath.basename(each) in kustomization.NAMES]
        places = dict.fromkeys(posixpath.dirname(each) or "." for each in files)
        return {each: dict(_uses(self._tree, each)) for each in places}


def _uses(tree: WorkTree, directory: str) -> Iterator[tuple[str, Use]]:
    file = kustomization.file_of(tree, directory)
    documents = tree.documents(file) if file else ()
    for each in kustomization.named_files(documents[0].value if documents else None):
        use, path = _USES.get(each.field), join(directory, each.path)
        if use is not None and path is not None:
            yield path, Use.VALUES if use is Use.GENERATED and _is_values(each) else use


def _is_values(named: Named) -> bool:
    """Whether a file of a ConfigMap has values, by the key that Flux takes them from, or by its own name."""
    key = named.key or posixpath.basename(named.path)
    return key.startswith(("values", "helm-values")) or key.endswith(("values.yaml", "values.yml"))
