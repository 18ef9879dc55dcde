"""The documents that a file holds: YAML, JSON, TOML, or what a template says whatever its variables are."""

import dataclasses
import posixpath
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import reading
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo import work_tree
from firstlight.repo.go_template import unknown
from firstlight.repo.go_template.unknown import Unknown
from firstlight.repo.talos import files, go_tags
from firstlight.repo.talos.jinja_tags import TemplateError
from firstlight.repo.work_tree import WorkTree

_YAML = {"Kustomization", "talosconfig"}
_LINE = re.compile(r"\(at line (\d+)")


def file(tree: WorkTree, path: str, *, is_yaml: bool = False) -> tuple[tuple[Document, ...] | None, Remark | None]:
    """The documents of a file; None where it has none, with what is wrong if it should."""
    name = posixpath.basename(path)
    if name.endswith(".toml"):
        return _toml(tree, path)
    is_yaml = is_yaml or name.endswith((*work_tree.YAML, ".json", ".talosconfig")) or name in _YAML
    if not is_yaml:
        return None, None
    contents = tree.contents(path)
    wrong = next((each for each in contents.remarks if each.grade is Grade.ERROR), None)
    return (contents.documents, None) if wrong is None else (None, wrong)


def template(tree: WorkTree, path: str) -> tuple[Document, ...] | None:
    """What a template says whatever its variables are; None where that is no YAML."""
    if path.endswith(files.JINJA):
        found = files.read(tree, path)
        documents, unknowns = found.documents, found.unknowns
        is_broken = any(each.message.startswith("read line by line") for each in found.remarks)
    else:
        try:
            skeleton = go_tags.read(unknown.remove_marks(tree.text(path) or ""), {})
        except TemplateError:
            return None
        contents = reading.read_text(skeleton.text, path)
        documents, unknowns = contents.documents, skeleton.unknowns
        is_broken = any(each.grade is Grade.ERROR for each in contents.remarks)
    if is_broken or not documents:
        return None
    return tuple(dataclasses.replace(each, value=_restored(each.value, unknowns)) for each in documents)


def _restored(value: Any, unknowns: Sequence[Unknown]) -> Any:
    """A value with the expressions of a template back in it."""
    if isinstance(value, str):
        return unknown.restore(value, unknowns) if unknown.has_mark(value) else value
    if isinstance(value, Mapping):
        return {unknown.restore(str(key), unknowns): _restored(each, unknowns) for key, each in value.items()}
    return [_restored(each, unknowns) for each in value] if isinstance(value, list) else value


def _toml(tree: WorkTree, path: str) -> tuple[tuple[Document, ...] | None, Remark | None]:
    try:
        value = tomllib.loads(tree.text(path) or "")
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        return None, Remark(Place(path, int(line[1]) if line else 0), Grade.ERROR, str(error)[:200])
    return (Document(path, 1, 0, value, ""),), None
