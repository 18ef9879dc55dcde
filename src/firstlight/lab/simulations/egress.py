"""Where the API server's connections into the cluster end: the lab's kubelet, or the webhook responder.

The API server asks for every such connection by CONNECT on a unix socket (its egress selector). No pod of the lab has
a network, so nothing is dialled: the target decides who answers.
"""

import asyncio
import contextlib
import os

from firstlight.lab.machines import machine_node
from firstlight.lab.simulations.simulated_cluster import SimulatedCluster

SOCKET = "egress.sock"
RESPONDER_SOCKET = "responder.sock"
KUBELET_PORT = 10250
"""The one that Node objects show."""
TLS_HANDSHAKE = 0x16
PLAIN_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 44\r\nConnection: close\r\n\r\n"
    b"simulated by the lab: nothing runs in a pod\n"
)


class EgressSimulation:
    """The egress socket."""

    what = "the network from the API server to kubelets and services"

    async def start(self, world: SimulatedCluster) -> None:
        """Listen."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
                await _tunnel(world, reader, writer)
            with contextlib.suppress(OSError):
                writer.close()

        path = os.path.relpath(world.home.run / SOCKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        server = await asyncio.start_unix_server(serve, path)
        world.tasks.create_task(server.serve_forever(), name="egress")

    async def act(self, world: SimulatedCluster) -> None:
        """Nothing: it answers when it is asked."""


async def _tunnel(world: SimulatedCluster, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target, _ = head.split(" ", 2)
    if method != "CONNECT":
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return
    host, _, port = target.rpartition(":")
    addresses = _node_addresses(world)
    if int(port) == KUBELET_PORT and addresses.get(host.strip("[]")) is False:
        writer.write(b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return
    writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
    await writer.drain()
    first = await reader.read(1)
    if not first:
        return
    if int(port) == KUBELET_PORT and host.strip("[]") in addresses:
        there = await asyncio.open_connection(world.net.loopback, world.net.kubelet)
    elif first[0] == TLS_HANDSHAKE:
        there = await asyncio.open_unix_connection(os.path.relpath(world.home.run / RESPONDER_SOCKET))
    else:
        writer.write(PLAIN_ANSWER)
        await writer.drain()
        return
    there[1].write(first)
    await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))


def _node_addresses(world: SimulatedCluster) -> dict[str, bool]:
    """The addresses of all nodes, and whether somebody answers there."""
    return {
        each["address"]: machine_node.is_on(node)
        for node in world.nodes.values()
        for each in node.get("status", {}).get("addresses", ())
        if each["type"] == "InternalIP"
    }


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
