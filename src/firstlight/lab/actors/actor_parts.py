"""Keeps the programs that run beside pods: follows what the simulator says, as a kubelet follows the API.

A pod is a process's life: with another pod the program starts anew, in a directory of its own. What dies is started
again, however often: its rights or the kinds that it needs may come later.
"""

import asyncio
import contextlib
import dataclasses
import os
import shutil
import struct
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, interpreter, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.lab import lab_directory, procfs
from firstlight.lab.actors import actor_table, confined, no_listening
from firstlight.lab.actors.actor_table import Actor, ActorRow
from firstlight.lab.lab_directory import LabDirectory
from firstlight.lab.lab_part import Part, ReadinessProbe
from firstlight.lab.part_keeper import Keeper
from firstlight.tools import content, find, workshop

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


# The programs that run beside pods.


BACK_OFF = 10.0
"""Seconds after which a program that keeps dying is tried again."""
LOOK_AGAIN = 2.0
"""Seconds after which what is not installed is looked for again."""


def _probe(actor: Actor) -> ReadinessProbe:
    """How one sees that an actor is ready."""
    if actor.probe.startswith("tcp://"):
        return ReadinessProbe(listening=_address(actor.probe))
    return ReadinessProbe(url=actor.probe) if actor.probe else ReadinessProbe(connected=_address(actor.api))


def _address(url: str) -> procfs.SocketAddress:
    parts = urllib.parse.urlsplit(url)
    return procfs.SocketAddress(parts.hostname or "", parts.port or 0)


class ActorParts:
    """The actors of a lab."""

    def __init__(
        self,
        home: lab_directory.LabDirectory,
        *,
        programs: Mapping[str, Path],
        keepers: Mapping[str, Keeper],
        keep: Callable[[Iterable[Part]], None],
        drop: Callable[[list[str]], Awaitable[None]],
    ) -> None:
        self._home = home
        self._programs = dict(programs)
        self._keepers = keepers
        self._keep = keep
        self._drop = drop
        self._kept: dict[str, Actor] = {}
        self._absent: dict[str, float] = {}
        """What waits for an installation, and when it was last looked for."""
        self._seen: object = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from what the pods ask for."""
        return tuple(f"{name}: {note}" for name, each in self._kept.items() for note in each.notes)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(self._kept)

    async def look(self) -> None:
        """Act on what is said now."""
        for name in self._kept:
            if self._keepers[name].failed_for > BACK_OFF:
                self._keepers[name].retry()
        late = [name for name, looked in self._absent.items() if time.monotonic() - looked > LOOK_AGAIN]
        said = self._stamp()
        if said == self._seen and not late:
            return
        wanted = {each.name: each for each in self._said()}
        await self._end([name for name in self._kept if name not in wanted])
        foreign = set(self._keepers) - set(self._kept)  # machines, should one have such a name
        changed = [each for name, each in wanted.items() if self._kept.get(name) != each or name in late]
        await asyncio.gather(*(self._begin(each) for each in changed if each.name not in foreign))
        self._seen = said

    async def rest(self, why: str) -> None:
        """Stop all of them; the next look starts them again."""
        names = list(self._kept)
        await asyncio.gather(*(self._keepers[name].rest(why) for name in names))
        self._kept = {name: actor_table.Actor(name, "", "", "") for name in names}
        self._seen = None

    def _stamp(self) -> object:
        """Changes with what is said; a lab that has no cluster any more says nothing."""
        if not self._home.kubeconfig.exists():
            return None
        with contextlib.suppress(OSError):
            status = self._home.wanted_actors.stat()
            return status.st_mtime_ns, status.st_ino
        return None

    def _said(self) -> tuple[Actor, ...]:
        return actor_table.read_actors(self._home.wanted_actors).actors if self._home.kubeconfig.exists() else ()

    async def _end(self, names: list[str]) -> None:
        """Stop some of them; their directories stay, since a machine may come back with the same pods."""
        await self._drop(names)
        for name in names:
            del self._kept[name]
            self._absent.pop(name, None)

    async def _begin(self, actor: Actor) -> None:
        row = actor_table.row(actor.row)
        unready = actor.waits
        self._absent.pop(actor.name, None)
        part = Part(actor.name, row.what, row.reality, (), ReadinessProbe(), workload=actor.workload)
        if actor.name not in self._keepers:
            self._keep([part])
        keeper = self._keepers[actor.name]
        self._kept[actor.name] = actor
        await keeper.rest(unready or "starts for another pod", state="waiting")
        try:
            part = await self._part(actor, row)
            await asyncio.to_thread(self._tidy, actor)
        except (errors.ToolError, OSError) as error:
            unready = unready or str(error)
            self._absent[actor.name] = time.monotonic()
        if unready:
            keeper.part = part
            await keeper.rest(unready, state="waiting")
        else:
            keeper.resume(part)

    def _tidy(self, actor: Actor) -> None:
        """Give it its directories, without what it kept for an earlier pod."""
        kept = self._home.actors / actor.name
        if actor.data:
            Path(actor.data).mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in kept.iterdir() if kept.is_dir() else ():
            if str(other) != actor.data:
                shutil.rmtree(other, ignore_errors=True)
        temporary = self._home.actor(actor.name) / "tmp"
        lab_directory.remove_tree(temporary)
        temporary.mkdir(mode=0o700, parents=True)

    async def _part(self, actor: Actor, row: ActorRow) -> Part:
        named = [name for text in (*actor.own, *actor.own_env.values()) for name in actor_table.template_contents(text)]
        named += [place.partition("/")[0] for place in row.path_content]
        guard = [actor_table.GUARD] if row.guarded else []
        programs, contents = await self._installed([row.program, *row.path, *guard], named)
        confinement = None
        if row.executes is not None and not actor.is_free:
            confinement = await confine(row, programs, contents, home=self._home, name=actor.name)
        places = {name: str(path) for name, path in contents.items()}
        home = self._home.actor(actor.name)
        return Part(
            name=actor.name,
            what=row.what,
            reality=row.reality,
            argv=(
                *(() if row.listens else interpreter.script(no_listening.__file__)),
                *(confinement.argv if confinement else ()),
                str(programs[row.program]),
                *(actor_table.fill_contents(each, places) for each in row.arguments),
                *(actor_table.fill_contents(each, places) for each in actor.own),
                # After the row's own: one that lacks its value would take the next word for it.
                *actor.kept,
            ),
            probe=_probe(actor),
            needs=("kube-apiserver", *actor.needs),
            env={
                **actor.kept_env,
                "KUBECONFIG": str(home / "kubeconfig"),
                "HOME": str(home),
                "TMPDIR": str(home / "tmp"),
                "PATH": confinement.path if confinement else self._path(home / "bin", row, programs, contents),
                **{name: actor_table.fill_contents(value, places) for name, value in actor.own_env.items()},
            },
            grace=row.grace,
            workload=actor.workload,
        )

    async def _installed(
        self, names: Collection[str], contents: Collection[str]
    ) -> tuple[dict[str, Path], dict[str, Path]]:
        """Where programs and contents are.

        Raises:
            errors.ToolError: One is not installed, which is for people to do.
        """
        shop = workshop.here()
        absent = []
        for name in names:
            if name not in self._programs:
                search = await find.find(shop.catalogue.get(name), shop)
                if search.problem:
                    raise errors.ToolError(search.problem)
                if search.found is None:
                    absent.append(name)
                else:
                    self._programs[name] = search.found.path
        places = {}
        for name in contents:
            entry = content.find(shop.catalogue.get_content(name), shop)
            if entry is None:
                absent.append(name)
            else:
                places[name] = entry.path
        if absent:
            raise errors.ToolError(f"not installed: firstlight tools install {' '.join(absent)}")
        return {name: self._programs[name] for name in names}, places

    def _path(self, folder: Path, row: ActorRow, programs: Mapping[str, Path], contents: Mapping[str, Path]) -> str:
        """Its PATH: the programs that its image would have, by their names, before everybody's."""
        if row.path:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in row.path:
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(programs[name])
        places = [place.partition("/") for place in row.path_content]
        given = [str(contents[name] / inside) for name, _, inside in places]
        return ":".join(
            [*([str(folder)] if row.path else []), *given, program_path.clean(os.environ.get("PATH", os.defpath))]
        )
