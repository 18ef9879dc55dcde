"""What a kustomization lists under another name than before: the same files are built, so that nothing came or went."""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.change import Change, Field, Verb
from firstlight.model.component import ObjectId
from firstlight.model.remark import Grade
from firstlight.repo.changing import embedded, lists, pairing
from firstlight.repo.changing.piece import Piece
from firstlight.repo.kustomize import kustomization
from firstlight.repo.work_tree import WorkTree, join

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
    return piece is not None and posixpath.basename(piece.path) in kustomization.NAMES


def renamed(first: Piece, second: Piece, before: WorkTree, after: WorkTree) -> Piece:
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
    kept: list[Field] = []
    for member in _MEMBERS:
        was = _union(_content(before, first.path, name) for name, _ in _listed(first.value, member))
        will = _union(_content(after, second.path, name) for name, _ in _listed(second.value, member))
        for each in change.fields:
            if not _is_member(each) or each.steps[0] != member:
                continue
            is_gone = each.verb is Verb.REMOVED
            tree, path, name = (before, first.path, each.before) if is_gone else (after, second.path, each.after)
            content = _content(tree, path, str(name)) if name is not None else None
            if content is None or not content <= (will if is_gone else was):
                kept.append(each)
    fields = tuple(each for each in change.fields if not _is_member(each) or each in kept)
    if not fields and not change.old_path:
        return None
    return dataclasses.replace(change, fields=fields, verb=change.verb if fields else Verb.MOVED)


def _is_member(field: Field) -> bool:
    return len(field.steps) == 2 and field.steps[0] in _MEMBERS


def _listed(value: Any, field: str) -> Iterator[tuple[str, str]]:
    return ((each.path, each.field) for each in kustomization.named_files(value) if each.field == field)


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
    if any(each.grade is Grade.ERROR for each in contents.remarks):
        return None
    return frozenset(_told_apart(each.value) for each in contents.documents)


def _told_apart(value: Any) -> Any:
    """An object by its name, since what became of it is told of itself; anything else by all of it."""
    found = ObjectId.of(value) if embedded.is_object(value) else None
    return pairing.same_object(found) if found is not None and found.name else lists.encoded(value)


def _directory(tree: WorkTree, path: str) -> _Contents | None:
    """A directory by all of its files, if nothing leads out of it: seen from elsewhere that would lead elsewhere."""
    files = list(tree.below(path))
    data = {each[len(path) + 1 :]: tree.bytes(each) for each in files[: _MOST + 1]}
    if not files or len(files) > _MOST or any(each is None or b".." in each for each in data.values()):
        return None
    return frozenset([tuple(sorted(data.items()))])
