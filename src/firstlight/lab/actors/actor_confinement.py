"""What an actor that is confined may execute, read and write, and the programs that it finds on its PATH.

The programs are in a directory of the lab that the actor cannot write: those that are guarded are copies of the guard,
which finds the program itself in ``real``. What kustomize starts in turn is in ``inner``.
"""

import dataclasses
import os
import shutil
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, interpreter, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.lab import lab_directory
from firstlight.lab.actors import actor_table, confined
from firstlight.lab.actors.actor_table import ActorRow
from firstlight.lab.lab_directory import LabDirectory

READABLE = (
    "/bin", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/sbin", "/sys", "/usr",
    "/run/NetworkManager", "/run/resolvconf", "/run/systemd/resolve", "/var/lib/ca-certificates",
)  # fmt: skip
"""Where a system has its programs and settings; the user's own files are elsewhere."""
WRITABLE = ("/dev/null", "/dev/shm")  # noqa: S108 -- Argo CD has its short-lived files in memory
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclasses.dataclass(frozen=True)
class Confinement:
    """How an actor is started."""

    argv: tuple[str, ...]
    """Before its own."""
    path: str


async def confine(
    row: ActorRow, programs: Mapping[str, Path], contents: Mapping[str, Path], *, home: LabDirectory, name: str
) -> Confinement:
    """Prepare the programs of an actor, and say how to start it.

    Raises:
        errors.ToolError: A program of this computer that it needs is not there.
    """
    executes = {each: _found(each) for each in row.executes or ()}
    folder = home.run / "programs" / name
    lab_directory.remove_tree(folder)
    (folder / "real").mkdir(mode=0o700, parents=True)
    (folder / "inner").mkdir(mode=0o700)
    own = {each: programs[each] for each in row.path} | executes
    for each, program in own.items():
        (folder / "real" / each).symlink_to(program)
        if each not in row.guarded:
            (folder / each).symlink_to(program)
        if row.guarded:
            shutil.copy(programs[actor_table.GUARD], folder / "inner" / each)
    for each in row.guarded:
        shutil.copy(programs[actor_table.GUARD], folder / each)
    allowed = [programs[row.program], *own.values(), *await _helpers(executes)]
    rules = [("--execute", str(each)) for each in (folder, *with_loaders(allowed))]
    read = (*READABLE, home.path, home.run, *contents.values(), *(os.environ.get(each, "") for each in _AUTHORITIES))
    rules += [("--read", str(each)) for each in read if str(each)]
    rules += [("--write", str(each)) for each in (*WRITABLE, home.actor(name), home.actors / name)]
    words = (word for rule in rules for word in rule)
    places = [str(contents[each.partition("/")[0]] / each.partition("/")[2]) for each in row.path_content]
    return Confinement(
        argv=(*interpreter.script(confined.__file__), *words, "--"),
        path=os.pathsep.join([str(folder), *places]),
    )


def _found(program: str) -> Path:
    path = program_path.find(program)
    if path is None:
        raise errors.ToolError(f"{program} is not installed", hint=f"Install {program} with your package manager.")
    return Path(path)


async def _helpers(executes: Mapping[str, Path]) -> list[Path]:
    """Programs that programs start: those of Git are in a directory of its own, beside others that are scripts."""
    if "git" not in executes:
        return []
    answer = await command.run([str(executes["git"]), "--exec-path"], cwd=Path("/"), within=program_limits.READER)
    return [Path(answer.stdout.decode().strip())]


# Which files the kernel executes besides a program itself: the loader that its ELF header names.


_PT_INTERP = 3


def elf_loader(program: Path) -> Path | None:
    """The loader of a program that is linked dynamically; None for one that is not, and for what is not ELF."""
    with program.open("rb") as file:
        start = file.read(64)
        if start[:5] != b"\x7fELF\x02" or len(start) < 64:
            return None
        offset = struct.unpack_from("<Q", start, 32)[0]
        size, count = struct.unpack_from("<HH", start, 54)
        file.seek(offset)
        headers = file.read(size * count)
        for number in range(count):
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", headers, number * size)
            if kind == _PT_INTERP:
                file.seek(at)
                return Path(file.read(length).rstrip(b"\0").decode())
    return None


def with_loaders(programs: Iterable[Path]) -> tuple[Path, ...]:
    """Programs, links followed, and their loaders, each once."""
    found: dict[Path, None] = {}
    for program in programs:
        real = program.resolve()
        found[real] = None
        if real.is_file() and (loader := elf_loader(real)) is not None:
            found[loader.resolve()] = None
    return tuple(found)
