"""Bytes encrypted for those who may read another file, whole, whatever its rule picks out."""

from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import secret_errors
from firstlight.clients.sops import SopsClient
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import MINE

CONTENT = Secret(b"\x00canary\xff" * 1000)


@pytest_asyncio.fixture(scope="session")
async def program() -> Path:
    return (await install.ensure(["sops"]))["sops"]


def rules(root: Path, more: str = "") -> Path:
    path = root / ".sops.yaml"
    path.write_text(f"creation_rules:\n  - path_regex: ^talos/.*\n    age: {age_keys.recipient(MINE)}\n{more}")
    return path


async def test_by_the_rule_of_another_file(program: Path, tmp_path: Path) -> None:
    client = SopsClient(program, environ={"SOPS_AGE_KEY": age_keys.identity(MINE).reveal().decode()})
    into = tmp_path / "a.snapshot.gz.sops"

    await client.encrypt_into(
        CONTENT, into, rule=tmp_path / "talos" / "secrets.sops.yaml", config=rules(tmp_path), about="a snapshot"
    )

    assert b"canary" not in into.read_bytes()
    assert await client.decrypt(into) == CONTENT


async def test_a_rule_for_fields_of_secrets_leaves_nothing_readable(program: Path, tmp_path: Path) -> None:
    config = rules(tmp_path, more="    encrypted_regex: ^(stringData)$\n")
    into = tmp_path / "a"

    await SopsClient(program).encrypt_into(
        CONTENT, into, rule=tmp_path / "talos" / "secrets.sops.yaml", config=config, about="a snapshot"
    )

    assert b"canary" not in into.read_bytes()


async def test_nobody_is_named(program: Path, tmp_path: Path) -> None:
    with pytest.raises(secret_errors.NoCreationRule):
        await SopsClient(program).encrypt_into(
            CONTENT, tmp_path / "a", rule=tmp_path / "elsewhere.yaml", config=rules(tmp_path), about="a snapshot"
        )


async def test_back_into_a_file_that_only_its_owner_reads(program: Path, tmp_path: Path) -> None:
    client = SopsClient(program, environ={"SOPS_AGE_KEY": age_keys.identity(MINE).reveal().decode()})
    rule = tmp_path / "talos" / "secrets.sops.yaml"
    large = Secret(b"\x00canary\xff" * (2 << 20))  # more than is decrypted into memory
    await client.encrypt_into(large, tmp_path / "a.sops", rule=rule, config=rules(tmp_path), about="a snapshot")

    await client.decrypt_into(tmp_path / "a.sops", tmp_path / "plain")

    assert Secret((tmp_path / "plain").read_bytes()) == large
    assert (tmp_path / "plain").stat().st_mode & 0o077 == 0


async def test_what_cannot_be_decrypted_leaves_no_file(program: Path, tmp_path: Path) -> None:
    rule = tmp_path / "talos" / "secrets.sops.yaml"
    await SopsClient(program).encrypt_into(CONTENT, tmp_path / "a.sops", rule=rule, config=rules(tmp_path), about="it")
    stranger = SopsClient(program, environ={"SOPS_AGE_KEY": age_keys.identity(b"\x09" * 32).reveal().decode()})

    with pytest.raises(secret_errors.SecretUndecryptable):
        await stranger.decrypt_into(tmp_path / "a.sops", tmp_path / "plain")

    assert not (tmp_path / "plain").exists()
