"""``firstlight lab source``: the Git, OCI and Helm repositories of a lab, for people who fill them by hand."""

import asyncio
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.lab import which_lab
from firstlight.drawing import safe, table
from firstlight.lab.sources.declarations import Access
from firstlight.lab.sources.sources_client import SourcesClient

CHARTS = "charts"
"""Where charts go, in the registry and as a Helm repository, unless it is said otherwise."""


@click.group(no_args_is_help=True)
def source() -> None:
    """The Git, OCI and Helm repositories that a lab serves: what is there, and putting something in."""


@source.command("list")
@which_lab.option
@output.option
def list_sources(name: str, form: str) -> None:
    """Every repository, and where clients reach it."""
    found = asyncio.run(_all(_sources(name)))
    if form == "json":
        keys = ("kind", "name", "url", "holds")
        output.write_json({"repositories": [dict(zip(keys, each, strict=True)) for each in found]})
        return
    rows = [[kind, called, url, safe.text(", ".join(holds))] for kind, called, url, holds in found]
    print("\n".join(table.render(rows)) if rows else "nothing yet; make one: firstlight lab source repo me/fleet")


@source.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--read-only", is_flag=True, help="Whoever has no credentials may only read.")
@which_lab.option
@output.option
def repo(repository: str, read_only: bool, name: str, form: str) -> None:
    """Make a Git repository that everybody on this machine may push to; prints its address."""
    access = Access(anonymous="read" if read_only else "write")
    made = asyncio.run(_sources(name).create_git(repository, access=access))
    output.answer(form, made.url, {"name": made.name, "url": made.url})


@source.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("-m", "--message", default="A change", show_default=True)
@click.option("--branch", default="main", show_default=True)
@which_lab.option
@output.option
def commit(repository: str, directory: Path, message: str, branch: str, name: str, form: str) -> None:
    """Let a branch be what DIRECTORY is, as if it had been pushed; what Git itself keeps there is left out."""
    moved = asyncio.run(_sources(name).commit_directory(repository, directory, message=message, branch=branch))
    text = f"{branch} is {moved.after}" if moved.is_changed else f"{branch} stays {moved.after}"
    output.answer(form, text, {"branch": branch, "commit": moved.after, "changed": moved.is_changed})


@source.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--repository", default=CHARTS, show_default=True, help="The Helm repository, and the OCI prefix.")
@click.option("--force", is_flag=True, help="In place of a chart of the same version.")
@which_lab.option
@output.option
def chart(file: Path, repository: str, force: bool, name: str, form: str) -> None:
    """Put a packaged chart into the registry and into a Helm repository; prints both addresses."""
    addresses = asyncio.run(_push_chart(_sources(name), file.read_bytes(), repository, force=force))
    output.answer(form, "\n".join(addresses), {"oci": addresses[0], "http": addresses[1]})


async def _push_chart(sources: SourcesClient, archive: bytes, repository: str, *, force: bool) -> tuple[str, str]:
    made = await sources.create_charts(repository)
    by_http = await sources.push_chart(made.name, archive, force=force)
    by_oci = await sources.push_oci_chart(repository, archive, force=force)
    return by_oci.url, by_http.url


async def _all(sources: SourcesClient) -> list[tuple[str, str, str, list[str]]]:
    """Kind, name, address and content of every repository."""
    host = (await sources.status()).registry
    oci = (await sources.list_oci()).repositories
    return [
        *(("git", each.name, each.url, sorted(each.refs)) for each in await sources.list_git()),
        *(("oci", each.name, f"oci://{host}/{each.name}", sorted(each.tags)) for each in oci),
        *(("charts", each.name, each.url, list(each.files)) for each in await sources.list_charts()),
    ]


def _sources(name: str) -> SourcesClient:
    one = which_lab.running(name)
    if not one.settings().has_sources:
        raise errors.LabError(
            f"lab {name} serves no repositories",
            hint="Ask for them: sources: true in the settings file, or firstlight lab up --actors flux",
        )
    return one.sources()
