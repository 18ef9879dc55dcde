"""Fetching the archive of a Go module, with the user's own way to module proxies, and comparing it with its pin.

``go mod download`` does the fetching, because it knows proxies, credentials and mirrors as the user's site has them.
It works in a module cache of its own, which is thrown away: it would leave every module unpacked, and of most only
a few files are wanted. What builds have fetched already is taken from their cache.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import limits
from firstlight.tools import content_entry, events, heartbeat, module_zip, toolchain, workshop
from firstlight.tools import version as versions

_MINIMUM = versions.parse("1.21")
"""The oldest Go that will do: it only downloads, so what a module itself demands does not matter."""

_TIMEOUT = 1800
"""Seconds for one archive; the largest has 56 MB."""

_PROJECT = "module firstlight.dev/content\n\ngo 1.21\n"


class _Answer(msgspec.Struct, frozen=True, rename="pascal"):
    """What ``go mod download -json`` says of a module; with an error there may still be an archive."""

    zip: str = ""
    error: str = ""


async def fetch(
    modules: Sequence[content_entry.Module], *, name: str, shop: workshop.Workshop, stage: Path, report: events.Report
) -> list[Path]:
    """The archives of modules, somewhere below ``stage``; ``name`` is what they are needed for.

    Raises:
        errors.ToolError: One cannot be had, or is not what the catalogue says.
    """
    started = time.monotonic()
    done: list[Path] = []

    def state() -> events.Event:
        return events.FetchingModules(name, len(done), time.monotonic() - started)

    go = await toolchain.obtain(_MINIMUM, shop, name=name, report=report)
    # A module of our own around it: Go must not find the one of whoever has a go.mod further up.
    project = stage / "fetch"
    project.mkdir()
    (project / "go.mod").write_text(_PROJECT)
    network = await toolchain.network(go, shop)
    env = {**toolchain.environment(shop), **network, "GOMODCACHE": str(project / "modules")}
    env["GOFLAGS"] += " -mod=mod"
    env["GOPROXY"] = ",".join(_proxies(shop, network.get("GOPROXY", "")))
    # The pin in the catalogue says all that the checksum database could.
    env["GOSUMDB"] = "off"
    async with heartbeat.beat(report, state):
        for module in modules:
            archive = await _download(module, go, name=name, env=env, directory=project)
            actual = await asyncio.to_thread(module_zip.compute_hash, archive)
            if actual != module.sum:
                raise errors.ToolError(
                    f"{module} is refused: its hash is {actual}, and {module.sum} is pinned for {name}",
                    hint="somebody changed what was published: look at it before anything else",
                )
            done.append(archive)
    return done


def _proxies(shop: workshop.Workshop, given: str) -> Iterator[str]:
    yield (shop.cache.go / "modules" / "cache" / "download").absolute().as_uri()
    if given:
        yield given


async def _download(
    module: content_entry.Module, go: toolchain.Toolchain, *, name: str, env: dict[str, str], directory: Path
) -> Path:
    try:
        said = await command.run(
            [str(go.go), "mod", "download", "-json", str(module)],
            env=env,
            cwd=directory,
            timeout=_TIMEOUT,
            check=False,
            dies_with_parent=True,
            within=limits.BUILDER,
        )
        answer = msgspec.json.decode(said.stdout or b"{}", type=_Answer)
    except (errors.ClientError, msgspec.DecodeError) as error:
        raise _unavailable(module, name, str(error)) from error
    # A module that wants a newer Go is an error, but its archive has been fetched.
    if not answer.zip or not Path(answer.zip).is_file():
        raise _unavailable(module, name, answer.error or said.stderr.strip()[-400:] or "go said nothing")
    return Path(answer.zip)


def _unavailable(module: content_entry.Module, name: str, why: str) -> errors.ToolError:
    return errors.ToolError(
        f"{name} cannot be had, because {module} cannot be fetched:\n    {why}",
        hint="if the network failed, run it again; GOPROXY says where Go modules come from",
    )
