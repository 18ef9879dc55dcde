"""The sockets of the sources: three ports of one address, and the owner's own socket; nothing else listens."""

import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from aiohttp import web

from firstlight import errors
from firstlight.lab import http_serving
from firstlight.lab.sources.chart_repositories import ChartServer
from firstlight.lab.sources.declarations import SourcesHome
from firstlight.lab.sources.git_server import GitServer
from firstlight.lab.sources.registry_server import RegistryServer
from firstlight.lab.sources.source_services import SourcePorts, SourceServices
from firstlight.lab.sources.sources_control import SourcesControl


@contextlib.asynccontextmanager
async def serving_from(
    home: SourcesHome, *, address: str, ports: SourcePorts, control: Path
) -> AsyncIterator[SourceServices]:
    """Serve a home until the block ends.

    Args:
        home: What is served; this process must hold it.
        address: Where; nowhere else.
        ports: On which ports; 0 takes a free one.
        control: The socket for orders.

    Raises:
        errors.LabError: A port is taken.
    """
    async with contextlib.AsyncExitStack() as stack:
        sockets = [stack.enter_context(_bound(address, port)) for port in (ports.git, ports.registry, ports.charts)]
        world = SourceServices(home, address, SourcePorts(*(each.getsockname()[1] for each in sockets)))
        await world.repositories.prepare()
        world.store.sweep()
        stack.push_async_callback(world.webhooks.close)
        servers: list[http_serving.SourceServer] = [
            GitServer(world.declared, world.repositories, world.notify),
            RegistryServer(world.declared, world.store, world.uploads),
            ChartServer(world.declared, world.charts, world.indexes),
        ]
        for server, bound in zip(servers, sockets, strict=True):
            runner = http_serving.runner(server, world.faults)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.SockSite(runner, bound).start()
        orders = stack.enter_context(_private(control))
        runner = web.AppRunner(SourcesControl(world).app(), access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.SockSite(runner, orders).start()
        # Hanging requests must not keep the servers from stopping.
        stack.callback(world.faults.clear)
        yield world


@contextlib.contextmanager
def _bound(address: str, port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((address, port))
        except OSError as error:
            raise errors.LabError(f"the sources cannot listen on {address}:{port}: {error.strerror}") from error
        yield bound


@contextlib.contextmanager
def _private(path: Path) -> Iterator[socket.socket]:
    """A unix socket that only its owner can reach."""
    if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
        raise errors.LabError(f"{path} is there, and no socket")
    path.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
            # A socket's path may have 108 bytes at most: through the open directory it is always short.
            short = f"/proc/self/fd/{folder}/{path.name}"
            old = os.umask(0o177)
            try:
                bound.bind(short)
            finally:
                os.umask(old)
            yield bound
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        os.close(folder)
