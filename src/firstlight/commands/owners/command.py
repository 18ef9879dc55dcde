"""``firstlight owners``: who owns every object of a cluster, and what is wrong with that."""

import asyncio
import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output, renderers, which_cluster, which_repo
from firstlight.cli.options import cluster_options, repo_option
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


@click.command()
@click.argument("cluster", default="")
@click.option("--fields", is_flag=True, help="Every field with its managers.")
@click.option("--namespace", default="", metavar="NAME", help="Only objects in it.")
@click.option("--kind", default="", metavar="KIND", help="Only objects of it; also those that others bring.")
@click.option("--owner", default="", metavar="PARTY", help="Only objects of flux, talos …, or of a part of a name.")
@click.option("--flaws", is_flag=True, help="Only objects that something is wrong with, all of them.")
@click.option("--all", "everything", is_flag=True, help="Also what others bring, and what the system makes; all names.")
@click.option("--check", is_flag=True, help="Exit with 2 if something is wrong, with 1 if not all could be read.")
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE.svg",
              help="Draw it: namespace, owner and kind, as large as they are many.")  # fmt: skip
@click.option("--render/--no-render", "wanted", default=True, show_default=True,
              help="Render the repo, to know who is to own what.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@cluster_options
@repo_option
@output.option
def owners(
    cluster: str, fields: bool, namespace: str, kind: str, owner: str, flaws: bool, everything: bool, check: bool,
    picture: Path | None, wanted: bool, offline: bool, kubeconfig: Path | None, context: str, root: Path | None,
    form: str,
) -> int:  # fmt: skip
    """Every object of a cluster with its owner: Talos, bootstrap, Flux, Argo CD, Helm, a controller or a person.

    Orphans, objects with two GitOps owners, stale co-owners, objects whose source is gone, and owners that differ from
    the declared ones are told with what to do. Nothing is written. It works without a repo, by --kubeconfig or
    --context alone. Exit code 2 means, with --check, that something is wrong, and 1 that something could not be read.
    """
    scene = _scene(cluster, root, kubeconfig=kubeconfig, context=context)
    whole = asyncio.run(_look(scene, namespace=namespace, fields=fields, is_rendered=wanted, offline=offline))
    shown = owners_room.only(whole, kind=kind, namespace=namespace, owner=owner, everything=everything)
    counted = owners_room.counted(whole, kind=kind, namespace=namespace, owner=owner)
    if flaws:
        shown = dataclasses.replace(shown, objects=tuple(each for each in shown.objects if each.flaws))
    if picture is not None:
        _draw(whole, shown, picture)
    by_object = everything or fields or bool(kind or namespace or owner)
    _print(whole, shown, form, counted=counted, by_object=by_object, only_flaws=flaws and not fields)
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


async def _look(scene: _Scene, *, namespace: str, fields: bool, is_rendered: bool, offline: bool) -> OwnerMap:
    state = state_files.directory_of(scene.platform.root) if scene.platform is not None else None
    async with which_cluster.opened(scene.config, agent="owners", state=state, cluster=scene.name) as client:
        declared, notes = await _declared(scene, is_rendered=is_rendered, offline=offline)
        return await owners_room.owners(
            client, cluster=scene.name, declared=declared, namespace=namespace, with_fields=fields, notes=notes
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
