"""What a rendering asks of the repo and of others, with the answers by which it is known again.

A rendering that was kept is good as long as each of its questions has the same answer. So to find out costs no more
than asking: reading files and hashing them.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from firstlight import errors
from firstlight.model.rendition import VersionPin
from firstlight.render import cache_files
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore
from firstlight.render.served_kinds import ServedKinds
from firstlight.repo import file_listing
from firstlight.repo.flux import envsubst
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import WorkTree

ABSENT = "absent"
What = Literal["file", "names", "generated", "stored", "object", "served"]
_INSECURE = "insecure"
_OF_FILES = ("file", "names", "generated")


class RecordedAnswer(msgspec.Struct, frozen=True, array_like=True):
    """A question, and the hash of what was answered."""

    what: What
    about: tuple[str, ...]
    hash: str


@dataclasses.dataclass(frozen=True)
class RenderSurroundings:
    """Who can be asked."""

    tree: WorkTree
    store: ChartStore
    object: Callable[[str, str, str], Awaitable[Mapping[str, Any] | None]]
    """An object that something in the same cluster deploys, by kind, namespace and name; of Secrets only the keys."""
    served: Callable[[], Awaitable[ServedKinds]]
    only_crds: bool = False
    """Whether nothing is wanted but the kinds that are defined, so that more need not be rendered."""
    stops: bool = False
    """Whether to stop where that is no shorter way, since the whole is rendered instead."""
    budget: envsubst.SubstitutionBudget = dataclasses.field(default_factory=envsubst.SubstitutionBudget)
    """How much the variables of Flux may stand for, in all renderings of the cluster."""

    @cached_property
    def links(self) -> Mapping[str, str]:
        """The symbolic links of the repo that stay inside of it, each with where it leads."""
        return file_listing.listed(self.tree.root).links


class RenderQuestions:
    """The questions of one rendering."""

    def __init__(self, around: RenderSurroundings, *, parent: "RenderQuestions | None" = None) -> None:
        self._around = around
        self._parent = parent
        self._answers: dict[tuple[What, tuple[str, ...]], str] = {}
        self._pins: dict[VersionPin, None] = {}

    @property
    def answers(self) -> tuple[RecordedAnswer, ...]:
        """Everything that was asked so far."""
        return tuple(RecordedAnswer(what, about, made) for (what, about), made in self._answers.items())

    @property
    def pins(self) -> tuple[VersionPin, ...]:
        """What moving references were."""
        return tuple(self._pins)

    @property
    def tree(self) -> WorkTree:
        """The repo, for questions whose answers others here ask for in full."""
        return self._around.tree

    @property
    def only_crds(self) -> bool:
        """Whether nothing is wanted but CRDs."""
        return self._around.only_crds

    @property
    def stops(self) -> bool:
        """Whether to stop where there is no shorter way to them."""
        return self._around.stops

    @property
    def links(self) -> Mapping[str, str]:
        """The symbolic links of the repo."""
        return self._around.links

    @property
    def budget(self) -> envsubst.SubstitutionBudget:
        """How much variables may still stand for."""
        return self._around.budget

    def file(self, path: str) -> bytes | None:
        """A file of the repo; None if there is none."""
        content = _file(self._around.tree, path)
        self._note("file", (path,), ABSENT if content is None else cache_files.bytes_digest(content))
        return content

    def content_of(self, path: str) -> bytes:
        """A file of the repo that is known to be there.

        Raises:
            errors.ClientError: It cannot be read, or is too large.
        """
        content = self.file(path)
        if content is None:
            said = [each.message for each in self._around.tree.diagnostics if each.place.path == path]
            raise errors.ClientError(f"{path} cannot be used: {said[0] if said else 'it is not part of the repo'}")
        return content

    def names(self, path: str) -> tuple[str, ...]:
        """All files below a directory of the repo, by their whole paths."""
        found = _names(self._around.tree, path)
        self._note("names", (path,), cache_files.value_digest(found))
        return found

    def generated(self, path: str) -> list[str]:
        """What Flux takes from a directory that has no kustomization."""
        found = _generated(self._around.tree, path)
        self._note("generated", (path,), cache_files.value_digest(found))
        return found

    def elsewhere(self, tree: WorkTree) -> "RenderQuestions":
        """The same questions, but for files, which another repository answers; its commit stands for all of them."""
        return RenderQuestions(dataclasses.replace(self._around, tree=tree), parent=self)

    async def stored(self, wanted: FetchRequest) -> FetchedContent:
        """A chart, a commit or a file from elsewhere.

        Raises:
            errors.FirstlightError: It cannot be had.
        """
        found = await self._around.store.get(wanted)
        about = (wanted.kind, wanted.url, wanted.name, wanted.version, wanted.digest)
        self._note("stored", (*about, _INSECURE) if wanted.insecure else about, found.sum)
        self._keep(found.pin)
        return found

    async def files(self, stored: FetchedContent) -> dict[str, bytes]:
        """The files of a chart or a commit."""
        return await self._around.store.files(stored)

    async def content(self, stored: FetchedContent) -> bytes:
        """The archive of a chart or a commit, or the bytes of a file."""
        return await self._around.store.content(stored)

    async def object(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """An object that something in the same cluster deploys; of a Secret no more than its keys."""
        found = await self._around.object(kind, namespace, name)
        self._note("object", (kind, namespace, name), _hash(found))
        return found

    async def served(self) -> ServedKinds:
        """What the cluster serves."""
        found = await self._around.served()
        self._note("served", (), _hash_served(found))
        return found

    def _note(self, what: What, about: tuple[str, ...], made: str) -> None:
        if self._parent is None:
            self._answers[what, about] = made
        elif what not in _OF_FILES:
            self._parent._note(what, about, made)

    def _keep(self, pin: VersionPin) -> None:
        if self._parent is None:
            self._pins[pin] = None
        else:
            self._parent._keep(pin)


async def answers_hold(answers: Iterable[RecordedAnswer], around: RenderSurroundings) -> bool:
    """Whether the world still gives these answers."""
    later = []
    for each in answers:
        if each.what in _OF_FILES:
            if _asked(each, around.tree) != each.hash:
                return False
        else:
            later.append(each)
    for each in later:  # these may have others rendered first
        if each.what == "stored":
            kind, url, name, version, digest, *rest = each.about
            wanted = FetchRequest(
                kind=FetchKind(kind), url=url, name=name, version=version, digest=digest, insecure=_INSECURE in rest
            )
            if (await around.store.get(wanted)).sum != each.hash:
                return False
        elif each.what == "object":
            kind, namespace, name = each.about
            if _hash(await around.object(kind, namespace, name)) != each.hash:
                return False
        elif _hash_served(await around.served()) != each.hash:
            return False
    return True


def _asked(answer: RecordedAnswer, tree: WorkTree) -> str:
    path = answer.about[0]
    if answer.what == "file":
        content = _file(tree, path)
        return ABSENT if content is None else cache_files.bytes_digest(content)
    return cache_files.value_digest(_names(tree, path) if answer.what == "names" else _generated(tree, path))


def _file(tree: WorkTree, path: str) -> bytes | None:
    return tree.bytes(path) if tree.is_file(path) else None


def _names(tree: WorkTree, path: str) -> tuple[str, ...]:
    return tuple(sorted(tree.below(path)))


def _generated(tree: WorkTree, path: str) -> list[str]:
    return [str(each) for each in kustomization_file.generated_kustomization(tree, path).value["resources"]]


def _hash(value: Mapping[str, Any] | None) -> str:
    return ABSENT if value is None else cache_files.value_digest(value)


def _hash_served(served: ServedKinds) -> str:
    scopes = sorted([*key, value] for key, value in served.scopes.items())
    return cache_files.value_digest([served.api_versions, scopes, served.missing])
