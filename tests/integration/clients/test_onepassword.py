"""1Password by op and by Connect, against the lab's stand-ins; 1Password's own programs were not run."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from firstlight.clients import secret_errors
from firstlight.clients.onepassword import OnePasswordCli, OnePasswordConnect, is_connect_set
from firstlight.lab import lab_directory, lab_part
from firstlight.lab.standins import connect, standin_vaults
from firstlight.model import secret_reference
from firstlight.model.secret import Secret

CANARY = "s3cr3t-canary"
VAULT = f"""
serviceAccounts: [{{token: ops_lab}}]
connectTokens: [{{token: lab-token}}, {{token: narrow, vaults: [other]}}]
vaults:
  - name: other
    items: []
  - name: homelab
    items:
      - title: cloudflare
        fields:
          - {{label: credential, value: {CANARY}}}
          - {{label: zone, value: example.org, type: STRING, section: Admin}}
          - {{label: empty, value: ""}}
        files: [{{name: key.pem, content: "-----BEGIN"}}]
      - {{title: twice, fields: {{a: b}}}}
      - {{title: Twice, id: aaaaaaaaaaaaaaaaaaaaaaaaaa, fields: {{a: c}}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> lab_directory.LabDirectory:
    one = lab_directory.LabDirectory(tmp_path / "lab")
    one.path.mkdir()
    lab_part.write_op(one)
    (one.standins / standin_vaults.VAULT_FILE).write_text(VAULT)
    return one


@contextlib.asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest_asyncio.fixture
async def host(home: lab_directory.LabDirectory) -> AsyncIterator[str]:
    async with serving(connect.ConnectServer(home.standins).app()) as url:
        yield url


def asked(text: str) -> secret_reference.OnePasswordReference:
    found = secret_reference.parse(text)
    assert isinstance(found, secret_reference.OnePasswordReference)
    return found


async def by_op(home: lab_directory.LabDirectory, text: str, token: str = "ops_lab") -> Secret:
    environ = {"PATH": "/usr/bin:/bin", **({"OP_SERVICE_ACCOUNT_TOKEN": token} if token else {})}
    return await OnePasswordCli(home.path / "bin" / "op", environ=environ).read(asked(text))


async def by_connect(host: str, text: str, token: str = "lab-token") -> Secret:
    client = OnePasswordConnect({"OP_CONNECT_HOST": host, "OP_CONNECT_TOKEN": f"{token}\n"})
    try:
        return await client.read(asked(text))
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("op://homelab/cloudflare/credential", CANARY),
        ("op://HomeLab/Cloudflare/Admin/ZONE", "example.org"),
        ("op://homelab/cloudflare/zone", "example.org"),
        ("op://homelab/cloudflare/key.pem", "-----BEGIN"),
        ("op://homelab/aaaaaaaaaaaaaaaaaaaaaaaaaa/a", "c"),
    ],
)
async def test_both_ways_give_the_same(home: lab_directory.LabDirectory, host: str, text: str, value: str) -> None:
    assert await by_op(home, text) == Secret(value)
    assert await by_connect(host, text) == Secret(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("op://nowhere/cloudflare/credential", secret_errors.SecretNotFound),
        ("op://homelab/nothing/credential", secret_errors.SecretNotFound),
        ("op://homelab/cloudflare/nothing", secret_errors.SecretNotFound),
        ("op://homelab/cloudflare/Wrong/credential", secret_errors.SecretNotFound),
        ("op://homelab/twice/a", secret_errors.SecretNotUnique),
    ],
)
async def test_both_ways_say_the_same_no(
    home: lab_directory.LabDirectory, host: str, text: str, kind: type[secret_errors.SecretError]
) -> None:
    with pytest.raises(kind) as said_by_op:
        await by_op(home, text)
    with pytest.raises(kind) as said_by_connect:
        await by_connect(host, text)

    for each in (said_by_op.value, said_by_connect.value):
        assert each.message.startswith(text)
        assert each.hint
        assert CANARY not in f"{each!r}"


async def test_who_is_not_signed_in(home: lab_directory.LabDirectory, host: str) -> None:
    text = "op://homelab/cloudflare/credential"
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="nobody is signed in") as nobody:
        await by_op(home, text, "")
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="OP_SERVICE_ACCOUNT_TOKEN is not valid"):
        await by_op(home, text, f"ops_{CANARY}")
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="OP_CONNECT_TOKEN") as wrong:
        await by_connect(host, text, CANARY)
    with pytest.raises(secret_errors.SecretNotFound, match="the token is not for it"):
        await by_connect(host, text, "narrow")
    with pytest.raises(secret_errors.SecretStoreUnreachable):
        await by_connect("http://127.0.0.1:1", text)

    assert "op signin" in nobody.value.hint
    assert CANARY not in f"{wrong.value!r}{wrong.value.hint}"


async def test_who_is_signed_in(home: lab_directory.LabDirectory) -> None:
    environ = {"PATH": "/usr/bin:/bin", "OP_SERVICE_ACCOUNT_TOKEN": "ops_lab"}

    assert await OnePasswordCli(home.path / "bin" / "op", environ=environ).whoami() == "SERVICE_ACCOUNT"


async def test_what_is_not_connect_is_said_so() -> None:
    app = web.Application()

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=f"<html>{CANARY}", status=200)

    app.router.add_get("/{tail:.*}", page)
    async with serving(app) as url:
        with pytest.raises(secret_errors.SecretUnreadable, match="is not Connect") as caught:
            await by_connect(url, "op://homelab/cloudflare/credential")

    assert CANARY not in str(caught.value)


def test_connect_needs_both_variables() -> None:
    assert is_connect_set({"OP_CONNECT_HOST": "h", "OP_CONNECT_TOKEN": "t"})
    assert not is_connect_set({"OP_CONNECT_HOST": "h"})
