"""Helmfiles read without running helmfile: every release for every environment."""

import dataclasses
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.component import Origin
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.found import Found
from firstlight.repo.helmfile import environment, finding, origins, selector, state
from firstlight.repo.helmfile import release as releases
from firstlight.repo.helmfile.environment import DEFAULT, Entry
from firstlight.repo.helmfile.state import Item, State
from firstlight.repo.scripts import plain, survey
from firstlight.repo.scripts.step import HelmfileCall
from firstlight.repo.work_tree import WorkTree

MAX_ENVIRONMENTS = 50
MAX_STATES = 500
"""Helmfiles that one may lead to, each environment counted."""
MAX_DEPTH = 10


def read(tree: WorkTree) -> Found:
    """What the helmfiles of a repo install; environments other than the default one are clusters."""
    calls = survey.of(tree).helmfiles
    reader = _Reader(tree, calls)
    paths = finding.find(tree, [path for call in calls for path in call.files])
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
    return Found(
        origins=tuple(origins.unique(reader.origins)),
        unreached=tuple(reader.unreached),
        remarks=tuple(dict.fromkeys(plain.remark(each) for each in reader.remarks)),
    )


class _Reader:
    def __init__(self, tree: WorkTree, calls: Sequence[HelmfileCall]) -> None:
        self._tree = tree
        self._calls = calls
        self._left = MAX_STATES
        self.origins: list[Origin] = []
        self.unreached: list[Origin] = []
        self.remarks: list[Remark] = []
        self.included: set[str] = set()
        """Files that others lead to."""
        self.bases: set[str] = set()
        self.visited: set[str] = set()
        self._names: dict[str, list[str]] = {}

    def look(self, path: str) -> None:
        """Learn which environments a file has, and which files it leads to."""
        found = state.load(self._tree, path, DEFAULT, say=lambda _: None)
        if found is None:
            return
        declared = found.spec.get("environments")
        self._names[path] = [str(name) for name in declared] if isinstance(declared, Mapping) else []
        for item in found.items("bases"):
            self.bases.update(environment.matches(self._tree, found.directory, str(item.value)))
        for item in found.items("helmfiles"):
            self.included.update(each for each in self._targets(found, item, say=False) if each != path)

    def root(self, path: str) -> None:
        """Read a helmfile that people start with, for each of its environments."""
        names = self._names.get(path, [])
        clusters = [name for name in names if name != DEFAULT][:MAX_ENVIRONMENTS]
        if clusters and DEFAULT in names:
            message = "the environment default is taken for values of the others, not for a cluster"
            self.remarks.append(Remark(Place(path), Grade.UNKNOWN, message))
        if len([name for name in names if name != DEFAULT]) > MAX_ENVIRONMENTS:
            self.remarks.append(
                Remark(Place(path), Grade.UNKNOWN, f"more than {MAX_ENVIRONMENTS} environments are left out")
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
                self.remarks.append(Remark(Place(path), Grade.WARNING, message, "Keep one of them."))

    def _file(
        self, path: str, name: str, *, selectors: Sequence[str], given: Mapping[str, Any] | None, seen: tuple[str, ...]
    ) -> None:
        self._left -= 1
        if self._left < 0 or len(seen) > MAX_DEPTH:
            self.remarks.append(Remark(Place(path), Grade.UNKNOWN, "too many helmfiles lead to each other"))
            return
        self.visited.add(path)
        found = state.load(self._tree, path, name, say=self.remarks.append, given=given)
        if found is None:
            return
        if not found.is_defined:
            message = f"helmfile passes over this file for the environment {name}, which it does not declare"
            self.remarks.append(Remark(Place(path), Grade.WARNING, message, f"Add {name} to its environments."))
            return
        for item in found.items("helmfiles"):
            self._nested(found, item, name, selectors, given, seen)
        self._releases(found, selectors)

    def _nested(
        self,
        parent: State,
        item: Item,
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
            Entry(value=each, place=item.place("values", n))
            for n, each in enumerate(values if isinstance(values, list) else ())
        ]
        more = environment.load(
            self._tree, entries, directory=parent.directory, context=parent.environment, is_optional=False,
            say=self.remarks.append,
        )  # fmt: skip
        inner = {**more, **(given or {})} if entries or given else None
        for path in self._targets(parent, item, say=True):
            if path in seen:
                self.remarks.append(Remark(item.place(), Grade.ERROR, f"{path} leads to itself"))
            else:
                self._file(path, name, selectors=chosen, given=inner, seen=(*seen, path))

    def _targets(self, parent: State, item: Item, *, say: bool) -> list[str]:
        """The files that an entry of ``helmfiles`` names: a file, a pattern, or a directory."""
        written = str(item.value.get("path") if isinstance(item.value, Mapping) else item.value)
        found = environment.matches(self._tree, parent.directory, written)
        if not found:
            directory = posixpath.normpath(posixpath.join(parent.directory, written))
            found = finding.files_of(self._tree, directory) if self._tree.is_dir(directory) else []
        if not found and say:
            is_remote = "://" in written or written.startswith("git::") or "{{" in written
            grade = Grade.UNKNOWN if is_remote else Grade.ERROR
            hint = "" if is_remote else "helmfile only warns, and installs less than is meant."
            if environment.matches(self._tree, parent.directory, f"{written}.gotmpl"):
                hint = f"Write {written}.gotmpl, which is there."
            self.remarks.append(Remark(item.place(), grade, f"the helmfile {written} is not in the repo", hint))
        return found

    def _releases(self, found: State, selectors: Sequence[str]) -> None:
        made: list[origins.Made] = []
        for item in found.items("releases"):
            release = releases.read(self._tree, found, item, self.remarks.append)
            if release is None:
                continue
            if not selector.selects(selectors, release.labels):
                release = dataclasses.replace(release, left_out=f"the selectors {', '.join(selectors)} leave it out")
            made.append(origins.make(self._tree, found, release, say=self.remarks.append, calls=self._of(found)))
        every = origins.hooked(self._tree, found, made)
        self.origins += every.origins
        self.unreached += every.unreached

    def _of(self, found: State) -> list[HelmfileCall]:
        """The commands that run this file, for this environment as far as they say one."""
        name = found.environment.name
        directories = {found.directory, found.path}
        return [
            call
            for call in self._calls
            if directories & set(call.files) and (call.environment or DEFAULT) in (name, DEFAULT)
        ]
