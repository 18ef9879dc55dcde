"""The edit that brings a wish about: tried one after the other, each rendered, until one is proven."""

import dataclasses
from collections.abc import AsyncIterator, Iterator, Sequence

from firstlight import errors
from firstlight.model.component import Component, Side
from firstlight.model.place import Place
from firstlight.model.source import Chart, Directory, namespace
from firstlight.operate.auditing import diffing, key_files
from firstlight.operate.override import aligning_proof, aligning_values
from firstlight.operate.override.aligning_states import Files, Renderings, State
from firstlight.plan import facts
from firstlight.repo import edited
from firstlight.repo.aligning import chart, confidential, whole_objects, written
from firstlight.repo.aligning.sites import Repo
from firstlight.repo.aligning.wish import CLASS, Candidate, Obstacle, Wish
from firstlight.repo.overlaid import OverlaidTree
from firstlight.repo.work_tree import WorkTree

_MOST = 60
"""Edits that are tried for one field."""


@dataclasses.dataclass(frozen=True)
class Proven:
    """An edit that does what it is for and nothing else."""

    candidate: Candidate
    state: State


@dataclasses.dataclass(frozen=True)
class Search:
    """What was found for one wish."""

    proven: tuple[Proven, ...] = ()
    """Of the best sort; more than one where they differ in what they mean."""
    obstacles: tuple[str, ...] = ()
    """What else would have been edited, and why it is not."""


async def search(
    wish: Wish,
    renderings: Renderings,
    state: State,
    *,
    wishes: Sequence[Wish],
    cluster: str,
    origin_state: State,
    component: str = "",
    is_made: bool = False,
) -> Search:
    """Look for an edit.

    Args:
        wish: What it is for.
        renderings: Prove it.
        state: The repo with the edits that were found before.
        wishes: All that is to be brought about.
        cluster: Where.
        origin_state: The repo as it was at first.
        component: Where a new object belongs, if that is known.
        is_made: Whether it is known that an object that nothing renders was made past Git.
    """
    obstacles: dict[str, None] = {}
    proven: dict[str, Proven] = {}
    best: int | None = None
    tried = 0
    repo = Repo(state.tree, state.platform, cluster)
    home = _home(state, wish, cluster)
    if home is None and not is_made and (hidden := _hidden(origin_state, wish, cluster)):
        return Search(obstacles=(f"it may come from {hidden}",))
    async for found in _candidates(repo, wish, home, renderings=renderings, state=state, component=component):
        if isinstance(found, Obstacle):
            obstacles[found.why] = None
            continue
        sort = found.rank // CLASS
        if (best is not None and sort > best) or tried >= _MOST:
            break
        if found.means in proven:
            continue
        files, why = _made(state, found)
        if why:
            obstacles[f"{found.place}: {why}"] = None
            continue
        tried += 1
        after, strays = await _tried(
            files, wish, renderings, origin_state, wishes=wishes, cluster=cluster, home=home[0] if home else None
        )
        if after is not None and not strays:
            proven[found.means] = Proven(found, after)
            best = sort
        elif strays:
            obstacles[f"{found.place} ({found.says}) {strays}"] = None
    return Search(tuple(proven.values()), tuple(obstacles))


async def _tried(
    files: Files,
    wish: Wish,
    renderings: Renderings,
    first: State,
    *,
    wishes: Sequence[Wish],
    cluster: str,
    home: Component | None,
) -> tuple[State | None, str]:
    """The repo with an edit, if it does what it is for; and why it is not taken though it would do that."""
    if home is not None:
        names = {(cluster, home.name)}
        quick = await renderings.state(files, names)
        verdict = aligning_proof.judge(first, quick, wish, wishes=wishes, cluster=cluster, names=names)
        if not verdict.is_fulfilled or verdict.says:
            return None, verdict.says if verdict.is_fulfilled else ""
    after = await renderings.state(files)
    verdict = aligning_proof.judge(first, after, wish, wishes=wishes, cluster=cluster, names=None)
    return (after, verdict.says) if verdict.is_fulfilled else (None, "")


def _hidden(state: State, wish: Wish, cluster: str) -> str:
    """What could not be rendered and may have an object in it."""
    for component in state.platform.components_of(cluster):
        why = state.broken.get((cluster, component.name))
        spaces = {namespace(each.source) for each in component.origins}
        if why is not None and (not wish.object.namespace or spaces & {"", wish.object.namespace}):
            return f"{component.name}, which cannot be rendered here: {why}"
    return ""


def _home(state: State, wish: Wish, cluster: str) -> tuple[Component, Side] | None:
    """The component that an object comes from; Git's half of it before bootstrap's."""
    for side in (Side.GITOPS, Side.BOOTSTRAP):
        name = state.components.get((cluster, side, wish.object))
        found = next((each for each in state.platform.components_of(cluster) if each.name == name), None)
        if found is not None:
            return found, side
    return None


async def _candidates(
    repo: Repo,
    wish: Wish,
    home: tuple[Component, Side] | None,
    *,
    renderings: Renderings,
    state: State,
    component: str,
) -> AsyncIterator[Candidate | Obstacle]:
    if wish.object.is_secret:
        for each in _of_secret(repo, wish):
            yield each
        return
    held = state.objects.get((repo.cluster, home[1], wish.object)) if home else None
    if confidential.is_secret(wish, held):
        why = "it looks like a secret, which does not get into Git: put it into a Secret of its own, and refer to that"
        yield Obstacle(Place(""), why)
        return
    if home is None:
        for each in whole_objects.new(repo, wish, component=component) if wish.is_new else ():
            yield each
        return
    where, side = home
    value = state.objects[repo.cluster, side, wish.object]
    for origin in facts.origins(where, side):
        for source in facts.sources(origin):
            if isinstance(source, Chart):
                given, defaults = await aligning_values.of(renderings, state, origin, source)
                for each in chart.candidates(
                    repo, wish, origin, source, value=value, given=given, defaults=defaults
                ):  # fmt: skip
                    yield each
            elif isinstance(source, Directory) and wish.is_gone:
                for each in whole_objects.gone(repo, wish, origin, value=value):
                    yield each
            elif isinstance(source, Directory):
                for each in written.of_origin(repo, wish, origin, value=value):
                    yield each


def _of_secret(repo: Repo, wish: Wish) -> Iterator[Candidate | Obstacle]:
    """What a person does about a Secret: its values are never written."""
    known = repo.stating(wish.object)
    place = next((each.place for each in known[0].stated if each.id == wish.object), None) if known else None
    if place is None:
        yield Obstacle(Place(""), f"{wish.object} is a Secret, and never written: change it where it comes from")
    else:
        yield Obstacle(place, f"{wish.object} is a Secret, and never written: change it with sops {place.path}")


def _made(state: State, found: Candidate) -> tuple[Files, str]:
    """All files that differ once an edit is made; or why it is not."""
    try:
        texts = edited.files(state.tree, found.edits)
    except errors.ConfigError as error:
        return {}, error.message
    except UnicodeDecodeError:
        return {}, "the file is no UTF-8"
    every = {**texts, **found.files}
    mine = {path: None if text is None else text.encode() for path, text in every.items()}
    for path, content in mine.items():
        if why := _unfit(state.tree, path, content):
            return {}, why
    return {**state.files, **mine}, ""


def _unfit(tree: WorkTree, path: str, content: bytes | None) -> str:
    """Why a file is not edited; empty if nothing is in the way."""
    before = tree.bytes(path) if tree.is_file(path) else None
    if before is not None and key_files.has_clear_secrets(tree, path):
        return f"{path} has secrets in clear, which a diff would show"
    # What is around an edit is shown without secrets; what is written may be none.
    added = diffing.unified(path, before, content or b"").splitlines()[2:]
    if key_files.tells_secret("\n".join(each[1:] for each in added if each.startswith("+"))):
        return "what would be written looks like a secret"
    if content is not None and before is None:
        after = OverlaidTree(tree, {path: content})
        if key_files.has_clear_secrets(after, path):
            return "it would be a Secret in clear"
    return ""
