"""The edit that brings a wish about: tried one after the other, each rendered, until one is proven."""

import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.commands.override import alignment_proof
from firstlight.commands.override.alignment_proof import Files, RenderedRepo, Renderings
from firstlight.document import yaml_reader
from firstlight.model.component import Component, Origin, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource, DirectorySource, namespace
from firstlight.plan import cluster_facts
from firstlight.repo import file_patch, overlaid_tree
from firstlight.repo.field_edits import chart_edits, field_steps, manifest_edits
from firstlight.repo.field_edits.component_sites import ClusterRepo
from firstlight.repo.field_edits.edit_candidates import RANKS_OF_VALUE, EditCandidate, FoundEdits, WantedField
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree

_MOST = 60
"""Edits that are tried for one field."""


@dataclasses.dataclass(frozen=True)
class ProvenEdit:
    """An edit that does what it is for and nothing else."""

    candidate: EditCandidate
    state: RenderedRepo


@dataclasses.dataclass(frozen=True)
class EditSearch:
    """What was found for one wish."""

    proven: tuple[ProvenEdit, ...] = ()
    """Of the best sort; more than one where they differ in what they mean."""
    obstacles: tuple[str, ...] = ()
    """What else would have been edited, and why it is not."""


async def search_edit(
    wish: WantedField, renderings: Renderings, state: RenderedRepo, *, wishes: Sequence[WantedField], cluster: str,
    origin_state: RenderedRepo, component: str = "", is_made: bool = False,
) -> EditSearch:  # fmt: skip
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
    proven: dict[str, ProvenEdit] = {}
    best: int | None = None
    tried = 0
    repo = ClusterRepo(state.tree, state.platform, cluster)
    home = _home(state, wish, cluster)
    if home is None and not is_made and (hidden := _hidden(origin_state, wish, cluster)):
        return EditSearch(obstacles=(f"it may come from {hidden}",))
    async for found in _candidates(repo, wish, home, renderings=renderings, state=state, component=component):
        if isinstance(found, Diagnostic):
            obstacles[found.message] = None
            continue
        sort = found.rank // RANKS_OF_VALUE
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
            proven[found.means] = ProvenEdit(found, after)
            best = sort
        elif strays:
            obstacles[f"{found.place} ({found.says}) {strays}"] = None
    return EditSearch(tuple(proven.values()), tuple(obstacles))


async def _tried(
    files: Files, wish: WantedField, renderings: Renderings, first: RenderedRepo, *, wishes: Sequence[WantedField],
    cluster: str, home: Component | None,
) -> tuple[RenderedRepo | None, str]:  # fmt: skip
    """The repo with an edit, if it does what it is for; and why it is not taken though it would do that."""
    if home is not None:
        names = {(cluster, home.name)}
        quick = await renderings.state(files, names)
        verdict = alignment_proof.judge(first, quick, wish, wishes=wishes, cluster=cluster, names=names)
        if not verdict.is_fulfilled or verdict.says:
            return None, verdict.says if verdict.is_fulfilled else ""
    after = await renderings.state(files)
    verdict = alignment_proof.judge(first, after, wish, wishes=wishes, cluster=cluster, names=None)
    return (after, verdict.says) if verdict.is_fulfilled else (None, "")


def _hidden(state: RenderedRepo, wish: WantedField, cluster: str) -> str:
    """What could not be rendered and may have an object in it."""
    for component in state.platform.components_of(cluster):
        why = state.broken.get((cluster, component.name))
        spaces = {namespace(each.source) for each in component.origins}
        if why is not None and (not wish.object.namespace or spaces & {"", wish.object.namespace}):
            return f"{component.name}, which cannot be rendered here: {why}"
    return ""


def _home(state: RenderedRepo, wish: WantedField, cluster: str) -> tuple[Component, Side] | None:
    """The component that an object comes from; Git's half of it before bootstrap's."""
    for side in (Side.GITOPS, Side.BOOTSTRAP):
        name = state.components.get((cluster, side, wish.object))
        found = next((each for each in state.platform.components_of(cluster) if each.name == name), None)
        if found is not None:
            return found, side
    return None


async def _candidates(
    repo: ClusterRepo, wish: WantedField, home: tuple[Component, Side] | None, *, renderings: Renderings, state:
    RenderedRepo, component: str,
) -> AsyncIterator[EditCandidate | Diagnostic]:  # fmt: skip
    if wish.object.is_secret:
        for each in _of_secret(repo, wish):
            yield each
        return
    held = state.objects.get((repo.cluster, home[1], wish.object)) if home else None
    if field_steps.is_secret_field(wish, held):
        why = "it looks like a secret, which does not get into Git: put it into a Secret of its own, and refer to that"
        yield Diagnostic.warning("edit-secret-refused", why)
        return
    if home is None:
        for each in manifest_edits.new_object(repo, wish, component=component) if wish.is_new else ():
            yield each
        return
    where, side = home
    value = state.objects[repo.cluster, side, wish.object]
    for origin in cluster_facts.origins(where, side):
        for source in cluster_facts.sources(origin):
            if isinstance(source, ChartSource):
                given, defaults = await values_of_chart(renderings, state, origin, source)
                for each in chart_edits.chart_candidates(
                    repo, wish, origin, source, value=value, given=given, defaults=defaults
                ):  # fmt: skip
                    yield each
            elif isinstance(source, DirectorySource) and wish.is_gone:
                for each in manifest_edits.gone_object(repo, wish, origin, value=value):
                    yield each
            elif isinstance(source, DirectorySource):
                for each in manifest_edits.of_origin(repo, wish, origin, value=value):
                    yield each


def _of_secret(repo: ClusterRepo, wish: WantedField) -> FoundEdits:
    """What a person does about a Secret: its values are never written."""
    known = repo.stating(wish.object)
    place = next((each.place for each in known[0].stated if each.id == wish.object), None) if known else None
    where = "where it comes from" if place is None else f"with sops {place.path}"
    message = f"{wish.object} is a Secret, and never written: change it {where}"
    yield Diagnostic.warning("edit-secret-refused", message, at=place or ())


def _made(state: RenderedRepo, found: EditCandidate) -> tuple[Files, str]:
    """All files that differ once an edit is made; or why it is not."""
    try:
        texts = overlaid_tree.edited_files(state.tree, found.edits)
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
    if before is not None and clear_secrets.has_clear_secrets(tree, path):
        return f"{path} has secrets in clear, which a diff would show"
    # What is around an edit is shown without secrets; what is written comes from the cluster, and may be none.
    after = OverlaidTree(tree, {path: content})
    names = clear_secrets.lines_with_key_names(after, path) if content is not None else frozenset()
    written = file_patch.written_lines(before or b"", content or b"")
    if clear_secrets.tells_secret("".join(line for number, line in written if number not in names)):
        return "what would be written looks like a secret"
    if content is not None and before is None and clear_secrets.has_clear_secrets(after, path):
        return "it would be a Secret in clear"
    return ""


# The values of a chart: those that the repo gives it, and its own.


async def values_of_chart(
    renderings: Renderings, state: RenderedRepo, origin: Origin, source: ChartSource
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the repo gives a chart, and what the chart has itself, its own charts' under their names."""
    try:
        release = await renderings.release(state, origin, source)
    except errors.FirstlightError:
        return {}, {}
    defaults: dict[str, Any] = {}
    for path, content in sorted(release.chart.files.items(), key=lambda each: -each[0].count("/")):
        parts = path.split("/")
        if parts[-1] != "values.yaml" or any(each != "charts" for each in parts[:-1:2]):
            continue
        documents = yaml_reader.read(content, path).documents
        if documents and isinstance(documents[0].value, dict):
            defaults = _within(defaults, parts[1:-1:2], documents[0].value)
    return release.values, defaults


def _within(values: dict[str, Any], path: Sequence[str], more: Mapping[str, Any]) -> dict[str, Any]:
    """Values with more of them below a name; what is there already came from further below, and stays."""
    if not path:
        return {**values, **{name: _merged(each, values.get(name)) for name, each in more.items()}}
    inner = values.get(path[0])
    return {**values, path[0]: _within(inner if isinstance(inner, dict) else {}, path[1:], more)}


def _merged(over: Any, under: Any) -> Any:
    """Values of a chart over those that its own chart has."""
    if isinstance(over, Mapping) and isinstance(under, Mapping):
        return {**under, **{name: _merged(each, under.get(name)) for name, each in over.items()}}
    return over
