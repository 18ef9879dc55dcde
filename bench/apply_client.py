"""Two contestants of ``bench.apply``, each in a process of its own: firstlight, and the floor, which only sends.

``python -m bench.apply_client firstlight|floor|lists FILE KUBECONFIG``
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp

from firstlight.clients import kube
from firstlight.clients.kube import server_connection
from firstlight.execute.apply.object_survey import survey
from firstlight.execute.apply.server_side_apply import apply
from firstlight.model.rendition import Object

AT_ONCE = 32
"""Requests of the floor at once; a choice that was not measured against others."""


async def firstlight(objects: list[dict[str, Any]], config: kube.ClientConfig) -> None:
    """What a step of ``up`` does: look, then write what differs."""
    async with kube.Client(config) as client:
        await apply(await survey(map(Object, objects), client, manager="kustomize-controller"), client)


async def floor(objects: list[dict[str, Any]], config: kube.ClientConfig) -> None:
    """The same writes, with bodies that are made beforehand and answers that nobody reads."""
    crds = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    rest = [each for each in objects if each["kind"] != "CustomResourceDefinition"]
    async with _session(config) as session:
        await _patched(session, crds)
        kinds = {each["spec"]["names"]["plural"] for each in crds}
        while kinds - await _plurals(session):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await _patched(session, rest)


async def lists(objects: list[dict[str, Any]], config: kube.ClientConfig) -> None:
    """One list a kind, read and not parsed: what looking costs at least."""
    paths = {_path(each).rpartition("/")[0] for each in objects}
    async with _session(config) as session:

        async def one(path: str) -> None:
            async with session.get(path) as answer:
                await answer.read()
                assert answer.status == 200, path

        await asyncio.gather(*map(one, paths))


def _session(config: kube.ClientConfig) -> aiohttp.ClientSession:
    context = server_connection.tls_context(config, certificate=config.client_certificate, key=config.client_key)
    context.check_hostname = False  # the floor has no name to check, and nothing to lose
    return aiohttp.ClientSession(
        config.server,
        connector=aiohttp.TCPConnector(limit=AT_ONCE, ssl=context),
        headers={"User-Agent": "floor", "Accept": "application/json"},
    )


async def _patched(session: aiohttp.ClientSession, objects: list[dict[str, Any]]) -> None:
    bodies = [(_path(each), json.dumps(each).encode()) for each in objects]
    headers = {"Content-Type": "application/apply-patch+yaml"}

    async def one(path: str, body: bytes) -> None:
        url = f"{path}?fieldManager=floor&force=true"
        async with session.patch(url, data=body, headers=headers) as answer:
            await answer.read()
            assert answer.status < 300, path

    await asyncio.gather(*(one(*each) for each in bodies))


async def _plurals(session: aiohttp.ClientSession) -> set[str]:
    async with session.get("/apis/bench.example.org/v1") as answer:
        if answer.status == 404:
            return set()
        return {each["name"] for each in (await answer.json())["resources"]}


def _path(value: Mapping[str, Any]) -> str:
    version, kind, metadata = value["apiVersion"], value["kind"], value["metadata"]
    root = "/apis/" + version if "/" in version else "/api/" + version
    space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{space}/{kind.lower()}s/{metadata['name']}"


def main() -> None:
    what, file, kubeconfig = sys.argv[1:]
    objects = json.loads(Path(file).read_bytes())["items"]
    begun = time.perf_counter()
    asyncio.run({"firstlight": firstlight, "floor": floor, "lists": lists}[what](objects, kube.load(Path(kubeconfig))))
    print(f"{time.perf_counter() - begun:.3f}")


if __name__ == "__main__":
    main()
