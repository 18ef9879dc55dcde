"""Downloads from a real HTTP server on this machine, which stands for every project's release host."""

import asyncio
import dataclasses
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from firstlight import errors
from firstlight.clients import command
from firstlight.tools import binary_cache, download, install, tool_progress, workshop

ARCHIVE = "/files/tiny/v1.2.3/tiny_{os}_{arch}.tar.gz"


def packed(script: str = "#!/bin/sh\necho tiny v1.2.3\n", *, member: tarfile.TarInfo | None = None) -> bytes:
    out = io.BytesIO()
    info = member or tarfile.TarInfo("tiny_1.2.3/tiny")
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        info.size = len(script) if info.isreg() else 0
        file.addfile(info, io.BytesIO(script.encode()) if info.isreg() else None)
    return out.getvalue()


@dataclasses.dataclass
class Mirror:
    """What the server has, by path, and what it was asked for."""

    url: str
    files: dict[str, bytes]
    asked: list[str]

    def publish(self, shop: workshop.Workshop, content: bytes, *, pinned: bytes | None = None) -> workshop.Workshop:
        """Put a release there, with a checksum beside it as projects do; a workshop that pins it, or something else."""
        path = ARCHIVE.format(os=shop.target.system, arch=shop.target.machine)
        self.files[path] = content
        beside = path.rsplit("/", 1)[0] + "/checksums.txt"
        self.files[beside] = f"{hashlib.sha256(content).hexdigest()}  {path.rsplit('/', 1)[-1]}\n".encode()
        return pinning(shop, content if pinned is None else pinned)


def pinning(shop: workshop.Workshop, content: bytes, *, place: str = "") -> workshop.Workshop:
    """A workshop whose catalogue pins a release of ``tiny``, for this machine if no other is named."""
    tool = shop.catalogue.get("tiny")
    assert tool.download is not None
    place = place or f"{shop.target.system}-{shop.target.machine}"
    digests = {place: hashlib.sha256(content).hexdigest()}
    changed = dataclasses.replace(tool, download=dataclasses.replace(tool.download, sha256=digests))
    tools = {**shop.catalogue.tools, "tiny": changed}
    return dataclasses.replace(shop, catalogue=dataclasses.replace(shop.catalogue, tools=tools))


@pytest.fixture
async def mirror() -> AsyncIterator[Mirror]:
    made = Mirror("", {}, [])

    async def answer(request: web.Request) -> web.StreamResponse:
        made.asked.append(request.path)
        content = made.files.get(request.path)
        if content is None:
            raise web.HTTPNotFound
        if content == b"<cut>":
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b"half")
            assert request.transport is not None
            request.transport.abort()
            return response
        return web.Response(body=content)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    made.url = f"http://127.0.0.1:{port}/files"
    yield made
    await runner.cleanup()


@pytest.fixture
def online(shop: workshop.Workshop, mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> workshop.Workshop:
    """A workshop that downloads, and only that, from the mirror."""
    monkeypatch.setattr(install, "_downloads", download.Downloads())
    return dataclasses.replace(
        shop, ways=("download",), environ={**shop.environ, "FIRSTLIGHT_MIRROR": mirror.url, "NO_PROXY": "*"}
    )


async def test_downloads_verifies_and_keeps_a_tool(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, packed())
    heard: list[tool_progress.ToolEvent] = []

    path = (await install.ensure(["tiny"], heard.append, shop=online))["tiny"]

    assert (await command.run([str(path)])).stdout == b"tiny v1.2.3\n"
    (entry,) = online.cache.entries("tiny")
    assert isinstance(entry, binary_cache.CachedBinary)
    assert entry.provenance.how == "download"
    assert entry.provenance.origin.startswith(f"{mirror.url}/tiny/v1.2.3/")
    received = [event.received for event in heard if isinstance(event, tool_progress.Downloading)]
    assert received == sorted(received)
    assert received[-1] == len(packed())


async def test_the_mirror_is_asked_with_the_paths_of_the_original(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, packed())

    await install.ensure(["tiny"], shop=online)

    assert mirror.asked == [ARCHIVE.format(os=online.target.system, arch=online.target.machine)]


async def test_what_was_downloaded_serves_where_builds_are_allowed_too(
    online: workshop.Workshop, mirror: Mirror
) -> None:
    online = mirror.publish(online, packed())
    first = await install.ensure(["tiny"], shop=online)

    assert await install.ensure(["tiny"], shop=dataclasses.replace(online, ways=("build",))) == first


async def test_another_hash_is_refused_and_nothing_else_is_tried(online: workshop.Workshop, mirror: Mirror) -> None:
    """Also with the right checksum beside it: whoever replaces a release replaces that, too."""
    online = mirror.publish(online, packed("#!/bin/sh\necho tiny v1.2.3; steal\n"), pinned=packed())
    both = dataclasses.replace(online, ways=("download", "build"))

    with pytest.raises(errors.ToolError, match="is refused: its SHA-256") as caught:
        await install.ensure(["tiny"], shop=both)

    assert "FIRSTLIGHT_ACQUIRE=build" in caught.value.hint
    assert list(online.cache.entries("tiny")) == []
    assert list((online.cache.root / "tmp").iterdir()) == []


async def test_without_a_pinned_hash_nothing_is_asked_for_and_it_is_built(
    online: workshop.Workshop, mirror: Mirror
) -> None:
    mirror.publish(online, packed())
    online = pinning(online, packed(), place="darwin-riscv64")
    heard: list[tool_progress.ToolEvent] = []

    with pytest.raises(errors.ToolError, match="no hash of its release for"):
        await install.ensure(["tiny"], shop=online)
    await install.ensure(["tiny"], heard.append, shop=dataclasses.replace(online, ways=("download", "build")))

    assert mirror.asked == []
    assert isinstance(heard[-1], tool_progress.ToolReady)
    assert heard[-1].how == "build"


async def test_what_was_downloaded_under_another_pin_does_not_serve(online: workshop.Workshop, mirror: Mirror) -> None:
    first = mirror.publish(online, packed())
    await install.ensure(["tiny"], shop=first)
    second = mirror.publish(online, packed("#!/bin/sh\necho tiny v1.2.3 again\n"))

    path = (await install.ensure(["tiny"], shop=second))["tiny"]

    assert (await command.run([str(path)])).stdout == b"tiny v1.2.3 again\n"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
async def test_an_archive_with_a_link_instead_of_the_binary_is_refused(
    online: workshop.Workshop, mirror: Mirror, kind: bytes
) -> None:
    member = tarfile.TarInfo("tiny_1.2.3/tiny")
    member.type, member.linkname = kind, "/bin/sh"
    online = mirror.publish(online, packed(member=member))

    with pytest.raises(errors.ToolError, match="not a regular file"):
        await install.ensure(["tiny"], shop=online)


async def test_an_archive_that_reaches_outside_is_refused(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, packed(member=tarfile.TarInfo("tiny_1.2.3/../../tiny")))

    with pytest.raises(errors.ToolError, match="outside of itself"):
        await install.ensure(["tiny"], shop=online)


async def test_a_binary_that_tells_another_version_is_refused(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, packed("#!/bin/sh\necho tiny v6.6.6\n"))

    with pytest.raises(errors.ToolError, match=r"says that it is 6\.6\.6"):
        await install.ensure(["tiny"], shop=online)

    assert list(online.cache.entries("tiny")) == []


async def test_a_connection_that_breaks_is_not_taken_for_a_file(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, b"<cut>")

    with pytest.raises(errors.ToolError, match="cannot be had"):
        await install.ensure(["tiny"], shop=online)


async def test_a_file_larger_than_the_limit_is_not_fetched(
    online: workshop.Workshop, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SIZE_LIMIT", 10)
    online = mirror.publish(online, packed())

    with pytest.raises(errors.ToolError, match="limit"):
        await install.ensure(["tiny"], shop=online)


async def test_a_release_that_is_not_there_is_built(online: workshop.Workshop, mirror: Mirror) -> None:
    both = dataclasses.replace(online, ways=("download", "build"))
    heard: list[tool_progress.ToolEvent] = []

    await install.ensure(["tiny"], heard.append, shop=both)

    assert any(isinstance(event, tool_progress.CandidateSkipped) and "404" in event.why for event in heard)
    assert isinstance(heard[-1], tool_progress.ToolReady)
    assert heard[-1].how == "build"


async def test_an_unreachable_host_is_tried_once_and_then_things_are_built(
    shop: workshop.Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "_downloads", download.Downloads())
    connections = 0

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    # A port that was ours a moment ago, and where nobody listens now.
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    environ = {**shop.environ, "FIRSTLIGHT_MIRROR": f"http://127.0.0.1:{port}", "NO_PROXY": "*"}
    cut_off = dataclasses.replace(shop, ways=("download", "build"), environ=environ)
    heard: list[tool_progress.ToolEvent] = []

    await install.ensure(["tiny"], heard.append, shop=cut_off)
    first = [event for event in heard if isinstance(event, tool_progress.CandidateSkipped)]
    # Somebody listens now, but the host is remembered: it is not asked again.
    server = await asyncio.start_server(refuse, "127.0.0.1", port)
    heard.clear()
    await install.ensure(["tiny"], heard.append, shop=cut_off, again=True)
    server.close()

    assert len(first) == 1
    assert "cannot be reached" in first[0].why
    assert connections == 0
    assert not any(isinstance(event, tool_progress.CandidateSkipped) for event in heard)
    assert isinstance(heard[-1], tool_progress.ToolReady)
    assert heard[-1].how == "build"


async def test_where_only_builds_are_allowed_nothing_is_downloaded(online: workshop.Workshop, mirror: Mirror) -> None:
    online = mirror.publish(online, packed())

    await install.ensure(["tiny"], shop=dataclasses.replace(online, ways=("build",)))

    assert mirror.asked == []


async def test_where_builds_are_not_allowed_that_is_said(online: workshop.Workshop) -> None:
    with pytest.raises(errors.ToolError, match="build: FIRSTLIGHT_ACQUIRE does not allow it") as caught:
        await install.ensure(["tiny"], shop=online)

    assert "FIRSTLIGHT_TINY" in caught.value.hint


def test_a_mirror_replaces_scheme_and_host_only() -> None:
    url = "https://github.com/a/b/releases/download/x%2Fv1/c.tar.gz"

    assert download.mirrored(url, "http://m:1/base") == "http://m:1/base/a/b/releases/download/x%2Fv1/c.tar.gz"
    assert download.mirrored(url, "") == url
