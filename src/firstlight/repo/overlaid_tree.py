"""A work tree in which some files are others than on the disk: the base of a diff, or what a patch would make.

What is the same in both is read and parsed once, and shared.
"""

import builtins
import json
import posixpath
from collections.abc import Iterable, Mapping
from functools import cached_property

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.repo import file_listing
from firstlight.repo.work_tree import SIZE, WorkTree


class OverlaidTree(WorkTree):
    """Another tree, except for some files."""

    def __init__(
        self, below: WorkTree, files: Mapping[str, builtins.bytes | None], *, links: Mapping[str, str] | None = None
    ) -> None:
        """Lay files over a tree.

        Args:
            below: The tree that everything else is taken from; it may be overlaid itself.
            files: Contents by path, relative to the root; None for what is not there.
            links: Symbolic links by path, as they are written; one that leads out of the tree is not followed.
        """
        # Not WorkTree's own: nothing of the directory is looked at that the tree below has not seen.
        self.root = below.root
        self._below = below
        self._over = {path: data for path, data in files.items() if path not in (links or {})}
        self._links = dict(links or {})
        self._contents: dict[tuple[str, YamlDialect], yaml_reader.YamlContents] = {}
        self._diagnostics: dict[Diagnostic, None] = {}

    @cached_property
    def _listing(self) -> file_listing.FileListing:
        known = self._below._listing
        over = self._over.keys() | self._links.keys()
        added = {path for path, data in self._over.items() if data is not None}
        # A directory may take the place of a file, or a file or link that of a directory.
        gone = over.union(parent for path in (*added, *self._links) for parent in _parents(path))
        closed = tuple(f"{path}/" for path in (*added, *self._links) if self._below.is_dir(path))
        kept = (path for path in known.files if path not in gone and not (closed and path.startswith(closed)))
        links = {path: target for path, target in known.links.items() if path not in gone}
        names = added.union(kept)
        diagnostics = [each for each in known.diagnostics if each.place.path not in over]
        for path, written in self._links.items():
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), written))
            if target.startswith(("/", "..")) or target in (".", path):
                message = f"the link to {written[:120]} leads out of the repo or in a circle, and is not followed"
                code = "link-circular" if target in (".", path) else "link-outside"
                diagnostics.append(Diagnostic.warning(code, message, at=Place(path)))
            else:
                links[path] = target
        self._say(diagnostics)
        return file_listing.FileListing(tuple(sorted(names)), links, tuple(diagnostics))

    def bytes(self, path: str) -> builtins.bytes | None:
        """A file's content; None, and a diagnostic, where it cannot be had."""
        real = self.real(path)
        data = self._over.get(real)
        if data is not None:
            if len(data) <= SIZE:
                return data
            self._say(
                [
                    Diagnostic.error(
                        "file-too-large", f"not read, since it has more than {SIZE >> 20} MiB", at=Place(real)
                    )
                ]
            )
            return None
        if real not in self._names:
            self._say([Diagnostic.error("file-missing", "there is no such file", at=Place(real))])
            return None
        data = self._below.bytes(real)
        if data is None:
            self._say(each for each in self._below.diagnostics if each.place == Place(real))
        return data

    def _parsed(self, path: str, dialect: YamlDialect) -> yaml_reader.YamlContents:
        if path in self._over or path not in self._names:
            return super()._parsed(path, dialect)
        return self._below.contents(path, dialect=dialect)


def _parents(path: str) -> list[str]:
    found = []
    while path := posixpath.dirname(path):
        found.append(path)
    return found


# Files with edits spliced in: what was not asked for does not change, not a space and not a comment.


def edited_files(tree: WorkTree, edits: Iterable[FileEdit]) -> dict[str, str | None]:
    """The texts of files after edits, None for those that go; equal edits are made once.

    Raises:
        errors.ConfigError: One cannot be made without changing something else.
    """
    texts: dict[str, str | None] = {}
    done: list[FileEdit] = []
    for edit in edits:
        if edit in done:
            continue
        done.append(edit)
        if edit.path in texts and texts[edit.path] is None:
            raise errors.ConfigError("the file goes, and is edited as well", path=edit.path)
        texts[edit.path] = _edited(texts.get(edit.path) or _text(tree, edit), edit)
    for path, text in texts.items():
        if path.endswith(".json") and text is not None and not _is_json(text):
            raise errors.ConfigError("it is JSON, which the edit is not", path=path)
    return texts


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _text(tree: WorkTree, edit: FileEdit) -> str:
    if edit.verb is EditVerb.WRITE:
        if tree.is_file(edit.path):
            raise errors.ConfigError("the file is there already, and is not written over", path=edit.path)
        return ""
    data = tree.bytes(edit.path)
    if data is None:
        raise errors.ConfigError("the file cannot be read", path=edit.path)
    # Not ``text``: line ends and a byte-order mark stay as they are.
    return data.decode()


def _edited(text: str, edit: FileEdit) -> str | None:
    match edit.verb:
        case EditVerb.SET:
            return yaml_editor.set_value(text, edit.steps, edit.value, document=edit.document, path=edit.path)
        case EditVerb.REMOVE:
            return yaml_editor.remove(text, edit.steps, document=edit.document, path=edit.path)
        case EditVerb.APPEND:
            return yaml_editor.append(text, edit.steps, edit.value, document=edit.document, path=edit.path)
        case EditVerb.WRITE:
            return str(edit.value)
        case EditVerb.DELETE:
            return None
