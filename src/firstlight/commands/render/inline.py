"""Embed a component into a machine config (``--inline``, ``--check``), and print what that changes."""

import asyncio
import dataclasses
import datetime
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import diagnostic_data, output, renderers
from firstlight.cli.output_form import ObjectData
from firstlight.commands.render import source_commits
from firstlight.commands.render.output_form import InlineChangeData, InlineData
from firstlight.drawing import safe, table
from firstlight.errors import ExitCode
from firstlight.model import git, source
from firstlight.model.component import Component, ObjectId, Origin, Side
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.inline_manifest import Embedding, InlineObjectChange, InlineState, ObjectChangeKind
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import ChartSource, DirectorySource, Embedded
from firstlight.plan import well_known
from firstlight.render.component_renderer import Renderer
from firstlight.render.inline import edited_file, embedding, inline_argocd, requirements
from firstlight.render.inline.embedding import EmbeddingRequest
from firstlight.repo.argocd import local_charts
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import WorkTree

STALE = 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InlineOptions:
    """What was typed."""

    file: str = ""
    """Empty for where the inline manifest already is."""
    name: str = ""
    """Empty for the name that it has there, else that of the component."""
    check: bool = False
    dry_run: bool = False
    allowed: Sequence[str] = ()
    create_namespaces: bool = False
    with_root: bool = False
    to_omni: bool = False
    form: str = "text"


def typed(form: str, inline: str | None, **given: Any) -> InlineOptions | None:
    """What was typed; None where it has nothing to do with ``--inline``.

    Raises:
        errors.UsageError: An option is given that makes sense with ``--inline`` only, or never with it.
    """
    if inline is None:
        for name, value in given.items():
            if value:
                raise errors.UsageError(f"--{name.replace('_', '-')} is for --inline", hint="Give --inline as well.")
        return None
    if form not in ("text", "json"):
        raise errors.UsageError(f"--inline writes a file, so that --output {form} cannot be meant")
    return InlineOptions(
        file=inline, name=given["name"], check=given["check"], dry_run=given["dry_run"], allowed=given["allow_secret"],
        create_namespaces=given["create_namespace"], with_root=given["with_root"], to_omni=given["as_omni_manifest"],
        form=form,
    )  # fmt: skip


def command(
    platform: Platform, component: Component, options: InlineOptions, *, offline: bool = False, refresh: bool = False
) -> int:
    """Render a component twice, and embed it; the exit code."""
    return asyncio.run(embed(platform, component, options, offline=offline, refresh=refresh))


async def embed(
    platform: Platform, component: Component, options: InlineOptions, *, offline: bool = False, refresh: bool = False
) -> int:
    """The same where a loop runs already."""
    first, again, crds = await _rendered(platform, component, offline=offline, refresh=refresh)
    path, _ = _where(platform, component, options)
    since = await source_commits.since(platform.root, component, path) if options.check else ()
    return run(platform, component, first, options, again=again, crds=crds, since=since)


async def _rendered(
    platform: Platform, component: Component, *, offline: bool, refresh: bool
) -> tuple[list[Rendition], list[Rendition], list[Object]]:
    """What a component is, what it is the second time, and the CRDs that it does not bring itself."""
    sources = source_commits.origins(component)
    if not sources:
        return [], [], []
    made_from = dataclasses.replace(component, origins=sources)
    async with await renderers.open_renderer(platform, offline=offline, refresh=refresh) as renderer:
        first = [each.rendition for each in await renderer.render_all([made_from])]
        crds = await _crds(renderer, made_from, first)
    # The first rendering may be one that was kept, and tells nothing then; two that are made now do.
    async with await renderers.open_renderer(platform, offline=True, anew=True, quiet=True) as renderer:
        again = [each.rendition for each in await renderer.render_all([made_from])]
    return first, again, crds


async def _crds(renderer: Renderer, component: Component, renditions: Sequence[Rendition]) -> list[Object]:
    """CRDs of the components that may have those which are missing."""
    objects = [obj for each in renditions for obj in each.objects]
    groups = requirements.missing_groups(objects)
    others = [
        each
        for each in renderer.platform.components_of(component.cluster)
        if each.name != component.name and groups & set(_groups(each))
    ]
    found = await renderer.render_all(others)
    return [obj for each in found for obj in each.rendition.objects if obj.is_crd]


def _groups(component: Component) -> Iterator[str]:
    """The API groups that a component may define, as far as that is known without rendering it."""
    if found := well_known.of(component):
        yield from found[1].kinds
    for origin in component.origins:
        for id in origin.objects:
            if id.kind == "CustomResourceDefinition":
                yield id.name.partition(".")[2]


def run(
    platform: Platform, component: Component, renditions: Sequence[Rendition], options: InlineOptions,
    *, again: Sequence[Rendition] | None = None, crds: Sequence[Object] = (), since: Sequence[git.Commit] = (),
) -> int:  # fmt: skip
    """Embed a component, or say what that would do; the exit code.

    Args:
        platform: The repo.
        component: What is embedded.
        renditions: Of both of its sides, as far as it has them.
        options: What was typed.
        again: A second rendering past the cache, to find values that change by themselves.
        crds: CRDs of the cluster's other components.
        since: The commits that changed what it is made from after the file was last committed, newest first.
    """
    path, name = _where(platform, component, options)
    before = edited_file.read_file(platform.root, path)
    request = _request(platform, component, renditions, options, again=again, crds=crds)
    text = edited_file.decode_file(before, path) if before is not None else ""
    made = embedding.make_embedding(dataclasses.replace(request, path=path, name=name, text=text))
    found = made.embedding
    is_read_only = options.check or options.dry_run
    is_written = not is_read_only and not found.is_refused and made.text != text
    if is_written:
        edited_file.write_file(platform.root, path, made.text, old=before)
    shown = embedding_text(
        found, columns=table.terminal_columns(), is_written=is_written, is_new=before is None, has_diff=is_read_only,
        since=since,
    )  # fmt: skip
    output.answer(options.form, shown, embedding_data(found, is_written=is_written, since=since))
    if found.is_refused:
        return ExitCode.BLOCKED
    return STALE if options.check and found.is_stale else 0


def _where(platform: Platform, component: Component, options: InlineOptions) -> tuple[str, str]:
    """The file, and the name of the manifest in it."""
    there = _embedded(component)
    if options.file:
        path = edited_file.locate_file(platform.root, options.file)
        names = [each.name for each in there if each.place.path == path]
    elif len({each.place.path for each in there}) > 1:
        listed = ", ".join(dict.fromkeys(each.place.path for each in there))
        raise errors.UsageError(f"{component.name} is in several files: {listed}", hint="Give one of them to --inline.")
    elif there:
        path, names = there[0].place.path, [each.name for each in there]
    else:
        hint = "Give the Talos patch of the control plane, or the Omni template: --inline FILE"
        raise errors.UsageError(f"{component.name} is not inline yet", hint=hint)
    return path, options.name or (names[0] if names else component.name.rpartition("/")[2])


def manifest_names(component: Component) -> list[str]:
    """What a component's inline manifests are called; nothing if it is not inline."""
    return [each.name for each in _embedded(component)]


def _embedded(component: Component) -> list[Any]:
    return [each for each in component.origins if isinstance(each.source, Embedded)]


def _request(
    platform: Platform, component: Component, renditions: Sequence[Rendition], options: InlineOptions,
    *, again: Sequence[Rendition] | None, crds: Sequence[Object],
) -> EmbeddingRequest:  # fmt: skip
    cluster = platform.cluster(component.cluster)
    chosen = _chosen(platform.root, component, renditions)
    second = next((each for each in again or () if each.side == chosen.side and not _errors(each)), None)
    roots: tuple[Object, ...] = ()
    if options.with_root:
        roots = inline_argocd.root_objects(platform, component.cluster, tree=WorkTree(platform.root))
        if not roots:
            hint = "There must be one Application that no other brings. Add it to the sources of the engine instead."
            raise errors.UsageError(f"{component.cluster} has no root Application that can be told", hint=hint)
    known = {each.id for each in chosen.objects}
    more = tuple(each for each in roots if each.id not in known)
    origin = next((each for each in component.origins if each.side == chosen.side), component.origins[0])
    return embedding.EmbeddingRequest(
        root=platform.root, path="", text="", name="", component=component.name, cluster=component.cluster,
        place=origin.place, objects=(*chosen.objects, *more),
        again=None if second is None else (*second.objects, *more), crds=crds,
        namespace=source.namespace(origin.source), talos=cluster.talos if cluster else "",
        kinds=[each.kind for each in cluster.parts] if cluster else (),
        is_talhelper=cluster is not None and any("talconfig" in each for each in cluster.documents.values()),
        allowed=options.allowed,
        foundation=[(one.namespace, one.name) for one in platform.secrets if one.cluster in ("", component.cluster)],
        create_namespaces=options.create_namespaces, to_omni=options.to_omni, now=datetime.datetime.now(datetime.UTC),
    )  # fmt: skip


def _chosen(root: Path, component: Component, renditions: Sequence[Rendition]) -> Rendition:
    """What GitOps will apply, for that is what bootstrap is to begin with; else what bootstrap itself says."""
    sides = [Side.GITOPS]
    if any(each.side == Side.BOOTSTRAP and not isinstance(each.source, Embedded) for each in component.origins):
        sides.append(Side.BOOTSTRAP)
    for side in sides:
        for each in renditions:
            if each.side == side and (each.objects or each.diagnostics):
                for wrong in _errors(each):
                    message = f"{component.name} cannot be rendered: {wrong.place}: {wrong.message}"
                    raise errors.Refused(message, hint=wrong.fix)
                return each
    if made_from := source_commits.origins(component):
        where = ", ".join(dict.fromkeys(_path(each) for each in made_from))
        message = f"{component.name} renders to no objects: {where}"
        raise errors.Refused(message, hint=_about_nothing(root, made_from))
    named = _named_alike(root, component.name)
    hint = f"Set components.{component.name}.from in firstlight.yaml to what it is made from"
    raise errors.UsageError(
        f"only the inline manifest itself says what {component.name} is",
        hint=f"{hint}, such as {' or '.join(named)}." if named else f"{hint}: a chart, a kustomization or manifests.",
    )


def _about_nothing(root: Path, made_from: Sequence[Origin]) -> str:
    """What to do where nothing comes of a source."""
    tree = WorkTree(root)
    for each in made_from:
        path = _path(each)
        chart = local_charts.read_chart(tree, path)
        if chart and not chart.dependencies and not any(tree.is_dir(f"{path}/{name}") for name in _CHART_CONTENTS):
            return (
                f"{path}/{local_charts.CHART_FILE} has neither templates nor dependencies. "
                "Add the chart that it stands for to its dependencies, or name another source in from."
            )
    return "Check its templates and values."


_CHART_CONTENTS = ("templates", "charts")


def _path(origin: Origin) -> str:
    match origin.source:
        case DirectorySource(path=path) | ChartSource(name=path, repository=""):
            return path
    return str(origin.place)


def _named_alike(root: Path, name: str) -> list[str]:
    """Return charts and kustomizations of the repo in a directory of that name: candidates, no more."""
    tree = WorkTree(root)
    marks = {local_charts.CHART_FILE, *kustomization_file.NAMES}
    found = {posixpath.dirname(path) for path in tree.files if posixpath.basename(path) in marks}
    return sorted(each for each in found if posixpath.basename(each) == name)[:3]


def _errors(rendition: Rendition) -> list[Diagnostic]:
    return [each for each in rendition.diagnostics if each.severity == Severity.ERROR]


_STATES = {
    InlineState.FRESH: "fresh",
    InlineState.WRITTEN_OTHERWISE: "the same objects, written otherwise",
    InlineState.STALE: "stale",
    InlineState.ABSENT: "not there yet",
}
_LISTED = 12
"""Objects that are listed one by one."""


def embedding_text(
    embedding: Embedding, *, columns: int, is_written: bool = False, is_new: bool = False, has_diff: bool = False,
    since: Sequence[git.Commit] = (),
) -> str:  # fmt: skip
    """The whole story.

    Args:
        embedding: What it comes to.
        columns: How wide the terminal is.
        is_written: Whether the file was changed.
        is_new: Whether the file was not there before.
        has_diff: Whether the differences are shown line by line.
        since: The commits that made it stale, newest first.
    """
    parts = [
        [title(embedding)],
        table.render([*rows(embedding)], indent="  ", columns=columns),
        [safe.text(line) for each in embedding.changes for line in each.lines] if has_diff else [],
        diagnostic_lines(embedding.diagnostics),
        _commit_lines(embedding, since),
        [*_next(embedding, is_written=is_written, is_new=is_new)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(embedding: Embedding) -> str:
    """What is where, and how it stands."""
    what = "Omni manifest" if embedding.is_omni else "inline manifest"
    where = f" of {embedding.cluster}" if embedding.cluster else ""
    line = f"{embedding.path}   {what} {embedding.name}{where}   {_STATES[embedding.state]}"
    return safe.text(line)


def rows(embedding: Embedding) -> Iterator[list[str]]:
    """What is in it, and what changes."""
    counts = {what: sum(each.what is what for each in embedding.changes) for what in ObjectChangeKind}
    changes = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing changes"
    before = f" (was {_size(embedding.before)})" if embedding.before not in (0, embedding.after) else ""
    yield ["objects", f"{len(embedding.objects)} in {_size(embedding.after)}{before}: {changes}"]
    for change in _some(embedding.changes):
        yield [change.what, safe.text(str(change.id))]
    yield from _rest(embedding.changes)
    for each in embedding.left_out:
        yield ["left out", safe.text(f"{each.id}: {each.reason}")]
    for id in embedding.added_crds:
        yield ["with", safe.text(f"{id}: it must be served when this starts")]
    for value in _some(embedding.kept):
        yield ["kept", safe.text(f"{value}: every rendering makes another one")]
    yield from _rest(embedding.kept)


def diagnostic_lines(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """What there is to say, errors first."""
    order = [Severity.ERROR, Severity.WARNING, Severity.UNKNOWN]
    lines = []
    for each in sorted(diagnostics, key=lambda each: (order.index(each.severity), each.place)):
        lines.append(safe.text(f"{each.severity:8} {each.place}: {each.message}"))
        if each.fix:
            lines.append(safe.text(f"{'':8} {each.fix}"))
    return lines


def _commit_lines(embedding: Embedding, since: Sequence[git.Commit]) -> list[str]:
    if not embedding.is_stale or not since:
        return []
    lines = [f"  {each.id[:10]}  {each.committed:%Y-%m-%d}  {each.subject}" for each in _some(since)]
    more = len(since) - len(lines)
    return [
        safe.text(line)
        for line in (
            f"changed since {embedding.path} was last committed:",
            *lines,
            *([f"  and {more} more"] if more else []),
        )
    ]


def _next(embedding: Embedding, *, is_written: bool, is_new: bool) -> Iterator[str]:
    if embedding.is_refused:
        count = sum(each.severity == Severity.ERROR for each in embedding.diagnostics)
        yield f"refused: {count} error{'s' if count > 1 else ''} above; nothing was written"
    elif is_written:
        path = safe.text(embedding.path)
        # Of a file that Git does not know it shows no diff.
        look = f"the file is new: git add {path}, look at it with git diff --cached {path}"
        yield f"written; {look if is_new else f'look at it with git diff {path}'}, and commit it"
        if embedding.is_omni:
            yield "next: omnictl cluster template sync; Omni applies it once the cluster is healthy"
        else:
            yield f"next: firstlight up {safe.text(embedding.cluster)}".rstrip() + (
                "; it gives the machines the new config (so do talosctl apply-config and omnictl cluster template sync)"
            )
            yield "a new cluster applies all of it; one that runs adds what is missing, and changes what is there only"
            yield "with talosctl upgrade-k8s"
    elif embedding.is_stale:
        yield f"next: firstlight render {safe.text(embedding.component)} --inline {safe.text(embedding.path)}"


def embedding_data(embedding: Embedding, *, is_written: bool = False, since: Sequence[git.Commit] = ()) -> InlineData:
    """The stable form for programs."""
    return {
        "component": embedding.component,
        "cluster": embedding.cluster,
        "path": embedding.path,
        "name": embedding.name,
        "line": embedding.place.line,
        "omni": embedding.is_omni,
        "state": embedding.state,
        "stale": embedding.is_stale,
        "since": [{"commit": each.id, "subject": each.subject} for each in since if embedding.is_stale],
        "refused": embedding.is_refused,
        "written": is_written,
        "bytes": {"before": embedding.before, "after": embedding.after},
        "objects": [_object(each) for each in embedding.objects],
        "changes": [_change(each) for each in embedding.changes],
        "leftOut": [{**_object(each.id), "reason": each.reason} for each in embedding.left_out],
        "addedCrds": [each.name for each in embedding.added_crds],
        "kept": list(embedding.kept),
        "diagnostics": diagnostic_data.of_all(embedding.diagnostics),
    }


def _change(change: InlineObjectChange) -> InlineChangeData:
    return {**_object(change.id), "what": change.what, "diff": list(change.lines)}


def _object(id: ObjectId) -> ObjectData:
    return {"group": id.group, "kind": id.kind, "namespace": id.namespace, "name": id.name}


def _some(items: Sequence[Any]) -> Sequence[Any]:
    return items if len(items) <= _LISTED + 1 else items[:_LISTED]


def _rest(items: Sequence[Any]) -> Iterator[list[str]]:
    if len(items) > _LISTED + 1:
        yield ["", f"and {len(items) - _LISTED} more"]


def _size(size: int) -> str:
    if size < 1 << 10:
        return f"{size} bytes"
    return f"{size / (1 << 10):.0f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"
