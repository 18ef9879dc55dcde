"""References resolved by the real sops, files, variables, and stand-ins for the rest."""

import asyncio
import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.model.secret import Secret
from firstlight.secrets.secret_resolver import SecretResolver
from tests.integration.clients.vault_standin import TOKEN, Standin
from tests.integration.secrets.encrypted_repo import EncryptedRepo
from tests.unit.clients.recorder import Recorder

SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: sops-age}
stringData: {age.agekey: dotted, port: 5432}
data: {token: dG9rZW4=, wrong: "%%%"}
"""


def resolver(repo: EncryptedRepo, **more: str) -> SecretResolver:
    return SecretResolver(repo.root, sops=repo.sops, environ={**repo.environ, **more})


@pytest.fixture(scope="module")
def awkward(sops: Path, tmp_path_factory: pytest.TempPathFactory) -> EncryptedRepo:
    repo = EncryptedRepo(tmp_path_factory.mktemp("awkward"), sops)
    repo.encrypt("a.sops.yaml", "top: one\ndeep: {a: b}\n'null': null\n")
    repo.encrypt("b.sops.yaml", SECRET)
    repo.encrypt("d.key", "x")
    (repo.root / "blank").write_text("\n")
    (repo.root / "directory").mkdir()
    os.mkfifo(repo.root / "pipe")
    (repo.root / "link").symlink_to("/etc/passwd")
    (repo.root / "link.sops.yaml").symlink_to("/etc/passwd")
    return repo


async def test_values_of_every_kind(repo: EncryptedRepo, tmp_path: Path) -> None:
    repo.encrypt("a.sops.yaml", "top: one\ndeep: {list: [x, {y: two}], a.b: three, on: true}\n---\nsecond: four\n")
    repo.encrypt("b.sops.yaml", SECRET)
    repo.encrypt("c.env", "NAME=five\n")
    repo.encrypt("d.key", b"six\x00\n")
    (repo.root / "plain").write_bytes(b"seven\n")
    (tmp_path / "outside").write_bytes(b"eight")
    one = resolver(repo, VARIABLE="nine", HOME=str(tmp_path))
    expected = {
        "sops:a.sops.yaml#top": b"one",
        "sops:a.sops.yaml#deep.list.1.y": b"two",
        "sops:a.sops.yaml#deep.a.b": b"three",
        "sops:a.sops.yaml#deep.on": b"true",
        "sops:a.sops.yaml#second": b"four",
        "sops:b.sops.yaml#stringData.age.agekey": b"dotted",
        "sops:b.sops.yaml#stringData.port": b"5432",
        "sops:b.sops.yaml#data.token": b"token",
        "sops:c.env#NAME": b"five",
        "sops:c.env": b"NAME=five\n",
        "sops:d.key": b"six\x00\n",
        "file:plain": b"seven\n",
        f"file:{tmp_path}/outside": b"eight",
        "file:~/outside": b"eight",
        "env:VARIABLE": b"nine",
    }

    found = await asyncio.gather(*(one.resolve(each) for each in expected))

    assert dict(zip(expected, (each.reveal() for each in found), strict=True)) == expected
    assert await one("env:VARIABLE") == Secret("nine"), "it is itself what World.resolve is"
    await one.close()


async def test_vault_and_a_connection_that_is_closed(repo: EncryptedRepo) -> None:
    standin = Standin()
    standin.version_2["dns"] = {"token": "x"}
    async with standin.serving() as url:
        one = resolver(repo, VAULT_ADDR=url, VAULT_TOKEN=TOKEN)
        both = await asyncio.gather(one.resolve("vault:secret/dns#token"), one.resolve("vault:secret/dns#token"))
        await one.close()

    assert list(both) == [Secret("x"), Secret("x")]
    assert len(standin.asked) == 2, "the mount and the secret, once"


async def test_a_file_is_decrypted_once_for_all_its_keys(repo: EncryptedRepo, tmp_path: Path) -> None:
    program = Recorder(tmp_path / "program", "sops")
    program.says("a: one\nb: two\n", sleep=0.1)
    repo.encrypt("a.sops.yaml", "a: x\n")
    one = SecretResolver(repo.root, sops=program.path, environ={})

    await asyncio.gather(one.resolve("sops:a.sops.yaml#a"), one.resolve("sops:a.sops.yaml#b"))
    await one.resolve("sops:./a.sops.yaml#a")

    assert len(program.calls) == 1


async def test_one_who_gives_up_does_not_take_it_from_the_others(repo: EncryptedRepo, tmp_path: Path) -> None:
    program = Recorder(tmp_path / "program", "sops")
    program.says("a: one\n", sleep=0.3)
    repo.encrypt("a.sops.yaml", "a: x\n")
    one = SecretResolver(repo.root, sops=program.path, environ={})
    first = asyncio.create_task(one.resolve("sops:a.sops.yaml#a"))
    second = asyncio.create_task(one.resolve("sops:a.sops.yaml#a"))
    await asyncio.sleep(0)

    first.cancel()

    assert await second == Secret("one")
    assert first.cancelled()
    assert len(program.calls) == 1


async def test_what_failed_may_be_asked_again(repo: EncryptedRepo) -> None:
    one = resolver(repo)
    with pytest.raises(secret_errors.SecretFileNotFound):
        await one.resolve("file:later")
    (repo.root / "later").write_text("now")

    assert await one.resolve("file:later") == Secret("now")


@pytest.mark.parametrize(
    ("reference", "kind", "what"),
    [
        ("env:NOTHING", secret_errors.SecretNotFound, "not set"),
        ("env:EMPTY", secret_errors.SecretEmpty, "empty"),
        ("file:none", secret_errors.SecretFileNotFound, "no such file"),
        ("file:blank", secret_errors.SecretEmpty, "empty"),
        ("file:pipe", secret_errors.SecretUnreadable, "no regular file"),
        ("file:directory", secret_errors.SecretUnreadable, "no regular file"),
        ("file:link", errors.Refused, "leads out of the repo"),
        ("sops:link.sops.yaml#a", errors.Refused, "leads out of the repo"),
        ("sops:none.sops.yaml#a", secret_errors.SecretFileNotFound, "no such file"),
        ("sops:a.sops.yaml#nothing", secret_errors.SecretNotFound, "no such key"),
        ("sops:a.sops.yaml#deep", secret_errors.SecretUnreadable, "mapping or a list"),
        ("sops:a.sops.yaml#null", secret_errors.SecretEmpty, "empty"),
        ("sops:b.sops.yaml#data.wrong", secret_errors.SecretUnreadable, "base64"),
        ("sops:d.key#a", secret_errors.SecretNotFound, "has no keys"),
        ("op://a/b/c", errors.ToolError, "op is needed"),
        ("vault:secret/a#b", secret_errors.SecretStoreNotSignedIn, "VAULT_ADDR"),
        ("nonsense", errors.UsageError, "no reference"),
    ],
)
async def test_what_cannot_be_resolved(
    awkward: EncryptedRepo, reference: str, kind: type[Exception], what: str
) -> None:
    with pytest.raises(kind, match=what):
        await resolver(awkward, EMPTY="").resolve(reference)
