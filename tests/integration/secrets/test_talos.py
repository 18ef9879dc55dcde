"""Talos secrets: found, read, and kept so that only those read them who shall."""

import asyncio
import textwrap
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command, secret_errors, sops
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, talos_bundle
from firstlight.secrets.dummies import Dummies
from firstlight.secrets.secret_resolver import SecretResolver
from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import BUNDLE, MINE, THEIRS, EncryptedRepo, bundle

REFERENCE = "sops:talos/infra/secrets.sops.yaml"


def resolver(repo: EncryptedRepo) -> SecretResolver:
    return SecretResolver(repo.root, sops=repo.sops, environ=repo.environ)


def sops_of(repo: EncryptedRepo) -> sops.SopsClient:
    return sops.SopsClient(repo.sops, environ=repo.environ)


async def test_what_talosctl_makes_is_kept_and_read_again(repo: EncryptedRepo) -> None:
    """Real Talos secrets; sops writes YAML its own way, so values are compared."""
    talosctl = (await install.ensure(["talosctl"]))["talosctl"]
    made = await command.run([str(talosctl), "gen", "secrets", "-o", "/dev/stdout", "--force"])
    path = repo.root / "talos" / "infra" / "secrets.sops.yaml"
    before = await talos_bundle.load(REFERENCE, resolver(repo))

    await talos_bundle.keep(path, Secret(made.stdout), sops_of(repo), root=repo.root)
    after = await talos_bundle.load(REFERENCE, resolver(repo).resolve)

    assert before is None
    assert after is not None
    assert talos_bundle._parsed(after.reveal()) == talos_bundle._parsed(made.stdout)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing else is left there"


async def test_it_is_never_written_over(repo: EncryptedRepo) -> None:
    path = repo.encrypt("talos/infra/secrets.sops.yaml", BUNDLE)
    before = path.read_bytes()

    with pytest.raises(errors.Refused, match="is there already"):
        await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    assert path.read_bytes() == before


async def test_of_two_at_once_one_is_refused(repo: EncryptedRepo) -> None:
    path = repo.root / "secrets.sops.yaml"
    other = Secret(BUNDLE.replace("abcdef.", "fedcba."))

    done = await asyncio.gather(
        *(talos_bundle.keep(path, each, sops_of(repo), root=repo.root) for each in (bundle(), other)),
        return_exceptions=True,
    )

    assert sorted(type(each).__name__ for each in done) == ["NoneType", "Refused"]
    assert await talos_bundle.load("sops:secrets.sops.yaml", resolver(repo)) is not None


@pytest.mark.parametrize(
    ("rules", "what", "hint"),
    [
        ("", "there is no .sops.yaml", "path_regex: '^talos/infra/secrets\\.sops\\.yaml$'"),
        ("creation_rules: []", "no rule of", "path_regex: '^talos/infra/secrets\\.sops\\.yaml$'"),
        ("creation_rules: [{path_regex: kubernetes/, age: AGE}]", "no rule of", f"age: '{age_keys.recipient(MINE)}'"),
        ("creation_rules: [{encrypted_regex: ^(data|stringData)$, age: AGE}]", "readable", "encrypted_regex"),
        (f"creation_rules: [{{age: {age_keys.recipient(THEIRS)}}}]", "the next run could not read it", "SOPS_AGE_KEY"),
    ],
    ids=["no file", "no rule", "another path", "left readable", "for somebody else"],
)
async def test_where_it_would_not_be_safe_nothing_is_written(
    repo: EncryptedRepo, rules: str, what: str, hint: str
) -> None:
    (repo.root / ".sops.yaml").unlink()
    if rules:
        (repo.root / ".sops.yaml").write_text(rules.replace("AGE", age_keys.recipient(b"\x07" * 32)))
    path = repo.root / "talos" / "infra" / "secrets.sops.yaml"

    with pytest.raises(errors.Refused, match=what) as caught:
        await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    assert hint in caught.value.hint
    assert not path.parent.exists()
    assert "canary" not in f"{caught.value!r}{caught.value.hint}"


@pytest.mark.parametrize("columns", [200, 40], ids=["on one line", "folded"])
async def test_the_command_that_is_proposed_can_be_pasted(repo: EncryptedRepo, columns: int) -> None:
    path = repo.root / "talos" / "infra" / "secrets.sops.yaml"
    (repo.root / ".sops.yaml").unlink()
    with pytest.raises(errors.Refused) as caught:
        await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    typed = textwrap.fill(
        caught.value.hint.partition(": ")[2], columns, subsequent_indent="        ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    await command.run(["sh", "-c", typed], cwd=repo.root)
    await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    assert path.is_file()


async def test_the_rule_that_is_proposed_beside_others_can_be_pasted(repo: EncryptedRepo) -> None:
    path = repo.root / "talos" / "infra" / "secrets.sops.yaml"
    others = "creation_rules:\n  - {path_regex: kubernetes/, age: age1x}\n"
    (repo.root / ".sops.yaml").write_text(others)
    with pytest.raises(errors.Refused) as caught:
        await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    rule = caught.value.hint.partition("the others: ")[2]
    (repo.root / ".sops.yaml").write_text(others.replace("  - {", f"  {rule}\n  - {{"))
    await talos_bundle.keep(path, bundle(), sops_of(repo), root=repo.root)

    assert path.is_file()


async def test_a_place_that_cannot_be_written_is_said(repo: EncryptedRepo) -> None:
    (repo.root / "talos").write_text("a file")

    with pytest.raises(errors.ClientError, match="cannot be written"):
        await talos_bundle.keep(repo.root / "talos" / "secrets.sops.yaml", bundle(), sops_of(repo), root=repo.root)
    with pytest.raises(errors.Refused, match="out of the repo"):
        await talos_bundle.keep(repo.root / ".." / "secrets.sops.yaml", bundle(), sops_of(repo), root=repo.root)


async def test_what_is_there_and_cannot_be_had_is_no_reason_to_make_others(repo: EncryptedRepo) -> None:
    repo.encrypt("talos/infra/secrets.sops.yaml", BUNDLE)
    repo.encrypt("other.sops.yaml", "a: b\n")
    repo.encrypt("half.sops.yaml", BUNDLE.partition("trustdinfo")[0])
    stranger = SecretResolver(repo.root, sops=repo.sops, environ=repo.stranger)

    with pytest.raises(secret_errors.SecretUndecryptable):
        await talos_bundle.load(REFERENCE, stranger)
    with pytest.raises(secret_errors.SecretFileNotFound):
        await talos_bundle.load("file:none.yaml", stranger)
    with pytest.raises(errors.ConfigError, match="no Talos secrets"):
        await talos_bundle.load("sops:other.sops.yaml", resolver(repo))
    with pytest.raises(errors.ConfigError, match=r"it lacks trustdinfo.token, certs.etcd.crt"):
        await talos_bundle.load("sops:half.sops.yaml", resolver(repo))


async def test_a_rehearsal_makes_its_own(repo: EncryptedRepo) -> None:
    repo.encrypt("talos/infra/secrets.sops.yaml", BUNDLE)

    assert await talos_bundle.load(REFERENCE, Dummies(repo.root)) is None
    assert await talos_bundle.load(REFERENCE, Dummies(repo.root).resolve) is None


@pytest.mark.parametrize(
    ("there", "machines", "expected"),
    [
        ([], "", "sops:infra.secrets.sops.yaml"),
        (["talos/x"], "", "sops:talos/infra/secrets.sops.yaml"),
        (["talos/infra/talconfig.yaml"], "talos/infra/talconfig.yaml", "sops:talos/infra/talsecret.sops.yaml"),
        (["t/talconfig.yaml", "t/talsecret.sops.yaml"], "t/talconfig.yaml", "sops:t/talsecret.sops.yaml"),
        (["t/talconfig.yaml", "t/talsecret.yaml"], "t/talconfig.yaml", "file:t/talsecret.yaml"),
        (["talos/x", "t/m.yaml", "t/secrets.sops.yaml"], "t/m.yaml", "sops:t/secrets.sops.yaml"),
        (["t/m.yaml"], "t/m.yaml", "sops:t/infra.secrets.sops.yaml"),
        (["firstlight.yaml"], "firstlight.yaml", "sops:infra.secrets.sops.yaml"),
        (["t/m.yaml"], "t", "sops:t/infra.secrets.sops.yaml"),
        (["talos/x", "t/m.yaml", "t/infra.secrets.sops.yaml"], "t/m.yaml", "sops:t/infra.secrets.sops.yaml"),
        (["talos/x", "infra.secrets.sops.yaml"], "t/m.yaml", "sops:infra.secrets.sops.yaml"),
    ],
)
def test_where_they_usually_are(tmp_path: Path, there: list[str], machines: str, expected: str) -> None:
    for each in there:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()

    assert talos_bundle.usual(tmp_path, "infra", machines=machines) == expected
