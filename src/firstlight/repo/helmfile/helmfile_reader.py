"""Selectors of sub-helmfiles: ``name=value,other!=value``."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.helmfile import environments, helmfile_state, release_origins, releases
from firstlight.repo.helmfile.environments import DEFAULT, EnvironmentEntry
from firstlight.repo.helmfile.helmfile_state import HelmfileItem, HelmfileState
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.scripts import masked_lines, script_survey
from firstlight.repo.scripts.command_context import HelmfileCall
from firstlight.repo.work_tree import WorkTree


def selects(selectors: Sequence[str], labels: Mapping[str, str]) -> bool:
    """Whether one of the selectors fits; without any, everything is selected."""
    return not selectors or any(_fits(each, labels) for each in selectors)


def _fits(selector: str, labels: Mapping[str, str]) -> bool:
    for part in selector.split(","):
        if "!=" in part:
            name, _, value = part.partition("!=")
            if labels.get(name) == value:
                return False
        else:
            name, _, value = part.partition("=")
            if labels.get(name) != value:
                return False
    return True


# Which files of a repo are helmfiles.


_SUFFIX = re.compile(r"\.ya?ml(?:\.gotmpl)?$")
_NAME = re.compile(r"helmfile(?:[-_.][\w-]+)*\.ya?ml(?:\.gotmpl)?$", re.I)
_DIRECTORY = "helmfile.d"
_LIKELY = {"helmfile", "helmfiles"}
"""Directories whose files are helmfiles if they say so themselves."""
_TOP = re.compile(r"^(?:releases|helmfiles|bases):", re.MULTILINE)


def is_helmfile(tree: WorkTree, path: str) -> bool:
    """Whether a file is a helmfile by its name or place; those that only lie in a likely directory are looked into."""
    directory, name = posixpath.split(path)
    if not _SUFFIX.search(name):
        return False
    parent = posixpath.basename(directory)
    if _NAME.match(name) or parent == _DIRECTORY:
        return True
    return parent in _LIKELY and _TOP.search(tree.text(path) or "") is not None


def find_helmfiles(tree: WorkTree, also: Iterable[str]) -> list[str]:
    """Helmfiles in the order in which helmfile reads those of one directory.

    Args:
        tree: The repo.
        also: Files and directories that commands name.
    """
    found = {path for path in tree.current_files if is_helmfile(tree, path)}
    for path in also:
        found.update([path] if tree.is_file(path) else files_of(tree, path))
    return sorted(found)


def files_of(tree: WorkTree, directory: str) -> list[str]:
    """The helmfiles that helmfile reads when it is given a directory."""
    names = [name for name in tree.listing(directory) if _SUFFIX.search(name)]
    return sorted(posixpath.normpath(f"{directory}/{name}") for name in names)


# Helmfiles read without running helmfile: every release for every environment.


MAX_ENVIRONMENTS = 50
MAX_STATES = 500
"""Helmfiles that one may lead to, each environment counted."""
MAX_DEPTH = 10


def read(tree: WorkTree) -> ReaderResult:
    """What the helmfiles of a repo install; environments other than the default one are clusters."""
    calls = script_survey.survey_of(tree).helmfiles
    reader = _Reader(tree, calls)
    paths = find_helmfiles(tree, [path for call in calls for path in call.files])
    for path in paths:
        reader.look(path)
    for path in paths:
        if path not in reader.included and path not in reader.bases:
            reader.root(path)
    for path in paths:
        if path not in reader.visited and path not in reader.bases:  # those that only lead to each other
            reader.root(path)
    directories = {posixpath.dirname(path) for path in paths}
    for directory in sorted(each for each in directories if posixpath.basename(each) == "helmfile.d"):
        reader.conflict(directory)
    return ReaderResult(
        origins=tuple(release_origins.unique(reader.origins)),
        unreached=tuple(reader.unreached),
        diagnostics=tuple(dict.fromkeys(masked_lines.plain_diagnostic(each) for each in reader.diagnostics)),
    )


class _Reader:
    def __init__(self, tree: WorkTree, calls: Sequence[HelmfileCall]) -> None:
        self._tree = tree
        self._calls = calls
        self._left = MAX_STATES
        self.origins: list[Origin] = []
        self.unreached: list[Origin] = []
        self.diagnostics: list[Diagnostic] = []
        self.included: set[str] = set()
        """Files that others lead to."""
        self.bases: set[str] = set()
        self.visited: set[str] = set()
        self._names: dict[str, list[str]] = {}

    def look(self, path: str) -> None:
        """Learn which environments a file has, and which files it leads to."""
        found = helmfile_state.load(self._tree, path, DEFAULT, say=lambda _: None)
        if found is None:
            return
        declared = found.spec.get("environments")
        self._names[path] = [str(name) for name in declared] if isinstance(declared, Mapping) else []
        for item in found.items("bases"):
            self.bases.update(environments.matches(self._tree, found.directory, str(item.value)))
        for item in found.items("helmfiles"):
            self.included.update(each for each in self._targets(found, item, say=False) if each != path)

    def root(self, path: str) -> None:
        """Read a helmfile that people start with, for each of its environments."""
        names = self._names.get(path, [])
        clusters = [name for name in names if name != DEFAULT][:MAX_ENVIRONMENTS]
        if clusters and DEFAULT in names:
            message = "the environment default is taken for values of the others, not for a cluster"
            self.diagnostics.append(Diagnostic.unknown("helmfile-default-environment", message, at=Place(path)))
        if len([name for name in names if name != DEFAULT]) > MAX_ENVIRONMENTS:
            self.diagnostics.append(
                Diagnostic.unknown(
                    "helmfile-too-large", f"more than {MAX_ENVIRONMENTS} environments are left out", at=Place(path)
                )
            )
        for name in clusters or [DEFAULT]:
            self._left = MAX_STATES
            self._file(path, name, selectors=(), given=None, seen=(path,))

    def conflict(self, directory: str) -> None:
        """Say where helmfile would refuse to start without ``--file``."""
        parent = posixpath.dirname(directory) or "."
        for name in ("helmfile.yaml", "helmfile.yaml.gotmpl"):
            path = posixpath.normpath(f"{parent}/{name}")
            if self._tree.is_file(path):
                message = f"helmfile refuses to choose between this and {directory} unless it is given --file"
                self.diagnostics.append(
                    Diagnostic.warning("helmfile-file-twice", message, at=Place(path), fix="Keep one of them.")
                )

    def _file(
        self, path: str, name: str, *, selectors: Sequence[str], given: Mapping[str, Any] | None, seen: tuple[str, ...]
    ) -> None:
        self._left -= 1
        if self._left < 0 or len(seen) > MAX_DEPTH:
            self.diagnostics.append(
                Diagnostic.unknown("helmfile-too-large", "too many helmfiles lead to each other", at=Place(path))
            )
            return
        self.visited.add(path)
        found = helmfile_state.load(self._tree, path, name, say=self.diagnostics.append, given=given)
        if found is None:
            return
        if not found.is_defined:
            message = f"helmfile passes over this file for the environment {name}, which it does not declare"
            self.diagnostics.append(
                Diagnostic.warning(
                    "helmfile-environment-undeclared", message, at=Place(path), fix=f"Add {name} to its environments."
                )
            )
            return
        for item in found.items("helmfiles"):
            self._nested(found, item, name, selectors, given, seen)
        self._releases(found, selectors)

    def _nested(
        self,
        parent: HelmfileState,
        item: HelmfileItem,
        name: str,
        selectors: Sequence[str],
        given: Mapping[str, Any] | None,
        seen: tuple[str, ...],
    ) -> None:
        spec = item.value if isinstance(item.value, Mapping) else {"path": item.value}
        listed = spec.get("selectors")
        own = [str(each) for each in listed] if isinstance(listed, list) else []
        chosen = own or (
            list(selectors) if spec.get("selectorsInherited") or not isinstance(item.value, Mapping) else []
        )
        values = spec.get("values")
        entries = [
            EnvironmentEntry(value=each, place=item.place("values", n))
            for n, each in enumerate(values if isinstance(values, list) else ())
        ]
        more = environments.load(
            self._tree, entries, directory=parent.directory, context=parent.environment, is_optional=False,
            say=self.diagnostics.append,
        )  # fmt: skip
        inner = {**more, **(given or {})} if entries or given else None
        for path in self._targets(parent, item, say=True):
            if path in seen:
                self.diagnostics.append(Diagnostic.error("helmfile-circle", f"{path} leads to itself", at=item.place()))
            else:
                self._file(path, name, selectors=chosen, given=inner, seen=(*seen, path))

    def _targets(self, parent: HelmfileState, item: HelmfileItem, *, say: bool) -> list[str]:
        """The files that an entry of ``helmfiles`` names: a file, a pattern, or a directory."""
        written = str(item.value.get("path") if isinstance(item.value, Mapping) else item.value)
        found = environments.matches(self._tree, parent.directory, written)
        if not found:
            directory = posixpath.normpath(posixpath.join(parent.directory, written))
            found = files_of(self._tree, directory) if self._tree.is_dir(directory) else []
        if not found and say:
            is_remote = "://" in written or written.startswith("git::") or "{{" in written
            grade = Severity.UNKNOWN if is_remote else Severity.ERROR
            hint = "" if is_remote else "helmfile only warns, and installs less than is meant."
            if environments.matches(self._tree, parent.directory, f"{written}.gotmpl"):
                hint = f"Write {written}.gotmpl, which is there."
            self.diagnostics.append(
                Diagnostic(
                    code="helmfile-file-missing",
                    severity=grade,
                    message=f"the helmfile {written} is not in the repo"
                    if is_remote
                    else item.place().describe_missing(written),
                    places=(item.place(),),
                    fix=hint,
                )
            )
        return found

    def _releases(self, found: HelmfileState, selectors: Sequence[str]) -> None:
        made: list[release_origins.ReleaseOrigin] = []
        for item in found.items("releases"):
            release = releases.read(self._tree, found, item, self.diagnostics.append)
            if release is None:
                continue
            if not selects(selectors, release.labels):
                release = dataclasses.replace(release, left_out=f"the selectors {', '.join(selectors)} leave it out")
            made.append(
                release_origins.make(self._tree, found, release, say=self.diagnostics.append, calls=self._of(found))
            )
        every = release_origins.hooked(self._tree, found, made)
        self.origins += every.origins
        self.unreached += every.unreached

    def _of(self, found: HelmfileState) -> list[HelmfileCall]:
        """The commands that run this file, for this environment as far as they say one."""
        name = found.environment.name
        directories = {found.directory, found.path}
        return [
            call
            for call in self._calls
            if directories & set(call.files) and (call.environment or DEFAULT) in (name, DEFAULT)
        ]
