"""Files that a kustomization takes in: as patches, for generators, as values of charts."""

import enum
import posixpath
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.repo.kustomize import kustomization
from firstlight.repo.work_tree import WorkTree, join


class Use(enum.Enum):
    """What a kustomization does with a file that is not one of its resources."""

    PATCH = "patch"
    VALUES = "values"
    """It becomes a ConfigMap, or is given to a chart, with values in it."""
    GENERATED = "ConfigMap"
    HIDDEN = "Secret"


_KNOWN: weakref.WeakKeyDictionary[WorkTree, dict[str, Mapping[str, Use]]] = weakref.WeakKeyDictionary()


def use_of(tree: WorkTree, path: str) -> Use | None:
    """What a kustomization beside or above a file does with it; None where none names it so."""
    known = _KNOWN.setdefault(tree, {})
    directory = posixpath.dirname(path)
    while True:
        at = directory or "."
        if at not in known:
            known[at] = dict(_uses(tree, at))
        if path in known[at]:
            return known[at][path]
        if not directory:
            return None
        directory = posixpath.dirname(directory)


def _uses(tree: WorkTree, directory: str) -> Iterator[tuple[str, Use]]:
    file = kustomization.file_of(tree, directory)
    documents = tree.documents(file) if file else ()
    value = documents[0].value if documents else None
    for entry, use in _entries(value):
        path = join(directory, entry) if isinstance(entry, str) and "\n" not in entry else None
        if path is not None:
            yield path, use


def _entries(value: Any) -> Iterator[tuple[Any, Use]]:
    for key in ("patches", "patchesJson6902"):
        for each in within.sequence(value, key):
            yield within.at(each, "path"), Use.PATCH
    for each in within.sequence(value, "patchesStrategicMerge"):
        yield each, Use.PATCH
    for each in within.sequence(value, "helmCharts"):
        yield within.at(each, "valuesFile"), Use.VALUES
        for file in within.sequence(each, "additionalValuesFiles"):
            yield file, Use.VALUES
    for key, use in (("configMapGenerator", Use.GENERATED), ("secretGenerator", Use.HIDDEN)):
        for each in within.sequence(value, key):
            for file in (*within.sequence(each, "files"), *within.sequence(each, "envs"), within.at(each, "env")):
                name, _, path = file.rpartition("=") if isinstance(file, str) else ("", "", None)
                yield path, Use.VALUES if use is Use.GENERATED and _is_values(name, path) else use


def _is_values(name: str, path: str | None) -> bool:
    """Whether a file of a ConfigMap has values, by the key that Flux takes them from, or by its own name."""
    key = name or posixpath.basename(path or "")
    return key.startswith(("values", "helm-values")) or key.endswith(("values.yaml", "values.yml"))
