"""Render components, and print their objects, their CRDs or a table."""

import asyncio
import difflib
import sys
import time
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import diagnostic_data, output, renderers, which_repo
from firstlight.commands.render import inline as render_inline
from firstlight.commands.render import text
from firstlight.commands.render.text import RenditionRow
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.platform import Platform
from firstlight.render import component_renderer, served_kinds


def show(
    root: Path | None,
    component: str,
    *,
    cluster: str,
    side_name: str | None,
    only_crds: bool,
    offline: bool,
    refresh: bool,
    owner_labels: bool,
    form: str,
    embedding: dict[str, Any],
) -> int:
    """Print what components deploy, or embed one; return the exit code.

    Raises:
        errors.UsageError: What was typed cannot be meant.
    """
    if offline and refresh:
        raise errors.UsageError("--offline fetches nothing, so --refresh cannot be meant")
    inline = render_inline.typed(form, **embedding)
    platform = which_repo.only(which_repo.platform(root), cluster)
    if inline is not None:
        if not component:
            raise errors.UsageError("--inline embeds one component", hint="Name it: firstlight render NAME --inline")
        return render_inline.command(
            platform, embedded(platform, component, inline.file), inline, offline=offline, refresh=refresh
        )
    chosen, side = _chosen(platform, component, side_name)
    begun = time.perf_counter()
    found = asyncio.run(_render(platform, chosen, side, offline=offline, refresh=refresh, owner_labels=owner_labels))
    if only_crds:
        return _show_crds(platform, found, form)
    return _show(found, form, is_one=bool(component), seconds=time.perf_counter() - begun)


def _chosen(platform: Platform, name: str, side_name: str | None) -> tuple[list[Component], Side | None]:
    side = Side(side_name) if side_name else None
    if not name:
        return list(platform.components), side
    found = _named(platform, name)
    sides = component_renderer.sides(found)
    if side is not None and side not in sides:
        raise errors.UsageError(f"{name} has nothing in {side}", hint=f"It is in {' and '.join(sides)}.")
    if side is None and len(sides) > 1:
        side = Side.GITOPS
        print(f"{name} is a hybrid: this is its GitOps half; --side bootstrap shows the other", file=sys.stderr)
    return [found], side


def _named(platform: Platform, name: str) -> Component:
    found = [each for each in platform.components if each.name == name]
    if not found:
        near = difflib.get_close_matches(name, sorted({each.name for each in platform.components}), n=3)
        raise errors.UsageError(f"there is no component {name}", hint=f"There is {', '.join(near)}." if near else "")
    if len(found) > 1:
        clusters = ", ".join(each.cluster for each in found)
        raise errors.UsageError(f"{name} is in several clusters", hint=f"Choose with --cluster: {clusters}.")
    return found[0]


def embedded(platform: Platform, name: str, file: str) -> Component:
    """The component that is meant with ``--inline``: without a file the one that is inline already, by either name."""
    inline = [each for each in platform.components if name in (each.name, *render_inline.manifest_names(each))]
    there = [each for each in inline if render_inline.manifest_names(each)]
    return there[0] if len(there) == 1 and not file else _named(platform, name)


async def _render(
    platform: Platform,
    chosen: list[Component],
    side: Side | None,
    *,
    offline: bool,
    refresh: bool,
    owner_labels: bool,
) -> list[RenditionRow]:
    opened = await renderers.open_renderer(platform, offline=offline, refresh=refresh, owner_labels=owner_labels)
    async with opened as renderer:
        outcomes = await renderer.render_all(chosen, side=side)
    by_name = {(each.cluster, each.name): each for each in chosen}
    return [
        RenditionRow(
            by_name[each.rendition.cluster, each.rendition.component], each.rendition, each.seconds, each.is_cached
        )
        for each in outcomes
    ]


def _show(found: list[RenditionRow], form: str, *, is_one: bool, seconds: float) -> int:
    diagnostics = [diagnostic for row in found for diagnostic in row.rendition.diagnostics]
    if form == "json":
        output.write_json({"renditions": [text.data(row, with_objects=is_one) for row in found]})
    elif is_one or form == "yaml":
        print(text.yaml(obj for row in found for obj in row.rendition.objects), end="")
        for row in found if is_one else ():
            print(text.summary(row), file=sys.stderr)
    else:
        print("\n".join(text.rows(found, columns=table.terminal_columns())))
        print(text.totals(found, seconds), file=sys.stderr)
    if form != "json":
        _say(diagnostics, limit=0 if is_one else 10)
    return 0 if all(text.is_whole(row.rendition) for row in found) else ExitCode.FAILED


def _show_crds(platform: Platform, found: list[RenditionRow], form: str) -> int:
    made = served_kinds.extract([row.rendition for row in found], platform=platform)
    if form == "json":
        listed = [
            {
                "name": each.name,
                "cluster": each.cluster,
                "components": each.components,
                "versions": served_kinds.served_versions(each.object),
                "object": each.object.value,
            }
            for each in made.each
        ]
        output.write_json({"crds": listed, "diagnostics": diagnostic_data.of_all(made.diagnostics)})
    else:
        print(text.yaml(each.object for each in made.each), end="")
        number = len(made.each)
        print(f"{number} CRD{'' if number == 1 else 's'} of {len(found)} renditions", file=sys.stderr)
        broken = [
            diagnostic for row in found for diagnostic in row.rendition.diagnostics if diagnostic.severity == "error"
        ]
        _say([*made.diagnostics, *broken], limit=0)
    return 0 if all(text.is_whole(row.rendition) for row in found) else ExitCode.FAILED


def _say(diagnostics: list[Diagnostic], *, limit: int) -> None:
    if lines := text.diagnostic_lines(diagnostics, limit=limit):
        print("\n".join(lines), file=sys.stderr)
