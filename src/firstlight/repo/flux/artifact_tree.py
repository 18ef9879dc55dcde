"""The files of an artifact of Flux, each taken from where it is written in the repo."""

import builtins
import dataclasses
import posixpath
from collections.abc import Callable, Mapping

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ObjectReference
from firstlight.repo import file_listing
from firstlight.repo.work_tree import WorkTree


class ArtifactTree(WorkTree):
    """A tree with paths of its own, in which every file knows the file of the repo that it comes from."""

    def __init__(
        self, below: WorkTree, files: Mapping[str, str], *, merged: Mapping[str, builtins.bytes] | None = None
    ) -> None:
        """Lay out files of a tree anew.

        Args:
            below: The tree that the files are in; it may be that of an artifact itself.
            files: For each path of the artifact the path in the tree below.
            merged: Contents of files that are made of several.
        """
        # Not WorkTree's own: there is no directory on the disk that looks like this.
        self.root = below.root
        self._below = below
        self._from = dict(files)
        self._merged = dict(merged or {})
        self._contents: dict[tuple[str, YamlDialect], yaml_reader.YamlContents] = {}
        self._diagnostics: dict[Diagnostic, None] = {}
        self._listing = file_listing.FileListing(tuple(sorted(self._from)), {})

    def bytes(self, path: str) -> builtins.bytes | None:
        """A file's content; None where it cannot be had."""
        if path in self._merged:
            return self._merged[path]
        return self._below.bytes(self._from[path]) if path in self._from else super().bytes(path)

    def digest(self, path: str, algorithm: str, *, head: Callable[[int], builtins.bytes]) -> str:
        """A hash of a file, as the tree below has it."""
        return self._below.digest(self._from.get(path, path), algorithm, head=head)

    def _parsed(self, path: str, dialect: YamlDialect) -> yaml_reader.YamlContents:
        # Parsed below, so that every place that is said of it is one of the repo.
        if path in self._merged:
            return yaml_reader.read(self._merged[path], self.repo_path(path), dialect=dialect)
        return (
            self._below.contents(self._from[path], dialect=dialect)
            if path in self._from
            else super()._parsed(path, dialect)
        )

    def repo_path(self, path: str) -> str:
        """The file of the repo that a file of the artifact is, or the directory that holds what one of its has.

        Empty where several directories of the repo meet in one, or where nothing is there.
        """
        if path in self._from:
            found = self._from[path]
            return self._below.repo_path(found) if isinstance(self._below, ArtifactTree) else found
        prefix = "" if path == "." else f"{path}/"
        homes = set()
        for name in self._starting(prefix):
            home = self.repo_path(name)
            rest = name[len(prefix) :]
            homes.add(home[: -len(rest)].rstrip("/") or "." if home.endswith(rest) else "")
        return homes.pop() if len(homes) == 1 else ""

    def in_repo(self, diagnostic: Diagnostic, source: ObjectReference) -> Diagnostic:
        """A diagnostic of a build with places of the repo.

        Args:
            diagnostic: What the build says.
            source: What the artifact is called.
        """
        places = tuple(
            dataclasses.replace(each, path=self.repo_path(each.path) or each.path)
            if each.path in self._from or (self.is_dir(each.path) and not self._below.is_dir(each.path))
            else each
            for each in diagnostic.places
        )
        if diagnostic.code == "kustomize-path-outside":
            message = f"this leads out of {source}"
            fix = "copy what it names into the artifact, too"
            return dataclasses.replace(
                diagnostic, code="flux-artifact-path-outside", message=message, fix=fix, places=places
            )
        return dataclasses.replace(diagnostic, places=places)

    def _starting(self, prefix: str) -> list[str]:
        """The files whose paths begin so."""
        return [each for each in self._from if each.startswith(prefix)]

    def keeps_layout(self, files: frozenset[str], directory: str) -> bool:
        """Whether files stand to each other as they do in the repo, so that building there gives the same."""
        home = self.repo_path(posixpath.normpath(directory))
        if not home:
            return False
        return all(
            self.repo_path(each) == posixpath.normpath(posixpath.join(home, posixpath.relpath(each, directory)))
            and each not in self._merged
            for each in files
            if each in self._from
        )
