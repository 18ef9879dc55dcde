"""Files that a kustomization takes in: as patches, for generators, as values of charts."""

import dataclasses
import enum
import functools
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.change import Change, ChangedField, ChangeVerb
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Severity
from firstlight.repo.changes import compare_fields, compared_pieces, file_documents
from firstlight.repo.changes.compared_pieces import Piece
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.kustomize.kustomization_file import NamedFile
from firstlight.repo.work_tree import WorkTree, join


class KustomizationUse(enum.Enum):
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
    "resources": KustomizationUse.RESOURCE,
    "bases": KustomizationUse.RESOURCE,
    "components": KustomizationUse.RESOURCE,
    "crds": KustomizationUse.RESOURCE,
    "generators": KustomizationUse.RESOURCE,
    "transformers": KustomizationUse.RESOURCE,
    "validators": KustomizationUse.RESOURCE,
    "patches": KustomizationUse.PATCH,
    "patchesJson6902": KustomizationUse.PATCH,
    "patchesStrategicMerge": KustomizationUse.PATCH,
    "replacements": KustomizationUse.REPLACEMENT,
    "helmCharts": KustomizationUse.VALUES,
    "configMapGenerator": KustomizationUse.GENERATED,
    "secretGenerator": KustomizationUse.HIDDEN,
}


class KustomizationUses:
    """What the kustomizations of a tree do with its files; each is read once."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._known: dict[str, Mapping[str, KustomizationUse]] = {}

    def of(self, path: str) -> KustomizationUse | None:
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

    def anywhere(self, path: str) -> KustomizationUse | None:
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
    def _everything(self) -> Mapping[str, Mapping[str, KustomizationUse]]:
        files = [each for each in self._tree.files if posixpath.basename(each) in kustomization_file.NAMES]
        places = dict.fromkeys(posixpath.dirname(each) or "." for each in files)
        return {each: dict(_uses(self._tree, each)) for each in places}


def _uses(tree: WorkTree, directory: str) -> Iterator[tuple[str, KustomizationUse]]:
    file = kustomization_file.file_of(tree, directory)
    documents = tree.documents(file) if file else ()
    for each in kustomization_file.named_files(documents[0].value if documents else None):
        use, path = _USES.get(each.field), join(directory, each.path)
        if use is not None and path is not None:
            yield path, KustomizationUse.VALUES if use is KustomizationUse.GENERATED and _is_values(each) else use


def _is_values(named: NamedFile) -> bool:
    """Whether a file of a ConfigMap has values, by the key that Flux takes them from, or by its own name."""
    key = named.key or posixpath.basename(named.path)
    return key.startswith(("values", "helm-values")) or key.endswith(("values.yaml", "values.yml"))


# What a kustomization lists under another name than before: the same files are built, so that nothing came or went.


_MEMBERS = ("resources", "crds")
"""Lists of which only the members count: what is in them may be spread over other files."""
_NAMED = ("bases", "components", "generators", "transformers", "validators", "patchesStrategicMerge")
"""Lists of names in which the order counts."""
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_MOST = 500
"""Files of a directory that are held against those of another one."""
_Contents = frozenset[Any]


def is_kustomization(piece: Piece | None) -> bool:
    """Whether it is one itself, and not a file that one takes in."""
    return piece is not None and posixpath.basename(piece.path) in kustomization_file.NAMES


def renamed_piece(first: Piece, second: Piece, before: WorkTree, after: WorkTree) -> Piece:
    """The second one, with the names that the first one has for files that are the same."""
    if not isinstance(first.value, Mapping) or not isinstance(second.value, Mapping):
        return second
    value = dict(second.value)
    for field in (*_NAMED, *_WITH_PATH):
        old, new = (dict(_listed(each.value, field)) for each in (first, second))
        names: dict[str, str] = {}
        for name in [each for each in new if each not in old]:
            content = _content(after, second.path, name)
            same = (each for each in old if each not in new and each not in names.values())
            found = next((each for each in same if content and _content(before, first.path, each) == content), None)
            if found is not None:
                names[name] = found
        if names:
            value[field] = [_called(each, names) for each in within.sequence(value, field)]
    return dataclasses.replace(second, value=value)


def without_same(change: Change, first: Piece, second: Piece, *, before: WorkTree, after: WorkTree) -> Change | None:
    """A change of a kustomization without names that went or came, while all that is in their files stays."""
    if not any(_is_member(each) for each in change.fields):
        return change
    kept: list[ChangedField] = []
    for member in _MEMBERS:
        was = _union(_content(before, first.path, name) for name, _ in _listed(first.value, member))
        will = _union(_content(after, second.path, name) for name, _ in _listed(second.value, member))
        for each in change.fields:
            if not _is_member(each) or each.steps[0] != member:
                continue
            is_gone = each.verb is ChangeVerb.REMOVED
            tree, path, name = (before, first.path, each.before) if is_gone else (after, second.path, each.after)
            content = _content(tree, path, str(name)) if name is not None else None
            if content is None or not content <= (will if is_gone else was):
                kept.append(each)
    fields = tuple(each for each in change.fields if not _is_member(each) or each in kept)
    if not fields and not change.old_path:
        return None
    return dataclasses.replace(change, fields=fields, verb=change.verb if fields else ChangeVerb.MOVED)


def _is_member(field: ChangedField) -> bool:
    return len(field.steps) == 2 and field.steps[0] in _MEMBERS


def _listed(value: Any, field: str) -> Iterator[tuple[str, str]]:
    return ((each.path, each.field) for each in kustomization_file.named_files(value) if each.field == field)


def _called(entry: Any, names: Mapping[str, str]) -> Any:
    if isinstance(entry, str):
        return names.get(entry, entry)
    path = within.text(entry, "path")
    return {**entry, "path": names[path]} if path in names else entry


def _union(contents: Iterable[_Contents | None]) -> _Contents:
    return frozenset().union(*(each for each in contents if each is not None))


def _content(tree: WorkTree, file: str, name: str) -> _Contents | None:
    """What an entry brings, as things that can be held against others'; None where nobody can tell."""
    path = join(posixpath.dirname(file), name) if "://" not in name else None
    if path is None:
        return None
    if tree.is_dir(path):
        return _directory(tree, path)
    if not tree.is_file(path):
        return None
    contents = tree.contents(path)
    if any(each.severity is Severity.ERROR for each in contents.diagnostics):
        return None
    return frozenset(_told_apart(each.value) for each in contents.documents)


def _told_apart(value: Any) -> Any:
    """An object by its name, since what became of it is told of itself; anything else by all of it."""
    found = ObjectId.of(value) if file_documents.is_object(value) else None
    return compared_pieces.same_object(found) if found is not None and found.name else compare_fields.encoded(value)


def _directory(tree: WorkTree, path: str) -> _Contents | None:
    """A directory by all of its files, if nothing leads out of it: seen from elsewhere that would lead elsewhere."""
    files = list(tree.below(path))
    data = {each[len(path) + 1 :]: tree.bytes(each) for each in files[: _MOST + 1]}
    if not files or len(files) > _MOST or any(each is None or b".." in each for each in data.values()):
        return None
    return frozenset([tuple(sorted(data.items()))])
