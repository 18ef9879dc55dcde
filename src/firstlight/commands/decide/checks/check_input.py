"""What checks may look at: the repo before and after, what was rendered of both, the cluster, and Git."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.document.within import text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Side
from firstlight.model.decision import Decision, DecisionItem, Touched
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.repo.work_tree import YAML, WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class RenderedRevision:
    """One state of the repo."""

    tree: WorkTree
    platform: Platform
    renditions: tuple[Rendition, ...] = ()
    """Of the touched components at least; none where nothing was rendered."""

    def component(self, cluster: str, name: str) -> Component | None:
        """A component by its name."""
        return next((each for each in self.platform.components_of(cluster) if each.name == name), None)

    def rendered(self, cluster: str, component: str) -> tuple[Rendition, ...]:
        """What was rendered of a component: one rendition for each of its sides."""
        return tuple(each for each in self.renditions if (each.cluster, each.component) == (cluster, component))

    def objects(self, cluster: str, component: str) -> dict[ObjectId, Object]:
        """The objects of a component; of those that both sides have, those of the engine."""
        found: dict[ObjectId, Object] = {}
        for side in (Side.BOOTSTRAP, Side.GITOPS):
            found |= {
                each.id: each for one in self.rendered(cluster, component) if one.side == side for each in one.objects
            }
        return found

    def is_whole(self, cluster: str, component: str) -> bool:
        """Whether all of a component was rendered; one that is not there has nothing to render."""
        mine = self.rendered(cluster, component)
        if not mine:
            return self.component(cluster, component) is None
        return not any(diagnostic.severity == Severity.ERROR for each in mine for diagnostic in each.diagnostics)

    def is_all(self, cluster: str) -> bool:
        """Whether everything of a cluster was rendered."""
        return bool(self.renditions) and all(
            self.rendered(cluster, each.name) for each in self.platform.components_of(cluster)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommitRange:
    """The commits that are asked about."""

    git: Git
    path: Path
    """The repository."""
    base: str
    """What it is compared with: a commit, or what names one."""
    head: str = ""
    """The newest commit that is asked about; empty where the change is not committed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckInput:
    """Everything that a check may ask for. What is None or empty is not there, and the words beside it say why."""

    after: RenderedRevision
    before: RenderedRevision | None = None
    """None where there is nothing to compare with."""
    paths: tuple[str, ...] = ()
    """Files that differ, of either version."""
    unrendered: str = ""
    """Why nothing was rendered; empty where it was."""
    client: kube.Client | None = None
    cluster: str = ""
    """Which of the platform's clusters the client reaches."""
    unreached: str = "no cluster was asked"
    """Why there is no client."""
    authorities: tuple[RuleAuthority, ...] = ()
    """Whose owners may approve; without any nobody may."""
    history: CommitRange | None = None
    """None where the repo is no Git repository."""
    talosctl: Path | None = None
    state: Path | None = None
    """``.firstlight`` of the repo, where a baseline is kept; None where nothing may be written."""
    is_offline: bool = False
    """Whether nothing but the cluster may be asked over the network."""
    plain_http: frozenset[str] = frozenset()
    """Addresses on this computer that may be asked, as in a lab."""
    now: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic

    def is_reached(self, cluster: str) -> bool:
        """Whether the client is the one of a cluster."""
        return self.client is not None and cluster == self.cluster


# Objects as they were and as they will be: what most checks look at.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPair:
    """One object before and after a change; one of the two may be missing."""

    id: ObjectId
    place: Place
    """Where it is said, or what brings it."""
    before: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    cluster: str = ""
    component: str = ""
    """Empty where nothing says to which one it belongs."""

    @property
    def is_gone(self) -> bool:
        """Whether it goes with the change."""
        return self.before is not None and self.after is None

    def __str__(self) -> str:
        return str(self.id)


def touched(decision: Decision) -> tuple[Touched, ...]:
    """The components that a change belongs to, each once."""
    found = {(each.cluster, each.component): each for item in decision.items for each in item.touched}
    return tuple(found.values())


def unseen(decision: Decision, scene: CheckInput) -> tuple[str, ...]:
    """Touched components of which it is not known what they deploy, since they were not rendered both times."""
    versions = [each for each in (scene.before, scene.after) if each is not None]
    return tuple(
        dict.fromkeys(
            each.component
            for each in touched(decision)
            if not all(one.is_whole(each.cluster, each.component) for one in versions)
        )
    )


def meant(decision: Decision, scene: CheckInput) -> tuple[Touched, ...]:
    """Those without the ones that only bring another of them: a Kustomization's file belongs to its parent, too."""
    every = touched(decision)
    parents = {
        (each.cluster, found.parent)
        for each in every
        for version in (scene.before, scene.after)
        if version is not None and (found := version.component(each.cluster, each.component)) is not None
    }
    return tuple(each for each in every if (each.cluster, each.component) not in parents) or every


def touched_here(decision: Decision, scene: CheckInput) -> tuple[Touched, ...]:
    """Those of the cluster that the client reaches."""
    return tuple(each for each in touched(decision) if scene.is_reached(each.cluster))


def place_of(decision: Decision, cluster: str, component: str, id: ObjectId | None = None) -> Place:
    """Where a change of an object, or of its component, is said."""
    mine = [
        item.change.place
        for item in decision.items
        if any((each.cluster, each.component) == (cluster, component) for each in item.touched)
    ]
    own = [item.change.place for item in decision.items if id is not None and item.change.object == id]
    return next(iter([*own, *mine]), Place(""))


def pairs(decision: Decision, scene: CheckInput) -> tuple[ObjectPair, ...]:
    """The objects that differ: as rendered where a component could be rendered both times, else as the files say."""
    found: dict[tuple[str, ObjectId], ObjectPair] = {}
    rendered: set[tuple[str, str]] = set()
    for each in touched(decision):
        if _is_rendered(each, scene):
            rendered.add((each.cluster, each.component))
            found |= {(each.cluster, pair.id): pair for pair in _of_component(each, decision, scene)}
    for item in decision.items:
        for pair in _of_item(item, rendered):
            found.setdefault((pair.cluster, pair.id), pair)
    return tuple(found.values())


def _is_rendered(each: Touched, scene: CheckInput) -> bool:
    versions = [one for one in (scene.before, scene.after) if one is not None]
    return any(one.renditions for one in versions) and all(
        one.is_whole(each.cluster, each.component) for one in versions
    )


def _of_component(each: Touched, decision: Decision, scene: CheckInput) -> Iterator[ObjectPair]:
    before = scene.before.objects(each.cluster, each.component) if scene.before is not None else {}
    after = scene.after.objects(each.cluster, each.component)
    for id in {**before, **after}:
        old, new = before.get(id), after.get(id)
        if (old.value if old else None) != (new.value if new else None):
            yield ObjectPair(
                id=id,
                place=place_of(decision, each.cluster, each.component, id),
                before=old.value if old else None,
                after=new.value if new else None,
                cluster=each.cluster,
                component=each.component,
            )


def _of_item(item: DecisionItem, rendered: set[tuple[str, str]]) -> Iterator[ObjectPair]:
    """What a changed file, or a rendered difference, says of an object itself."""
    change = item.change
    if change.object is None or (change.before is None and change.after is None):
        return
    if _is_same(change.before, change.after):
        return
    owners = [(each.cluster, each.component) for each in item.touched] or [(change.cluster, change.component)]
    for cluster, component in owners:
        # What was rendered tells better than the file what becomes of it; what declares a component is in no rendition.
        if (cluster, component) not in rendered or change.object.group in _DECLARING:
            yield ObjectPair(
                id=change.object,
                place=change.place,
                before=change.before,
                after=change.after,
                cluster=cluster,
                component=component,
            )


_DECLARING = (
    flux_names.KUSTOMIZE_GROUP,
    flux_names.HELM_GROUP,
    flux_names.SOURCE_GROUP,
    flux_names.OPERATOR_GROUP,
    argocd_names.GROUP,
)


def _is_same(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    return before is not None and after is not None and before == after


# All objects that a check may find something in: rendered ones, those that stand in files, and live ones.


_WORTH = 4 << 20
"""Bytes of the largest file that is searched."""


def objects_in_repo(
    version: RenderedRevision, kinds: Mapping[tuple[str, str], object] | set[tuple[str, str]]
) -> list[Mapping[str, Any]]:
    """Objects of some kinds, by group and kind: what was rendered, and what files say that were not."""
    found = [each.value for one in version.renditions for each in one.objects if (each.id.group, each.id.kind) in kinds]
    known = {_called(each) for each in found}
    for each in _in_files(version, {kind for _, kind in kinds}):
        name = _called(each)
        if name not in known and (name.group, name.kind) in kinds:
            found.append(each)
    return found


async def live_objects(
    client: kube.Client, kinds: Mapping[tuple[str, str], str]
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Objects of some kinds in the cluster, and which kinds could not be read.

    Args:
        client: The cluster.
        kinds: Versions by group and kind.
    """
    found: list[Mapping[str, Any]] = []
    unread: list[str] = []
    for (group, kind), version in kinds.items():
        try:
            found += (await client.list(f"{group}/{version}" if group else version, kind)).items
        except kube.UnknownKind:
            continue
        except (kube.Forbidden, kube.ServerError) as error:
            unread.append(error.message)
    return found, unread


def _in_files(version: RenderedRevision, kinds: set[str]) -> Iterator[Mapping[str, Any]]:
    """Looked for as text first: most files have none, and reading YAML is slow."""
    words = tuple(each.encode() for each in sorted(kinds))
    for path in version.tree.files:
        if not path.endswith(YAML):
            continue
        data = version.tree.bytes(path)
        if data is None or len(data) > _WORTH or not any(each in data for each in words):
            continue
        for document in version.tree.documents(path):
            if isinstance(document.value, Mapping) and text(document.value, "kind") in kinds:
                yield document.value


def _called(value: Mapping[str, Any]) -> ObjectId:
    """Without its namespace, which files often leave to a kustomization."""
    return dataclasses.replace(ObjectId.of(value), namespace="")
