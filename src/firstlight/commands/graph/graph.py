"""The plan of one cluster as a picture, in the format that was asked for or that its file has by name."""

import sys
from pathlib import Path

from firstlight import errors
from firstlight.cli import renderers, which_repo
from firstlight.commands.graph import picture as graph_picture
from firstlight.commands.graph import svg
from firstlight.commands.graph import text as graph_text
from firstlight.commands.graph.picture import Picture
from firstlight.drawing import safe, table
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.plan import build

_SUFFIXES = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".txt": "text"}


def draw(cluster: str, *, form: str | None, out: Path | None, wanted: bool, offline: bool, root: Path | None) -> None:
    """Draw the plan of one cluster, to a file or to standard output."""
    platform = which_repo.only(which_repo.platform(root), cluster)
    chosen = _one(platform)
    renditions = renderers.rendered(platform, wanted=wanted, offline=offline)
    made = graph_picture.of(build.build(platform, chosen, renditions=renditions), platform.components_of(chosen.name))
    text = safe.text(_drawn(made, form or _guessed(out)))
    if out is None:
        sys.stdout.write(text)
        return
    out.write_text(text, encoding="utf-8")
    print(f"{out} shows {chosen.name}: {made.subtitle}", file=sys.stderr)


def _one(platform: Platform) -> Cluster:
    if len(platform.clusters) == 1:
        return platform.clusters[0]
    names = ", ".join(each.name for each in platform.clusters)
    raise errors.UsageError("a picture shows one cluster", hint=f"Name one of {names}." if names else "There is none.")


def _guessed(out: Path | None) -> str:
    if out is not None:
        if out.suffix.lower() not in _SUFFIXES:
            known = ", ".join(_SUFFIXES)
            raise errors.UsageError(
                f"what {out.name} is to be is not known", hint=f"Give --format, or end it with {known}."
            )
        return _SUFFIXES[out.suffix.lower()]
    return "text" if sys.stdout.isatty() else "svg"


def _drawn(picture: Picture, form: str) -> str:
    match form:
        case "svg":
            return svg.svg(picture)
        case "mermaid":
            return graph_text.mermaid(picture)
        case "dot":
            return graph_text.dot(picture)
    return graph_text.text(picture, columns=table.terminal_columns())
