"""The process that runs a lab: it holds the lab's lock and network, keeps the parts running, and takes orders.

Started detached by ``lab up`` as ``python -m firstlight.lab.supervisor DIRECTORY``. When it dies, however it dies, the
kernel kills its parts; when its directory is deleted, it stops.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import ssl
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import msgspec
from aiohttp import web

from firstlight.lab import (
    lab_directory,
    lab_part,
    lab_settings,
    loopback_network,
    orders,
    part_keeper,
    procfs,
    rewrite_rules,
)
from firstlight.lab.actors import actor_parts, actor_table
from firstlight.lab.control_plane import cluster_config, control_plane_follower, control_plane_parts
from firstlight.lab.lab_part import Part
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.machines import virtual_machines

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
EXTRA = (lab_part.SOURCES, lab_part.STANDINS)
"""Parts that come and go with the settings."""
LOOK = 0.2
"""Seconds between two looks at what the machines and the simulator say."""


class Supervisor:
    """A running lab."""

    def __init__(
        self,
        home: lab_directory.LabDirectory,
        claim: loopback_network.NetworkClaim,
        *,
        wanted: lab_settings.LabSettings,
        programs: dict[str, Path],
    ) -> None:
        self.home = home
        self.keepers: dict[str, part_keeper.Keeper] = {}
        self._wanted = wanted
        self._programs = programs
        self._net = claim.network
        self._claim = claim
        self._book: virtual_machines.MachineBook | None = None
        self._tls: ssl.SSLContext | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._done = asyncio.Event()
        self._busy = asyncio.Lock()
        self._follower: control_plane_follower.ControlPlaneFollower | None = None
        self._actors = actor_parts.ActorParts(
            home, programs=programs, keepers=self.keepers, keep=self._start, drop=self._end
        )

    async def run(self, owner: int) -> None:
        """Serve until told to stop, or until the directory or the owner is gone."""
        loop = asyncio.get_running_loop()
        if owner:
            try:
                handle = os.pidfd_open(owner)
            except ProcessLookupError:
                return
            loop.add_reader(handle, self._owner_died, handle)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._done.set)
        await self._prepare()
        runner = web.AppRunner(orders.SupervisorOrders(self).app(), access_log=None)
        await runner.setup()
        self.home.control.unlink(missing_ok=True)
        await web.UnixSite(runner, os.path.relpath(self.home.control)).start()
        for name, each in self.keepers.items():
            self._tasks[name] = asyncio.create_task(each.run())
        looking = asyncio.create_task(self._look())
        try:
            while not self._done.is_set() and self.home.settings.exists():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._done.wait(), 1)
                for each in self.keepers.values():
                    each.shorten_log()
                if looking.done():
                    looking.result()
        finally:
            self._done.set()
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self._stop_all()
            await runner.cleanup()

    async def _prepare(self) -> None:
        if not self._wanted.machines:
            self._keep(control_plane_parts.build(self.home, self._net, self._wanted, self._programs))
            self._keep(self._extra_parts(self._wanted))
            self._tls = control_plane_follower.tls(self.home)
            return
        self._book = virtual_machines.prepare_machines(self.home, self._net, self._wanted)
        self._keep(
            virtual_machines.machine_part(self.home, each.name, self._programs) for each in self._wanted.machines
        )
        self._keep(control_plane_parts.unknown())
        self._keep(self._extra_parts(self._wanted))
        self._follower = control_plane_follower.ControlPlaneFollower(
            self.home, self._net, programs=self._programs, keepers=self.keepers
        )
        await self._follower.look(self._wanted)

    def _extra_parts(self, wanted: lab_settings.LabSettings) -> Iterator[Part]:
        """Those that not every lab has."""
        if wanted.has_sources:
            yield lab_part.sources_part(self.home, self._net)
        if wanted.standins:
            lab_part.write_op(self.home)
            yield lab_part.standins_part(self.home, self._net)

    def _keep(self, parts: Iterable[Part]) -> None:
        # Nothing else of the caller's: neither proxies nor tokens are the parts' business.
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        env[procfs.LAB_MARK] = str(self.home.path)
        for part in parts:
            self.keepers[part.name] = part_keeper.Keeper(
                part, log=self.home.logs / f"{part.name}.log", cwd=self.home.run, env=env, tls=self._current_tls,
                is_ready=self._is_ready,
            )  # fmt: skip

    def _start(self, parts: Iterable[Part]) -> None:
        """Keep parts from now on."""
        new = tuple(parts)
        self._keep(new)
        for part in new:
            self._tasks[part.name] = asyncio.create_task(self.keepers[part.name].run())

    async def _end(self, names: list[str]) -> None:
        """Stop parts, and forget them."""
        await self._cancel(names)
        for name in names:
            del self.keepers[name], self._tasks[name]

    def _current_tls(self) -> ssl.SSLContext | None:
        return self._tls if self._follower is None else self._follower.tls

    def _is_ready(self, name: str) -> bool:
        """Whether nobody needs to wait for a part: it answers, or it is an actor that there is not."""
        return name not in self.keepers or self.keepers[name].is_ready

    async def _look(self) -> None:
        while True:
            async with self._busy:
                if self._follower is not None:
                    await self._follower.look(self._wanted)
                await self._actors.look()
            await asyncio.sleep(LOOK)

    def _owner_died(self, handle: int) -> None:
        # It stays readable for ever, and would keep the loop busy.
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)
        self._done.set()

    @property
    def is_stopping(self) -> bool:
        """Whether it takes no orders any more."""
        return self._done.is_set()

    def stop(self) -> None:
        """End the lab; its data stays."""
        self._done.set()

    def status(self) -> LabStatus:
        """All parts, now."""
        entries = [each for each in (self._book.machines if self._book else ()) if each.name in self.keepers]
        newer = [
            each.name for each in entries if virtual_machines.is_hardware_newer(self.home, self.keepers[each.name])
        ]
        notes = [*self._wanted.notes, *(self._follower.notes if self._follower else ())]
        notes += self._actors.notes
        notes += rewrite_rules.rewrite_notes(self._wanted.rewrites)
        notes += [f"{name}: its new hardware is there at its next boot" for name in newer]
        return LabStatus(
            name=self.home.name, directory=str(self.home.path), loopback=self._net.loopback,
            declared=self._net.declared, parts=tuple(each.status() for each in self.keepers.values()),
            machines=tuple(virtual_machines.machine_status(self.home, each, self._net.apid, self.keepers[each.name])
                           for each in entries),
            followed=self._follower.followed if self._follower else "",
            notes=tuple(notes),
        )  # fmt: skip

    def retry(self) -> None:
        """Try again what was given up; what machines are told is written anew, should somebody have damaged it."""
        if self._wanted.machines:
            self._book = virtual_machines.prepare_machines(self.home, self._net, self._wanted)
        for each in self.keepers.values():
            each.retry()

    async def save(self, name: str) -> None:
        """A cold copy of etcd's data, or of the machines, under a name."""
        async with self._at_rest():
            await asyncio.to_thread(lab_directory.save_copy, self._state, self.home.saved, name)

    async def restore(self, name: str) -> None:
        """Put a copy back; what happened since is gone."""
        lab_directory.check_copy(self.home.saved, name, lab=self.home.name)
        async with self._at_rest():
            await asyncio.to_thread(lab_directory.restore_copy, self._state, self.home.saved, name)
            if self._follower is not None:
                self._book = virtual_machines.prepare_machines(self.home, self._net, self._wanted)

    async def change(self, wanted: lab_settings.LabSettings) -> None:
        """New settings while running: what kwok and the kubelet read is written again, and kwok starts anew."""
        async with self._busy:
            if self._follower is None:
                config = cluster_config.of_settings(wanted, self._net)
                cluster_config.write_kubelet_files(self.home, wanted, config)
            else:
                self._follower.write_files(wanted)
                await self._change_machines(wanted)
            lab_directory.write_whole(self.home.settings, msgspec.json.encode(wanted))
            self._wanted = wanted
            extra = {part.name: part for part in self._extra_parts(wanted)}
            await self._end([name for name in EXTRA if name in self.keepers and name not in extra])
            self._start(part for name, part in extra.items() if name not in self.keepers)
            for name in ("kwok", "simulator"):
                if self.keepers[name].may_run:
                    await self.keepers[name].rest("takes new settings")
                    self.keepers[name].resume()

    async def _change_machines(self, wanted: lab_settings.LabSettings) -> None:
        """Machines that are new start, those that are no longer declared are scrapped, others stay as they are."""
        names = [each.name for each in wanted.machines]
        for name in [each.name for each in self._wanted.machines if each.name not in names]:
            await self._end([name])
            await asyncio.to_thread(virtual_machines.remove_machine, self.home, name)
        self._book = virtual_machines.prepare_machines(self.home, self._net, wanted)
        new = [name for name in names if name not in self.keepers]
        self._start(virtual_machines.machine_part(self.home, name, self._programs) for name in new)
        ordered = [*names, *(name for name in self.keepers if name not in names)]
        for name in ordered:
            self.keepers[name] = self.keepers.pop(name)

    @property
    def _state(self) -> Path:
        """What a saved state is a copy of."""
        return self.home.etcd if self._follower is None else self.home.machines

    @property
    def _stores(self) -> list[str]:
        """What holds the data: etcd, or the machines, each with its own."""
        return ["etcd"] if self._follower is None else [each.name for each in self._wanted.machines]

    @contextlib.asynccontextmanager
    async def _at_rest(self) -> AsyncIterator[None]:
        """Actors stop first, the API server before etcd: without etcd it hangs in its shutdown."""
        async with self._busy:
            why = "while its data is copied"
            stores = [self.keepers[name] for name in self._stores]
            writers, api = [self.keepers[name] for name in control_plane_parts.ACTORS], self.keepers["kube-apiserver"]
            try:
                await self._actors.rest(why)
                if self._follower is None:
                    await asyncio.gather(*(each.rest(why) for each in writers))
                    await api.rest(why)
                else:
                    await self._follower.let_go(why)
                await asyncio.gather(*(each.rest(why) for each in stores))
                yield
            finally:
                # The control plane of machines comes back when one of them says again what it is.
                for each in [*stores, *([api, *writers] if self._follower is None else [])]:
                    each.resume()

    async def _stop_all(self) -> None:
        last = ["kube-apiserver", *self._stores]
        await self._cancel([name for name in self._tasks if name not in last])
        await self._cancel(["kube-apiserver"])
        await self._cancel(self._stores)

    async def _cancel(self, names: list[str]) -> None:
        tasks = [self._tasks[name] for name in names if name in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _hold_lock(home: lab_directory.LabDirectory) -> int:
    fd = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(100):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)  # somebody may only be asking whether this lab runs
        else:
            return fd
    sys.exit(0)  # another supervisor serves this lab: the wish is fulfilled


def _claim(home: lab_directory.LabDirectory, wanted: lab_settings.LabSettings) -> loopback_network.NetworkClaim:
    preferred = loopback_network.network_of_place(str(home.path)) if wanted.machines else None
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        preferred = msgspec.json.decode(home.network.read_bytes(), type=loopback_network.LoopbackNetwork)
    needs = loopback_network.NetworkNeeds(
        bool(wanted.machines), wanted.has_sources, actor_table.actor_ports(wanted.actors), wanted.standins
    )
    claim = loopback_network.claim_network(preferred, needs=needs, others=not virtual_machines.has_members(home))
    lab_directory.write_whole(home.network, msgspec.json.encode(claim.network))
    return claim


def serve(path: Path, programs: dict[str, Path], owner: int) -> None:
    """Run the supervisor of a lab in this process."""
    home = lab_directory.LabDirectory(path)
    _hold_lock(home)
    with contextlib.suppress(OSError):
        lab_directory.remove_tree(home.run)
    home.make()
    os.chdir(home.run)
    wanted = msgspec.json.decode(home.settings.read_bytes(), type=lab_settings.LabSettings)

    async def run() -> None:
        await Supervisor(home, _claim(home, wanted), wanted=wanted, programs=programs).run(owner)

    asyncio.run(run())


def main() -> None:
    """Detach from whoever called, then serve."""
    path = Path(sys.argv[1])
    programs = {name: Path(found) for name, found in msgspec.json.decode(sys.argv[2], type=dict[str, str]).items()}
    if os.fork():
        os._exit(0)
    os.setsid()
    log = os.open(
        lab_directory.LabDirectory(path).logs / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    print(f"{time.strftime('%F %T')} supervisor {os.getpid()} starts", flush=True)  # noqa: T201 -- its log
    serve(path, programs, int(sys.argv[3]))


if __name__ == "__main__":
    main()
