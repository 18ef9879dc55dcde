"""sops itself: what it decrypts, and what its failures mean."""

import json
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import secret_errors
from firstlight.clients.sops import SopsClient
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import MINE, THEIRS, EncryptedRepo

CANARY = "s3cr3t-canary"


@pytest_asyncio.fixture(scope="session")
async def program() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@pytest.fixture
def repo(program: Path, tmp_path: Path) -> EncryptedRepo:
    return EncryptedRepo(tmp_path, program)


@pytest.fixture
def client(repo: EncryptedRepo) -> SopsClient:
    return SopsClient(repo.sops, environ=repo.environ)


async def test_the_version(client: SopsClient) -> None:
    assert (await client.version()).startswith("3.")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.sops.yaml", f"a: {CANARY}\n---\nb: 1\n"), ("a.env", f"A={CANARY}\n"), ("a.key", f"{CANARY}\x00\n")],
)
async def test_forms(repo: EncryptedRepo, client: SopsClient, name: str, content: str) -> None:
    path = repo.encrypt(name, content)

    assert CANARY.encode() not in path.read_bytes()
    assert await client.decrypt(path) == Secret(content)


async def test_a_flat_file_becomes_json(repo: EncryptedRepo, client: SopsClient) -> None:
    value = await client.decrypt(repo.encrypt("a.ini", f"[s]\nb = {CANARY}\n"), as_json=True)

    assert json.loads(value.reveal())["s"] == {"b": CANARY}


async def test_keys_in_files_and_none(repo: EncryptedRepo, tmp_path: Path) -> None:
    path = repo.encrypt("a.sops.yaml", f"a: {CANARY}\n")
    (tmp_path / "keys.txt").write_bytes(age_keys.identity(MINE).reveal())

    by_file = await SopsClient(repo.sops, environ={"SOPS_AGE_KEY_FILE": str(tmp_path / "keys.txt")}).decrypt(path)

    assert by_file == Secret(f"a: {CANARY}\n")
    for environ, hint in (
        (repo.stranger, "SOPS_AGE_KEY holds another key"),
        ({"HOME": str(tmp_path)}, "set SOPS_AGE_KEY_FILE"),
        ({"SOPS_AGE_KEY": CANARY}, "SOPS_AGE_KEY holds is no age key"),
        ({"SOPS_AGE_KEY_FILE": "/none"}, "cannot be opened"),
    ):
        with pytest.raises(secret_errors.SecretUndecryptable, match=age_keys.recipient(MINE)) as caught:
            await SopsClient(repo.sops, environ=environ).decrypt(path)
        assert hint in caught.value.hint
        assert CANARY not in f"{caught.value!r}{caught.value.hint}"


async def test_what_was_changed_afterwards_is_damaged(repo: EncryptedRepo, client: SopsClient) -> None:
    path = repo.encrypt("a.sops.yaml", f"a: {CANARY}\nb: {CANARY}\n")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1:]))

    with pytest.raises(secret_errors.SecretDamaged):
        await client.decrypt(path)


async def test_encrypting_by_the_rules_of_the_repo(repo: EncryptedRepo, client: SopsClient) -> None:
    path = repo.root / "deep" / "a.sops.yaml"

    made = await client.encrypt(Secret(f"a: {CANARY}\n"), path, config=repo.root / ".sops.yaml")

    assert CANARY.encode() not in made
    assert not path.exists()
    assert await client.reread(made, path, about="a") == Secret(f"a: {CANARY}\n")
    repo.rule(age_keys.recipient(THEIRS))
    others = await client.encrypt(Secret("a: b\n"), path, config=repo.root / ".sops.yaml")
    with pytest.raises(secret_errors.SecretUndecryptable, match=age_keys.recipient(THEIRS)):
        await client.reread(others, path, about="a")


@pytest.mark.parametrize(
    ("rules", "kind", "what"),
    [
        ("creation_rules: [{path_regex: other, age: age1x}]", secret_errors.NoCreationRule, "no rule of"),
        ("creation_rules: []", secret_errors.NoCreationRule, "no rule of"),
        ("creation_rules: [[[", secret_errors.SecretUnreadable, "is no YAML"),
        ("creation_rules: [{age: age1x}]", secret_errors.SecretUnreadable, "no age key"),
        ("creation_rules: [{pgp: AB}]", secret_errors.SecretUnreadable, "cannot be encrypted for"),
    ],
    ids=["other path", "none", "broken", "no key", "unknown person"],
)
async def test_rules_that_do_not_do(
    repo: EncryptedRepo, client: SopsClient, rules: str, kind: type[secret_errors.SecretError], what: str
) -> None:
    (repo.root / ".sops.yaml").write_text(rules)

    with pytest.raises(kind, match=what) as caught:
        await client.encrypt(Secret(f"a: {CANARY}"), repo.root / "a.sops.yaml", config=repo.root / ".sops.yaml")

    assert CANARY not in f"{caught.value!r}{caught.value.hint}"
