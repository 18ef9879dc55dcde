"""The stand-ins as a lab has them: a program on the path, a part that serves, and a status that says what they are.

The real External Secrets controller is not asked: its program is not among those that a lab can run.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import command
from firstlight.lab import loopback_network
from firstlight.lab.running_lab import Lab
from firstlight.lab.standins import standin_vaults

VAULT = """
serviceAccounts: [{token: ops_lab}]
connectTokens: [{token: lab}]
vaults: [{name: homelab, items: [{title: cloudflare, fields: {credential: s3cret}}]}]
"""


@pytest_asyncio.fixture(scope="module")
async def standing_in(lab: Lab, programs: dict[str, Path]) -> AsyncIterator[Lab]:
    before = lab.settings()
    await lab.up(programs, settings=msgspec.structs.replace(before, standins=True))
    file = lab.home.standins / standin_vaults.VAULT_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(VAULT)
    yield lab
    await lab.up(programs, settings=before)
    assert "standins" not in [part.name for part in (await lab.status()).parts]


async def test_op_is_there_and_reads_the_vaults(standing_in: Lab) -> None:
    path = f"{standing_in.home.path / 'bin'}:{os.environ['PATH']}"
    env = {"PATH": path, "OP_SERVICE_ACCOUNT_TOKEN": "ops_lab"}

    read = await command.run(["op", "read", "op://homelab/cloudflare/credential"], env=env)
    injected = await command.run(["op", "inject"], env=env, stdin=b"token: {{ op://homelab/cloudflare/credential }}")

    assert read.stdout == b"s3cret\n"
    assert injected.stdout == b"token: s3cret"
    with pytest.raises(errors.CommandFailed, match='isn\'t an item in the "homelab" vault'):
        await command.run(["op", "read", "op://homelab/nothing/credential"], env=env)


async def test_connect_answers_and_op_asks_it(standing_in: Lab) -> None:
    net = msgspec.json.decode(standing_in.home.network.read_bytes(), type=loopback_network.LoopbackNetwork)
    host = f"http://{net.loopback}:{net.connect}"

    def get(path: str, token: str) -> list[dict[str, str]]:
        request = urllib.request.Request(host + path, headers={"Authorization": f"Bearer {token}"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request) as answer:
            return list(json.load(answer))

    vaults = await asyncio.to_thread(get, "/v1/vaults", "lab")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        await asyncio.to_thread(get, "/v1/vaults", "wrong")
    env = {"PATH": os.environ["PATH"], "OP_CONNECT_HOST": host, "OP_CONNECT_TOKEN": "lab"}
    op = str(standing_in.home.path / "bin" / "op")
    read = await command.run([op, "read", "op://homelab/cloudflare/credential"], env=env)

    assert [each["name"] for each in vaults] == ["homelab"]
    assert read.stdout == b"s3cret\n"


async def test_the_status_and_the_log_say_that_they_are_stand_ins_and_no_secret(standing_in: Lab) -> None:
    (part,) = [part for part in (await standing_in.status()).parts if part.name == "standins"]
    log = (standing_in.home.logs / "standins.log").read_text()

    assert (part.state, part.reality) == ("ready", "simulated")
    assert "stand-ins: 1Password Connect" in part.what
    assert "not 1Password Connect" in log
    assert "s3cret" not in log
