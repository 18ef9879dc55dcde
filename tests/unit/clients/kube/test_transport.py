"""TLS on loopback: what is trusted, what is shown, and what stays behind."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import client_config, kube_errors
from firstlight.model.secret import Secret
from tests.unit.clients.kube import loopback, pki
from tests.unit.clients.kube.loopback import Respond, script

TRUSTED = pki.certificate_pem(pki.authority())


def secure(server: loopback.Loopback, **settings: Any) -> kube.Client:
    return loopback.client(server, **{"certificate_authority": TRUSTED, **settings})


async def ask(client: kube.Client) -> Any:
    async with client:
        return (await client.request("GET", "/api/v1/x")).document


async def test_a_trusted_server() -> None:
    async with loopback.loopback(script(Respond(1)), tls=pki.server_context(pki.issue("host"))) as server:
        assert await ask(secure(server)) == 1


@pytest.mark.parametrize(
    ("pair", "settings", "problem"),
    [
        (pki.issue("host", days=(-9, -2)), {}, kube_errors.CertificateProblem.EXPIRED),
        (pki.issue("host", days=(2, 9)), {}, kube_errors.CertificateProblem.NOT_YET_VALID),
        (pki.issue("host", address="127.0.0.2"), {}, kube_errors.CertificateProblem.WRONG_NAME),
        (pki.issue("host"), {"server_name": "other"}, kube_errors.CertificateProblem.WRONG_NAME),
        (
            pki.issue("host", issuer=pki.authority("other")),
            {},
            kube_errors.CertificateProblem.UNKNOWN_AUTHORITY,
        ),
        (pki.issue("host"), {"certificate_authority": b""}, kube_errors.CertificateProblem.UNKNOWN_AUTHORITY),
    ],
    ids=["expired", "not yet", "address", "name", "authority", "system"],
)
async def test_an_untrusted_server_is_told_apart(
    pair: pki.Pair, settings: dict[str, Any], problem: kube_errors.CertificateProblem
) -> None:
    clock = loopback.Clock()
    async with loopback.loopback(script(Respond(1)), tls=pki.server_context(pair)) as server:
        with pytest.raises(kube.KubeUntrusted) as caught:
            await ask(secure(server, token=Secret("t"), clock=clock, **settings))

    assert caught.value.problem is problem
    assert server.url in caught.value.message
    assert caught.value.hint
    assert server.requests == []
    assert clock.sleeps == [], "trying again does not help"


async def test_a_ca_of_the_same_name_with_another_key_is_unknown() -> None:
    impostor = pki.authority.__wrapped__("authority")
    context = pki.server_context(pki.issue("host", issuer=impostor))
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        with pytest.raises(kube.KubeUntrusted):
            await ask(secure(server))


async def test_the_name_in_the_certificate_may_be_given() -> None:
    context = pki.server_context(pki.issue("kubernetes", address="10.0.0.1"))
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        assert await ask(secure(server, server_name="kubernetes")) == 1


async def test_an_intermediate_may_be_the_authority_as_in_go() -> None:
    middle = pki.intermediate()
    context = pki.server_context(pki.issue("host", issuer=middle))
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        assert await ask(secure(server, certificate_authority=pki.certificate_pem(middle))) == 1


async def test_verification_can_be_skipped() -> None:
    context = pki.server_context(pki.issue("host", days=(-9, -2), issuer=pki.authority("other")))
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        assert await ask(secure(server, certificate_authority=b"", insecure=True)) == 1


async def test_a_client_certificate_is_shown_and_its_key_touches_no_disk() -> None:
    pair = pki.issue("me")
    context = pki.server_context(pki.issue("host"), clients=pki.authority())
    before = set(os.listdir("/proc/self/fd"))
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        client = secure(server, client_certificate=pki.certificate_pem(pair), client_key=Secret(pki.key_pem(pair)))
        async with client:
            await client.request("GET", "/api/v1/x")
            links = [
                os.readlink(f"/proc/self/fd/{fd}")
                for fd in set(os.listdir("/proc/self/fd")) - before
                if os.path.lexists(f"/proc/self/fd/{fd}")
            ]

    assert [link for link in links if "memfd" in link or link.startswith(str(Path("/tmp")))] == []


async def test_a_server_that_wants_a_certificate_and_gets_none() -> None:
    context = pki.server_context(pki.issue("host"), clients=pki.authority())
    async with loopback.loopback(script(Respond(1)), tls=context) as server:
        with pytest.raises(errors.Unreachable):
            await ask(secure(server, policy=kube.RetryPolicy(deadline=0.5)))


@pytest.mark.parametrize("kind", ["foreign", "encrypted", "nonsense"])
async def test_a_key_that_cannot_be_used(kind: str) -> None:
    pair = pki.issue("me")
    key = {
        "foreign": pki.key_pem(pki.issue("other")),
        "encrypted": pki.key_pem(pair, b"password"),
        "nonsense": b"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
    }[kind]
    config = kube.ClientConfig(
        server="https://host",
        source="/home/me/config",
        client_certificate=pki.certificate_pem(pair),
        client_key=Secret(key),
    )

    with pytest.raises(errors.ConfigError, match="/home/me/config: the client certificate and key") as caught:
        async with kube.Client(config):
            pass
    assert "hunter2" not in str(caught.value)


async def test_an_authority_that_is_no_certificate() -> None:
    config = kube.ClientConfig(server="https://host", source="c", certificate_authority=b"-----BEGIN nonsense")

    with pytest.raises(errors.ConfigError, match="no PEM certificate"):
        async with kube.Client(config):
            pass


@contextlib.asynccontextmanager
async def bare(answer: bytes) -> AsyncIterator[str]:
    """A server that speaks no TLS."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_plain_http_where_tls_is_expected() -> None:
    clock = loopback.Clock()
    async with bare(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        with pytest.raises(errors.Unreachable, match="no TLS with this server"):
            await ask(kube.Client(kube.ClientConfig(server=url), environ={}, clock=clock, sleep=clock.sleep))

    assert clock.sleeps == []


async def test_a_server_that_hangs_up_in_the_handshake_is_tried_again() -> None:
    clock = loopback.Clock()
    async with bare(b"") as url:
        with pytest.raises(errors.Unreachable, match=r"GET /api/v1/x on .*: \S+"):
            await ask(kube.Client(kube.ClientConfig(server=url), environ={}, clock=clock, sleep=clock.sleep))

    assert len(clock.sleeps) == 2


async def test_another_certificate_of_a_plugin_opens_new_connections(tmp_path: Path) -> None:
    """A refused certificate is replaced by what the plugin gives next, on a connection of its own."""
    first, second = pki.issue("first"), pki.issue("second")
    for name, pair in (("first", first), ("second", second)):
        answer = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {
                "clientCertificateData": pki.certificate_pem(pair).decode(),
                "clientKeyData": pki.key_pem(pair).decode(),
            },
        }
        (tmp_path / name).write_bytes(msgspec.json.encode(answer))
    (tmp_path / "next").symlink_to(tmp_path / "first")
    plugin = client_config.ExecPlugin("client.authentication.k8s.io/v1", "cat", (str(tmp_path / "next"),))

    def react(request: loopback.Request) -> loopback.Reaction:
        if server.connections == 2:
            return Respond(1)
        (tmp_path / "next").unlink()
        (tmp_path / "next").symlink_to(tmp_path / "second")
        return loopback.status(401, "Unauthorized")

    context = pki.server_context(pki.issue("host"), clients=pki.authority())
    async with loopback.loopback(react, tls=context) as server:
        assert await ask(secure(server, exec_plugin=plugin)) == 1

    assert server.connections == 2


async def test_an_https_server_behind_an_http_proxy() -> None:
    async with (
        loopback.loopback(script(Respond(1)), tls=pki.server_context(pki.issue("api"))) as server,
        loopback.tunnel(server.port) as (port, connects),
    ):
        assert await ask(secure(server, proxy=client_config.Proxy(f"http://127.0.0.1:{port}"))) == 1

    assert connects == [f"127.0.0.1:{server.port}"]
