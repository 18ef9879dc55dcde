"""The stand-in for Connect says what is written down in connect.yaml, and ``op`` understands it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from aiohttp import test_utils
from yarl import URL

from firstlight.lab.standins import connect
from tests.unit.lab.standins.test_op import ADMIN, HERE, call, put_vault

CONTRACT: list[dict[str, Any]] = yaml.load((HERE / "connect.yaml").read_text(), Loader=yaml.CSafeLoader)
ALL = "aaa.bbb.ccc"


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[test_utils.BaseTestServer]:
    put_vault(tmp_path)
    async with test_utils.TestServer(connect.ConnectServer(tmp_path).app()) as running:
        yield running


@pytest.mark.parametrize("case", CONTRACT, ids=lambda case: case["name"])
async def test_it_answers_as_the_contract_says(case: dict[str, Any], server: test_utils.BaseTestServer) -> None:
    token = case.get("token", ALL)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = URL(f"http://{server.host}:{server.port}{case['path'].replace(' ', '%20')}", encoded=True)

    async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as answer:
        text = await answer.text()
        assert answer.status == case.get("status", 200), text
        assert "stand" in answer.headers["Server"]
        if "text" in case:
            assert text == case["text"]
        elif "ids" in case:
            assert [each["id"] for each in await answer.json()] == case["ids"]
        else:
            assert _named(await answer.json()) == case["json"]


def _named(value: Any) -> Any:
    """The same, with the id of a section that follows from its name replaced by the name."""
    if isinstance(value, list):
        return [_named(each) for each in value]
    if isinstance(value, dict):
        return {key: _named(each) for key, each in value.items()}
    return "{Admin}" if value == ADMIN else value


async def test_a_changed_secret_is_there_at_once(server: test_utils.BaseTestServer, tmp_path: Path) -> None:
    url = f"http://{server.host}:{server.port}/v1/vaults"
    headers = {"Authorization": f"Bearer {ALL}"}
    async with aiohttp.ClientSession(headers=headers) as client:
        async with client.get(url) as before:
            assert len(await before.json()) == 2
        put_vault(tmp_path, vaults=[])
        async with client.get(url) as after:
            assert await after.json() == []


async def test_a_file_that_cannot_be_read_is_an_error_of_the_server(
    server: test_utils.BaseTestServer, tmp_path: Path
) -> None:
    (tmp_path / "vault.yaml").chmod(0o644)
    url = f"http://{server.host}:{server.port}/v1/vaults"

    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        assert answer.status == 500
        assert "others may read it" in (await answer.json())["message"]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["read", "op://homelab/cloudflare/credential"], 0, "tok,en\n"),
        (["read", "op://homelab/cloudflare/Admin/zone"], 0, "example.org\n"),
        (["read", "op://homelab/cloudflare/key.pem"], 0, "PEM\n\n"),
        (["item", "get", "cloudflare", "--vault", "homelab", "--fields", "username"], 0, "admin\n"),
        # github.com/1Password/connect, issue 49, 2022-08-24
        (
            ["read", "op://homelab/cloudflare/no"],
            1,
            "could not find field or file no on item cloudflare in vault homelab",
        ),
        # a public client with recorded output, 2026
        (
            ["read", "op://homelab/no/no"],
            1,
            "could not resolve item UUID for item no: could not find item no in vault vhomelab222222222222222222",
        ),
        # github.com/1Password/op-vscode, issue 218, 2025-03-26
        (["read", "op://homelab/twin/password"], 1, "could not resolve item UUID for item twin: More than one item"),
        (["read", "op://other/note/notesPlain"], 1, "could not resolve vault UUID for vault other"),
        (["whoami"], 1, "whoami doesn't support Connect"),
    ],
)
async def test_op_asks_connect(
    argv: list[str], code: int, said: str, server: test_utils.BaseTestServer, tmp_path: Path
) -> None:
    env = {"OP_CONNECT_HOST": f"http://{server.host}:{server.port}", "OP_CONNECT_TOKEN": "narrow"}
    env["OP_SERVICE_ACCOUNT_TOKEN"] = "ops_everything"  # Connect comes first

    found, out, err = await asyncio.to_thread(call, tmp_path, argv, env=env)

    assert found == code, err
    assert said == out if code == 0 else said in err


async def test_op_says_what_connect_said(server: test_utils.BaseTestServer, tmp_path: Path) -> None:
    env = {"OP_CONNECT_HOST": f"http://{server.host}:{server.port}", "OP_CONNECT_TOKEN": "x.y.z"}

    code, _, err = await asyncio.to_thread(call, tmp_path, ["read", "op://homelab/cloudflare/username"], env=env)

    assert code == 1
    assert "status 401: Invalid token signature" in err
