"""Files of the web, from a server on this computer."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web as server

from firstlight import errors
from firstlight.clients import web


@pytest_asyncio.fixture
async def address() -> AsyncIterator[str]:
    seen: list[dict[str, str]] = []

    async def answer(request: server.Request) -> server.StreamResponse:
        seen.append(dict(request.headers))
        match request.path:
            case "/a.yaml":
                return server.Response(body=b"a: 1\n")
            case "/moved":
                raise server.HTTPFound("/a.yaml")
            case "/inwards":
                raise server.HTTPFound("http://127.0.0.1:1/a.yaml")
            case "/downwards":
                raise server.HTTPFound("http://files.example/a.yaml")
            case "/forever":
                raise server.HTTPFound("/forever")
            case "/large":
                return server.Response(body=b"x" * 2000)
            case "/headers":
                return server.Response(text=repr(sorted(request.headers)))
            case "/broken":
                raise server.HTTPInternalServerError
            case _:
                raise server.HTTPNotFound

    runner = server.AppRunner(application := server.Application())
    application.router.add_route("*", "/{path:.*}", answer)
    await runner.setup()
    site = server.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    yield f"127.0.0.1:{port}"
    await runner.cleanup()


async def test_a_file_is_fetched_also_where_it_moved(address: str) -> None:
    for path in ("a.yaml", "moved"):
        assert await web.fetch(f"http://{address}/{path}", plain_http=[address]) == b"a: 1\n"


async def test_nobody_is_told_who_asks(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    headers = (await web.fetch(f"http://{address}/headers", plain_http=[address])).decode()
    assert "Authorization" not in headers
    assert "Cookie" not in headers


async def test_what_is_not_there_and_what_fails(address: str) -> None:
    with pytest.raises(web.WebNotFound):
        await web.fetch(f"http://{address}/absent", plain_http=[address])
    with pytest.raises(errors.ClientError, match="500"):
        await web.fetch(f"http://{address}/broken", plain_http=[address])
    with pytest.raises(errors.Unreachable):
        await web.fetch("http://127.0.0.1:1/a", plain_http=["127.0.0.1:1"])


async def test_too_much_and_too_far_is_refused(address: str) -> None:
    with pytest.raises(errors.Refused, match="MiB"):
        await web.fetch(f"http://{address}/large", plain_http=[address], limit=1000)
    with pytest.raises(errors.Refused, match="one place to the next"):
        await web.fetch(f"http://{address}/forever", plain_http=[address])


async def test_a_redirect_leads_neither_inwards_nor_out_of_tls(address: str) -> None:
    for path in ("inwards", "downwards"):
        with pytest.raises(errors.FirstlightError) as caught:
            await web.fetch(f"http://{address}/{path}", plain_http=[address])
        assert isinstance(caught.value, errors.UsageError | errors.Refused)


@pytest.mark.parametrize(
    "url",
    [
        "http://files.example/a", "file:///etc/passwd", "ftp://files.example/a", "https://u:p@files.example/a",
        "https://127.0.0.1/a", "https://[::1]/a", "https://169.254.169.254/latest", "https://0.0.0.0/a",
        "https://[::ffff:127.0.0.1]/a", "-o", "https://files.example/a b",
    ],
)  # fmt: skip
async def test_urls_that_may_not_be_fetched(url: str) -> None:
    with pytest.raises((errors.UsageError, errors.Refused)):
        await web.fetch(url)


async def test_a_name_that_stands_for_this_computer_is_refused() -> None:
    with pytest.raises(errors.Refused):
        await web.fetch("https://localhost/a")
