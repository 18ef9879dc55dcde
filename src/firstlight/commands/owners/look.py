"""A look at who owns what in a cluster: which cluster is meant, what the repo declares, and what is shown of it."""

import asyncio
import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, renderers, which_cluster, which_repo
from firstlight.clients import kube
from firstlight.clients.kube.client_config import ClientConfig
from firstlight.commands.owners import owners as owners_room
from firstlight.commands.owners import text, treemap
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.owner import OwnerMap
from firstlight.model.platform import Platform
from firstlight.ownership.owner_map import DeclaredOwnership
from firstlight.repo import work_tree

FLAWS = 2
_NO_REPO = "no repo says who is to own what: owners that differ from the declared ones were not looked for"
_NOT_RENDERED = "nothing was rendered: owners that differ from the declared ones were not looked for"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnersRequest:
    """What somebody wants to see."""

    fields: bool = False
    namespace: str = ""
    kind: str = ""
    owner: str = ""
    flaws: bool = False
    everything: bool = False
    rendered: bool = True
    offline: bool = False


def show(
    cluster: str, request: OwnersRequest, *, check: bool, picture: Path | None, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Look at a cluster, print or draw who owns what, and return the exit code."""
    scene = _scene(cluster, root, kubeconfig=kubeconfig, context=context)
    whole = asyncio.run(_look(scene, request))
    kind, namespace, owner = request.kind, request.namespace, request.owner
    shown = owners_room.only(whole, kind=kind, namespace=namespace, owner=owner, everything=request.everything)
    counted = owners_room.counted(whole, kind=kind, namespace=namespace, owner=owner)
    if request.flaws:
        shown = dataclasses.replace(shown, objects=tuple(each for each in shown.objects if each.flaws))
    if picture is not None:
        _draw(whole, shown, picture)
    by_object = request.everything or request.fields or bool(kind or namespace or owner)
    only_flaws = request.flaws and not request.fields
    _print(whole, shown, form, counted=counted, by_object=by_object, only_flaws=only_flaws)
    return exit_code(whole, shown) if check else 0


def exit_code(whole: OwnerMap, shown: OwnerMap) -> int:
    """What it means to a shell that checks: of what could not be read, nobody knows whether something is wrong.

    Args:
        whole: Every object.
        shown: Those that are asked for.
    """
    if any(each.flaws for each in shown.objects):
        return FLAWS
    return ExitCode.FAILED if whole.unread else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Scene:
    """Which cluster is looked at, and what is known of it."""

    name: str
    config: ClientConfig
    platform: Platform | None = None
    cluster: Cluster | None = None


def _scene(name: str, root: Path | None, *, kubeconfig: Path | None, context: str) -> _Scene:
    """The cluster that is meant; a way to it is enough where no repo is around."""
    has_way = kubeconfig is not None or bool(context)
    platform = which_repo.platform(root) if name or root is not None or _is_repo() else None
    is_open = platform is None or not platform.clusters or (has_way and len(platform.clusters) > 1)
    if platform is None or (is_open and not name and root is None):
        config = kube.load(kubeconfig, context=context, allow_exec=True)
        return _Scene(name=context or config.server.rpartition("//")[2], config=config)

    one = which_cluster.cluster_of(platform, name)
    state = state_files.directory_of(platform.root)
    config = which_cluster.config(state, one.name, kubeconfig=kubeconfig, context=context)
    return _Scene(name=one.name, config=config, platform=platform, cluster=one)


def _is_repo() -> bool:
    """Whether a repo is around; any other directory may be large, and says nothing of clusters."""
    top = work_tree.top(Path())
    return (top / ".git").exists() or (top / "firstlight.yaml").exists()


async def _look(scene: _Scene, request: OwnersRequest) -> OwnerMap:
    state = state_files.directory_of(scene.platform.root) if scene.platform is not None else None
    async with which_cluster.opened(scene.config, agent="owners", state=state, cluster=scene.name) as client:
        declared, notes = await _declared(scene, is_rendered=request.rendered, offline=request.offline)
        return await owners_room.owners(
            client,
            cluster=scene.name,
            declared=declared,
            namespace=request.namespace,
            with_fields=request.fields,
            notes=notes,
        )


async def _declared(
    scene: _Scene, *, is_rendered: bool, offline: bool
) -> tuple[Mapping[ObjectId, DeclaredOwnership] | None, list[str]]:
    """Who is to own what, and what of that is not known."""
    if scene.platform is None or scene.cluster is None:
        return None, [_NO_REPO]
    if not is_rendered:
        return None, [_NOT_RENDERED]
    try:
        async with await renderers.open_renderer(scene.platform, offline=offline) as renderer:
            done = await renderer.render_all(scene.platform.components_of(scene.cluster.name))
    except errors.ToolError as error:
        return None, [f"{_NOT_RENDERED}. {error.message}. {error.hint}".rstrip()]
    renditions = [each.rendition for each in done]
    missing = owners_room.unrendered(scene.platform, scene.cluster, renditions)
    notes = [f"not rendered, so who is to own it is not known: {', '.join(missing)}"] if missing else []
    return owners_room.declared(scene.platform, scene.cluster, renditions), notes


def _draw(whole: OwnerMap, shown: OwnerMap, picture: Path) -> None:
    drawn, there = len(shown.objects), len(whole.objects)
    picture.write_text(treemap.svg(shown, of=there), encoding="utf-8")
    more = f" of {there:,}; all of them: --all" if drawn < there else ""
    print(f"{picture} shows {drawn:,} objects{more}", file=sys.stderr)


def _print(
    whole: OwnerMap, shown: OwnerMap, form: str, *, counted: OwnerMap, by_object: bool, only_flaws: bool
) -> None:
    if form == "json":
        output.write_json(text.data(counted, shown))
        return
    columns = table.terminal_columns()
    print(text.text(whole, shown, columns=columns, counted=counted, by_object=by_object, only_flaws=only_flaws))
