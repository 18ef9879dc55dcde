"""Edits of what a configMapGenerator makes a ConfigMap from: its literals and its files."""

from typing import Any

from firstlight import errors
from firstlight.document import splicing, within
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning.holders import Found, Holder
from firstlight.repo.aligning.wish import Candidate, Rank, Steps, Wish
from firstlight.repo.work_tree import WorkTree, join

_FIELD = "configMapGenerator"


def candidates(tree: WorkTree, holder: Holder, wish: Wish) -> Found:
    """Edits for a key of a ConfigMap that a generator makes."""
    if (wish.object.group, wish.object.kind) != ("", "ConfigMap") or wish.steps[:1] != ("data",):
        return
    if len(wish.steps) != 2 or not isinstance(wish.after, str):
        return
    key = str(wish.steps[1])
    for number, entry in enumerate(holder.entries(_FIELD)):
        if not is_made(wish.object, within.text(entry, "name")):
            continue
        for at, literal in enumerate(within.sequence(entry, "literals")):
            if isinstance(literal, str) and literal.partition("=")[0] == key:
                steps: Steps = (_FIELD, number, "literals", at)
                yield from holder.make(steps, f"{key}={wish.after}", Rank.WRITTEN, f"a literal in {holder.says}")
        path = file_of(tree, holder, entry, key)
        if path:
            yield Candidate(
                rank=Rank.WRITTEN, place=Place(path, 1), says=f"the file of {wish.object}", files={path: wish.after}
            )


def value_in_file(tree: WorkTree, holder: Holder, id: ObjectId, key: str, path: Steps, value: Any) -> Candidate | None:
    """The edit of a value in a YAML file that a generator puts into a ConfigMap as a whole."""
    for entry in holder.entries(_FIELD):
        file = file_of(tree, holder, entry, key) if is_made(id, within.text(entry, "name")) else ""
        data = tree.bytes(file) if file else None
        if data is None:
            continue
        try:
            text = data.decode()
            made = splicing.remove(text, path) if value is ABSENT else splicing.set_value(text, path, value, path=file)
        except (errors.ConfigError, UnicodeDecodeError):
            continue
        documents = tree.documents(file)
        line = documents[0].place(*path).line if documents else 1
        return Candidate(rank=Rank.WRITTEN, place=Place(file, line), says="a values file", files={file: made})
    return None


def file_of(tree: WorkTree, holder: Holder, entry: Any, key: str) -> str:
    """The file that becomes a key of a ConfigMap; empty if none does."""
    for written in within.sequence(entry, "files"):
        if not isinstance(written, str):
            continue
        name, _, path = written.rpartition("=")
        if (name or path.rpartition("/")[2]) == key and holder.directory:
            found = join(holder.directory, path)
            if found and tree.is_file(found):
                return tree.real(found)
    return ""


def is_made(id: ObjectId, name: str) -> bool:
    """Whether a ConfigMap may be the one that a generator calls so: its name may end with a hash."""
    return bool(name) and (id.name == name or id.name.rpartition("-")[0] == name or id.name.endswith(name))
