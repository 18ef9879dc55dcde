"""Fetching the archive of a Go module, with the user's own way to module proxies, and comparing it with its pin.

``go mod download`` does the fetching, because it knows proxies, credentials and mirrors as the user's site has them.
It works in a module cache of its own, which is thrown away: it would leave every module unpacked, and of most only
a few files are wanted. What builds have fetched already is taken from their cache.
"""

import asyncio
import base64
import hashlib
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import program_limits
from firstlight.tools import content_entry, go_toolchain, tool_progress, tool_version, workshop

_MINIMUM = tool_version.parse("1.21")
"""The oldest Go that will do: it only downloads, so what a module itself demands does not matter."""

_TIMEOUT = 1800
"""Seconds for one archive; the largest has 56 MB."""

_PROJECT = "module firstlight.dev/content\n\ngo 1.21\n"


class _Answer(msgspec.Struct, frozen=True, rename="pascal"):
    """What ``go mod download -json`` says of a module; with an error there may still be an archive."""

    zip: str = ""
    error: str = ""


async def fetch_module(
    modules: Sequence[content_entry.ContentModule],
    *,
    name: str,
    shop: workshop.Workshop,
    stage: Path,
    report: tool_progress.Report,
) -> list[Path]:
    """The archives of modules, somewhere below ``stage``; ``name`` is what they are needed for.

    Raises:
        errors.ToolError: One cannot be had, or is not what the catalogue says.
    """
    started = time.monotonic()
    done: list[Path] = []

    def state() -> tool_progress.ToolEvent:
        return tool_progress.FetchingModules(name, len(done), time.monotonic() - started)

    go = await go_toolchain.obtain(_MINIMUM, shop, name=name, report=report)
    # A module of our own around it: Go must not find the one of whoever has a go.mod further up.
    project = stage / "fetch"
    project.mkdir()
    (project / "go.mod").write_text(_PROJECT)
    network = await go_toolchain.network(go, shop)
    env = {**go_toolchain.environment(shop), **network, "GOMODCACHE": str(project / "modules")}
    env["GOFLAGS"] += " -mod=mod"
    env["GOPROXY"] = ",".join(_proxies(shop, network.get("GOPROXY", "")))
    # The pin in the catalogue says all that the checksum database could.
    env["GOSUMDB"] = "off"
    async with tool_progress.heartbeat(report, state):
        for module in modules:
            archive = await _download(module, go, name=name, env=env, directory=project)
            actual = await asyncio.to_thread(compute_hash, archive)
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
    module: content_entry.ContentModule,
    go: go_toolchain.GoToolchain,
    *,
    name: str,
    env: dict[str, str],
    directory: Path,
) -> Path:
    try:
        said = await command.run(
            [str(go.go), "mod", "download", "-json", str(module)],
            env=env,
            cwd=directory,
            timeout=_TIMEOUT,
            check=False,
            dies_with_parent=True,
            within=program_limits.BUILDER,
        )
        answer = msgspec.json.decode(said.stdout or b"{}", type=_Answer)
    except (errors.ClientError, msgspec.DecodeError) as error:
        raise _unavailable(module, name, str(error)) from error
    # A module that wants a newer Go is an error, but its archive has been fetched.
    if not answer.zip or not Path(answer.zip).is_file():
        raise _unavailable(module, name, answer.error or said.stderr.strip()[-400:] or "go said nothing")
    return Path(answer.zip)


def _unavailable(module: content_entry.ContentModule, name: str, why: str) -> errors.ToolError:
    return errors.ToolError(
        f"{name} cannot be had, because {module} cannot be fetched:\n    {why}",
        hint="if the network failed, run it again; GOPROXY says where Go modules come from",
    )


# The archive of a Go module: its hash, as go.sum has it, and taking files out of it.
#
# Nothing of an archive is used before its hash was compared with a pinned one. It is read with suspicion all the same:
# one name that leads out of the module, one link, one size beyond all bounds, and the whole of it is refused.


LIMIT = 1 << 30
"""Bytes that an archive may hold unpacked: Go itself accepts half of it."""

MEMBERS = 200_000
"""Files that an archive may hold: the largest known has a tenth of it."""

SCRIPT = b"#!"
"""With what a file begins that is to be executed: archives of modules do not say it."""


def compute_hash(archive: Path) -> str:
    """What go.sum says of a module: a hash over the names and hashes of all files.

    Raises:
        errors.ToolError: The archive is not sound.
    """
    total = hashlib.sha256()
    try:
        with zipfile.ZipFile(archive) as file:
            _check_sizes(archive, file.infolist())
            for info in sorted(file.infolist(), key=lambda info: info.filename):
                if "\n" in info.filename:
                    raise _refuse(archive, "it has a member with a line break in its name")
                with file.open(info) as source:
                    digest = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]
                total.update(f"{digest}  {info.filename}\n".encode())
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise _refuse(archive, f"it cannot be read: {error}") from error
    return "h1:" + base64.b64encode(total.digest()).decode()


def extract_files(archive: Path, *, root: str, choose: Callable[[str], Iterable[str]], to: Path) -> list[str]:
    """Write the chosen files of a module below ``to``; the paths that were written.

    Args:
        archive: The module's archive.
        root: What every name in it begins with: ``path@version``.
        choose: Called with the path of each file inside the module; where it goes, if anywhere.
        to: The directory below which files are written; none is overwritten.

    Raises:
        errors.ToolError: The archive is not sound, or two files have the same place.
    """
    written = []
    try:
        with zipfile.ZipFile(archive) as file:
            _check_sizes(archive, file.infolist())
            for info in file.infolist():
                name = _inside(archive, info, root)
                for target in choose(name):
                    _write(archive, file, info, to=to / target)
                    written.append(target)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise _refuse(archive, f"it cannot be read: {error}") from error
    return written


def _write(archive: Path, file: zipfile.ZipFile, info: zipfile.ZipInfo, *, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open(info) as source, to.open("xb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except FileExistsError as error:
        raise _refuse(archive, f"two of its files would be {to.name}") from error
    with to.open("rb") as written:
        to.chmod(0o755 if written.read(len(SCRIPT)) == SCRIPT else 0o644)


def _inside(archive: Path, info: zipfile.ZipInfo, root: str) -> str:
    """The path of a member inside its module."""
    name = info.filename
    # The upper half holds the Unix mode, if there is one.
    if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG} or info.is_dir():
        raise _refuse(archive, f"{name} is not a regular file")
    path = PurePosixPath(name)
    if not name.startswith(f"{root}/") or ".." in path.parts or "\\" in name or path.as_posix() != name:
        raise _refuse(archive, f"it has a member outside of {root}: {name}")
    return name.removeprefix(f"{root}/")


def _check_sizes(archive: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    if len(members) > MEMBERS:
        raise _refuse(archive, f"it has {len(members)} files")
    # Reading stops with an error where a member is larger than it says.
    if sum(info.file_size for info in members) > LIMIT:
        raise _refuse(archive, f"it unpacks to more than {LIMIT >> 20} MiB")


def _refuse(archive: Path, why: str) -> errors.ToolError:
    return errors.ToolError(f"the module archive {archive.name} is refused: {why}")
