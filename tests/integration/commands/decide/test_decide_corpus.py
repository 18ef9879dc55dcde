"""Repos of others: each component gets another version or setting, or goes, and its owner decides the side."""

import dataclasses
import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from firstlight.commands.decide import judgement, rule_files
from firstlight.commands.decide.file_components import taken_in
from firstlight.model.change import Change, Matter
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.decision import DecisionItem
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, SeveralSources, Source
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree
from tests.conftest import agreement

CORPUS = Path(__file__).parents[4] / "../shared/corpus"
REPOS = sorted(each.name for each in CORPUS.iterdir() if each.is_dir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not REPOS, reason="the corpus is not on this machine")

COMMANDS = {
    SourceForm.HELM_COMMAND,
    SourceForm.KUBECTL_COMMAND,
    SourceForm.KUSTOMIZE_COMMAND,
    SourceForm.FLUX_COMMAND,
    SourceForm.HOOK,
}
ITEMS = {SourceForm.HELMFILE, SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST}
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: invented}\ndata: {invented: words}\n"
Edited = tuple[str, str | None]
"""A file and what it is now; None where it is gone."""


@dataclasses.dataclass(frozen=True)
class Read:
    """A repo of the corpus, read once."""

    tree: WorkTree
    platform: Platform

    def text(self, path: str) -> str:
        return self.tree.text(path) or "" if self.tree.is_file(path) else ""

    @functools.cached_property
    def directories(self) -> frozenset[str]:
        """All that components are made from."""
        return frozenset(
            posixpath.normpath(each.path)
            for component in self.platform.components
            for origin in component.origins
            for each in parts(origin.source)
            if isinstance(each, DirectorySource)
        )

    @functools.cached_property
    def declaring(self) -> frozenset[str]:
        """Files that say that something is deployed."""
        return frozenset(origin.place.path for each in self.platform.components for origin in each.origins)

    @functools.cached_property
    def taken(self) -> Mapping[str, Sequence[str]]:
        return taken_in(self.tree, self.tree, ())

    def used(self, directory: str) -> set[str]:
        """What the kustomization of a directory takes in, one leading to the next; nothing where there is none."""
        found, waiting = set[str](), [*self.taken.get(directory, ())]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting += self.taken.get(each, ())
        return {each for each in found if each not in self.taken}

    def own_files(self, directory: str) -> Iterator[str]:
        """The files that are only in this directory of all that components are made from, are used and declare none."""
        used = self.used(posixpath.normpath(directory))
        for path in self.tree.files:
            if path in self.declaring or (used and not any(f"{path}/".startswith(f"{each}/") for each in used)):
                continue
            above = posixpath.dirname(path)
            while above and above not in self.directories:
                above = posixpath.dirname(above)
            if above == posixpath.normpath(directory):
                yield path


def parts(source: Source | SeveralSources) -> tuple[Source, ...]:
    return source.each if isinstance(source, SeveralSources) else (source,)


@functools.cache
def repo(name: str) -> Read:
    tree = WorkTree(CORPUS / name)
    return Read(tree, platform_reader.read_tree(tree))


def bumped(read: Read, origin: Origin) -> Edited | None:
    """The next version, where the old one is written."""
    charts = [each for each in parts(origin.source) if isinstance(each, ChartSource)]
    for version in filter(None, (origin.version, *(each.version for each in charts))):
        new = re.sub(r"\d+(?!.*\d)", lambda match: str(int(match[0]) + 1), version)
        for path in (*(each.origin.path for each in charts if each.origin), origin.place.path):
            lines = read.text(path).splitlines(keepends=True)
            first = origin.place.line if path == origin.place.path else 1
            at = next((each for each in range(first - 1, len(lines)) if version in lines[each]), None)
            if at is not None and new != version:
                return path, "".join([*lines[:at], lines[at].replace(version, new), *lines[at + 1 :]])
    for directory in (each for each in parts(origin.source) if isinstance(each, DirectorySource)):
        for path in read.own_files(directory.path):
            text = read.text(path)
            if match := re.search(r"(?m)^\s+image: \"?[^\s:]+:v?\d+\.\d+\.(\d+)", text):
                return path, f"{text[: match.start(1)]}{int(match[1]) + 1}{text[match.end(1) :]}"
    return None


def adjusted(read: Read, origin: Origin) -> Edited | None:
    """Another value, where values are written; of what has none another ConfigMap."""
    for chart in (each for each in parts(origin.source) if isinstance(each, ChartSource)):
        for path in (each.file for each in chart.values if each.file.endswith((".yaml", ".yml"))):
            text = read.text(path)
            if re.match(r"(?:#.*\n|---\n|\n)*[\w-]+:", text):
                return path, f"{text.rstrip()}\ninvented: {{of: words}}\n"
    lines = read.text(origin.place.path).splitlines(keepends=True)
    for at in range(origin.place.line - 1, len(lines)):
        if re.match(r"---\s*$", lines[at]) and at >= origin.place.line:
            break
        if re.match(r"\s+values(Object)?:\s*\|?-?\s*$", lines[at]) and at + 1 < len(lines):
            room = re.match(r"\s*", lines[at + 1])
            assert room is not None
            added = f"{room[0]}invented: words\n"
            if "-" not in lines[at + 1].strip()[:1]:
                return origin.place.path, "".join([*lines[: at + 1], added, *lines[at + 1 :]])
    for directory in (each for each in parts(origin.source) if isinstance(each, DirectorySource)):
        file = posixpath.normpath(f"{directory.path}/kustomization.yaml")
        if read.tree.is_file(file):
            return file, f"{read.text(file).rstrip()}\nbuildMetadata: [originAnnotations]\n"
        if read.tree.is_dir(directory.path):
            return posixpath.normpath(f"{directory.path}/invented.yaml"), CONFIG_MAP
    return None


def removed(read: Read, origin: Origin) -> Edited | None:
    """A file without what declares it."""
    path, at = origin.place.path, origin.place.line - 1
    lines = read.text(path).splitlines(keepends=True)
    if at >= len(lines) or origin.form is SourceForm.HOOK:  # which is a line of another's declaration
        return None
    begin = end = at
    if origin.form in COMMANDS:
        while end < len(lines) and lines[end].rstrip().endswith("\\"):
            end += 1
        end += 1
    elif origin.form in ITEMS:
        if not (dash := re.match(r"(\s*)- ", lines[at])):
            return None
        end += 1
        while end < len(lines) and (not lines[end].strip() or re.match(rf"{dash[1]}\s", lines[end])):
            end += 1
    elif lines[at].startswith(" "):  # in a text of another document
        return None
    else:
        while begin > 0 and not lines[begin - 1].startswith("---"):
            begin -= 1
        while end < len(lines) and not lines[end].startswith("---"):
            end += 1
        end += 1
    rest = "".join([*lines[:begin], *lines[end:]])
    return path, rest if rest.strip(" \n-") else None


def owned(component: Component) -> Side:
    """Where a change of a component belongs, by who owns it in the end (errata 1)."""
    if component.owner is Owner.BOOTSTRAP:
        return Side.BOOTSTRAP
    is_late = component.phase in (Phase.GITOPS, Phase.HANDOVER)
    return Side.GITOPS if is_late else Side.HYBRID


def together(sides: set[Side]) -> Side | None:
    return Side.HYBRID if len(sides) > 1 else next(iter(sides), None)


def halves(component: Component) -> Iterator[tuple[Origin, ...]]:
    yield from (each for each in component.halves if each)


KINDS: dict[str, Callable[[Read, Origin], Edited | None]] = {
    "version bumps": bumped,
    "values changes": adjusted,
    "removals": removed,
}


def changes(read: Read, edited: Edited) -> tuple[Change, ...]:
    path, text = edited
    after = OverlaidTree(read.tree, {path: text.encode() if text is not None else None})
    return repo_changes.changes(read.tree, after, [path], platforms=(read.platform,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REPOS)
def test_decided_by_owner(name: str, kind: str) -> None:
    read = repo(name)
    made: dict[int, tuple[str, Component]] = {}
    everything: list[Change] = []
    for component in read.platform.components:
        for origins in halves(component):
            edited = next(filter(None, (KINDS[kind](read, each) for each in origins)), None)
            for change in changes(read, edited) if edited else ():
                made[id(change)] = (edited[0] if edited else "", component)
                everything.append(change)

    # Answers are independent of each other, and so many are given at once.
    decision = judgement.decide(
        everything,
        platform=read.platform,
        before=read.platform,
        book=rule_files.book(),
        taken=read.taken,
    )

    wrong = {}
    for item in decision.items:
        path, component = made[id(item.change)]
        if problem := disagreement(read, item, component):
            wrong[f"{component.cluster}/{component.name} in {path}: {item.change.title}"] = problem
    agreement(f"corpus, {name}, {kind}", len(decision.items) - len(wrong), len(decision.items))
    assert decision.items
    assert wrong == {}


def disagreement(read: Read, item: DecisionItem, component: Component) -> str:
    """What is not as the owners would have it."""
    names = {(each.cluster, each.component) for each in item.touched}
    if (component.cluster, component.name) not in names:
        return f"it belongs to {sorted(name for _, name in names)}"
    expected = together({owned(each) for each in read.platform.components if (each.cluster, each.name) in names})
    if item.change.matter is Matter.MACHINE and expected is Side.GITOPS:
        expected = Side.BOOTSTRAP
    return "" if item.side is expected else f"{item.side} by {item.rulings[0].rule}, not {expected}"
