"""The process that runs a lab: it holds the lab's lock and network, keeps the parts running, and takes orders.

Started detached by ``lab up`` as ``python -m firstlight.lab.supervisor DIRECTORY``. When it dies, however it dies, the
kernel kills its parts; when its directory is deleted, it stops.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.lab import control_plane, directory, keeper, network, processes
from firstlight.lab import settings as lab_settings
from firstlight.model.lab_status import LabStatus

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")


class Supervisor:
    """A running lab."""

    def __init__(self, home: directory.Directory, claim: network.Claim) -> None:
        self.home = home
        self._claim = claim
        self._keepers: dict[str, keeper.Keeper] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._done = asyncio.Event()
        self._busy = asyncio.Lock()

    async def run(self, programs: dict[str, Path], owner: int) -> None:
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
        wanted = msgspec.json.decode(self.home.settings.read_bytes(), type=lab_settings.Settings)
        parts = control_plane.build(self.home, self._claim.network, wanted, programs)
        tls = _tls(self.home)
        # Nothing else of the caller's: neither proxies nor tokens are the parts' business.
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        env[processes.MARK] = str(self.home.path)
        for part in parts:
            self._keepers[part.name] = keeper.Keeper(
                part, log=self.home.logs / f"{part.name}.log", cwd=self.home.run, env=env, tls=tls,
                is_ready=self._is_ready,
            )  # fmt: skip
        runner = web.AppRunner(self._app(), access_log=None)
        await runner.setup()
        self.home.control.unlink(missing_ok=True)
        await web.UnixSite(runner, os.path.relpath(self.home.control)).start()
        for name, each in self._keepers.items():
            self._tasks[name] = asyncio.create_task(each.run())
        try:
            while not self._done.is_set() and self.home.settings.exists():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._done.wait(), 1)
                for each in self._keepers.values():
                    each.shorten_log()
        finally:
            self._done.set()
            await self._stop_all()
            await runner.cleanup()

    def _owner_died(self, handle: int) -> None:
        # It stays readable for ever, and would keep the loop busy.
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)
        self._done.set()

    def status(self) -> LabStatus:
        """All parts, now."""
        return LabStatus(
            name=self.home.name, directory=str(self.home.path), loopback=self._claim.network.loopback,
            declared=self._claim.network.declared, parts=tuple(each.status() for each in self._keepers.values()),
        )  # fmt: skip

    async def save(self, name: str) -> None:
        """A cold copy of etcd's data under a name."""
        target = self.home.saved / name
        async with self._at_rest():
            temporary = self.home.saved / f".{name}.new"
            shutil.rmtree(temporary, ignore_errors=True)
            try:
                await asyncio.to_thread(shutil.copytree, self.home.etcd, temporary)
            except (OSError, shutil.Error):
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            shutil.rmtree(target, ignore_errors=True)
            temporary.rename(target)

    async def restore(self, name: str) -> None:
        """Put a copy back in place of etcd's data; what happened since is gone."""
        source = self.home.saved / name
        if not source.is_dir():
            raise errors.UsageError(f"lab {self.home.name} has no saved state {name!r}")
        incoming, outgoing = self.home.saved / ".incoming", self.home.saved / ".outgoing"
        async with self._at_rest():
            for path in (incoming, outgoing):
                shutil.rmtree(path, ignore_errors=True)
            # The old data goes when the new is whole: a full disk or a kill costs nothing.
            await asyncio.to_thread(shutil.copytree, source, incoming)
            self.home.etcd.rename(outgoing)
            incoming.rename(self.home.etcd)
            await asyncio.to_thread(shutil.rmtree, outgoing, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def _at_rest(self) -> AsyncIterator[None]:
        """Actors stop first, the API server before etcd: without etcd it hangs in its shutdown."""
        async with self._busy:
            actors = [self._keepers[name] for name in control_plane.ACTORS]
            ordered = [self._keepers["kube-apiserver"], self._keepers["etcd"]]
            try:
                why = "while etcd's data is copied"
                await asyncio.gather(*(each.rest(why) for each in actors))
                for each in ordered:
                    await each.rest(why)
                yield
            finally:
                for each in [*ordered, *actors]:
                    each.resume()

    async def _stop_all(self) -> None:
        names = [*(name for name in self._tasks if name not in {"kube-apiserver", "etcd"})]
        await self._cancel(names)
        await self._cancel(["kube-apiserver"])
        await self._cancel(["etcd"])

    async def _cancel(self, names: list[str]) -> None:
        tasks = [self._tasks[name] for name in names if name in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_ready(self, name: str) -> bool:
        return self._keepers[name].is_ready

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._answer_for_errors])
        app.router.add_get("/status", self._get_status)
        app.router.add_post("/parts/{part}/{action}", self._post_part)
        app.router.add_post("/save/{name}", self._ordered(self.save))
        app.router.add_post("/restore/{name}", self._ordered(self.restore))
        app.router.add_post("/settings", self._post_settings)
        app.router.add_post("/retry", self._post_retry)
        app.router.add_post("/stop", self._post_stop)
        return app

    @web.middleware
    async def _answer_for_errors(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self._done.is_set():
            return _refused(503, f"lab {self.home.name} is stopping")
        try:
            return await handler(request)
        except shutil.Error as error:
            reasons = error.args[0]
            return _refused(500, f"{reasons[0][2] if reasons else error}; nothing was changed")
        except OSError as error:
            return _refused(500, str(error))
        except (ValueError, errors.UsageError) as error:
            return _refused(400, str(error))

    async def _get_status(self, request: web.Request) -> web.Response:
        return _json(self.status())

    async def _post_part(self, request: web.Request) -> web.Response:
        each = self._keepers.get(request.match_info["part"])
        if each is None:
            return _refused(404, f"no part {request.match_info['part']!r}; there are {', '.join(self._keepers)}")
        match request.match_info["action"]:
            case "kill" | "stop" | "continue" | "slow" if not each.status().pid:
                return _refused(409, f"{each.part.name} has no process now")
            case "kill":
                each.kill()
            case "stop":
                each.pause()
            case "continue":
                each.unpause()
            case "slow":
                each.slow(float(request.query.get("share", "0.1")))
            case other:
                return _refused(400, f"no action {other!r}; there are kill, stop, continue and slow")
        return _json(each.status())

    def _ordered(self, action: Callable[[str], Awaitable[None]]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            name = request.match_info["name"]
            if not directory.NAME.fullmatch(name):
                return _refused(400, f"{name!r} cannot be a name")
            await action(name)
            return _json(self.status())

        return handle

    async def _post_settings(self, request: web.Request) -> web.Response:
        """New settings while running: what kwok and the kubelet read is written again, and kwok starts anew."""
        wanted = msgspec.json.decode(await request.read(), type=lab_settings.Settings)
        control_plane.write_files(self.home, wanted)
        directory.write_whole(self.home.settings, msgspec.json.encode(wanted))
        for name in ("kwok", "simulator"):
            await self._keepers[name].rest("takes new settings")
            self._keepers[name].resume()
        return _json(self.status())

    async def _post_retry(self, request: web.Request) -> web.Response:
        for each in self._keepers.values():
            each.retry()
        return _json(self.status())

    async def _post_stop(self, request: web.Request) -> web.Response:
        self._done.set()
        return _json(self.status())


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refused(code: int, message: str) -> web.Response:
    return web.Response(status=code, text=message)


def _tls(home: directory.Directory) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(home.certificates / "ca.crt"))
    context.load_cert_chain(home.certificates / "admin.crt", home.certificates / "admin.key")
    return context


def _hold_lock(home: directory.Directory) -> int:
    fd = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(100):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)  # somebody may only be asking whether this lab runs
        else:
            return fd
    sys.exit(0)  # another supervisor serves this lab: the wish is fulfilled


def _claim(home: directory.Directory) -> network.Claim:
    preferred = None
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        preferred = msgspec.json.decode(home.network.read_bytes(), type=network.Network)
    claim = network.claim(preferred)
    directory.write_whole(home.network, msgspec.json.encode(claim.network))
    return claim


def serve(path: Path, programs: dict[str, Path], owner: int) -> None:
    """Run the supervisor of a lab in this process."""
    home = directory.Directory(path)
    _hold_lock(home)
    shutil.rmtree(home.run, ignore_errors=True)
    home.make()
    os.chdir(home.run)

    async def run() -> None:
        await Supervisor(home, _claim(home)).run(programs, owner)

    asyncio.run(run())


def main() -> None:
    """Detach from whoever called, then serve."""
    path = Path(sys.argv[1])
    programs = {name: Path(found) for name, found in msgspec.json.decode(sys.argv[2], type=dict[str, str]).items()}
    if os.fork():
        os._exit(0)
    os.setsid()
    log = os.open(directory.Directory(path).logs / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    print(f"{time.strftime('%F %T')} supervisor {os.getpid()} starts", flush=True)  # noqa: T201 -- its log
    serve(path, programs, int(sys.argv[3]))


if __name__ == "__main__":
    main()
