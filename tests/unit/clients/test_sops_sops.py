"""Which command lines are made, and what sops gets to see."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.sops import SopsClient
from firstlight.model.secret import Secret
from tests.unit.clients.recorder import Recorder

CANARY = "s3cr3t-canary"
ENVIRON = {
    "HOME": "/home/ada", "PATH": "/bin", "SOPS_AGE_KEY": f"AGE-{CANARY}", "AWS_PROFILE": "home", "OTHER": "x",
    "VAULT_TOKEN": CANARY, "VAULT_ADDR": "https://vault.example.org/", "SOPS_KEYSERVICE": "tcp://evil",
}  # fmt: skip
AGE = {"HOME": "HOME", "PATH": "/bin", "SOPS_AGE_KEY": f"AGE-{CANARY}", "LC_ALL": "C"}


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "sops")


def encrypted(path: Path, keys: str = "age: [{recipient: age1me}]") -> Path:
    path.write_text(f"a: ENC[x]\nsops: {{mac: x, {keys}}}\n")
    return path


async def test_decrypting_shows_only_what_the_file_needs(program: Recorder, tmp_path: Path) -> None:
    program.says("a: value\n")
    client = SopsClient(program.path, environ=ENVIRON)

    value = await client.decrypt(encrypted(tmp_path / "-a.yaml"))

    assert value == Secret("a: value\n")
    assert program.argv == ["decrypt", f"{tmp_path}/-a.yaml"]
    assert program.env == AGE


async def test_a_cloud_and_a_vault_of_the_users_own_are_asked(program: Recorder, tmp_path: Path) -> None:
    client = SopsClient(program.path, environ=ENVIRON)
    keys = "kms: [{arn: x}], hc_vault: [{vault_address: 'https://vault.example.org'}]"

    await client.decrypt(encrypted(tmp_path / "a.yaml", keys), as_json=True)

    assert program.argv[:2] == ["decrypt", "--output-type=json"]
    assert program.env == {
        **AGE, "AWS_PROFILE": "home", "VAULT_TOKEN": CANARY, "VAULT_ADDR": "https://vault.example.org/"
    }  # fmt: skip


async def test_a_file_does_not_lead_the_token_elsewhere(program: Recorder, tmp_path: Path) -> None:
    keys = "age: [{recipient: age1me}], key_groups: [{hc_vault: [{vault_address: 'https://evil.example.org'}]}]"

    with pytest.raises(errors.Refused, match="a Vault that is not yours"):
        await SopsClient(program.path, environ=ENVIRON).decrypt(encrypted(tmp_path / "a.yaml", keys))

    assert program.calls == []


async def test_encrypting_sends_the_content_by_stdin_and_shows_no_key(program: Recorder, tmp_path: Path) -> None:
    program.says("encrypted")
    client = SopsClient(program.path, environ=ENVIRON)

    done = await client.encrypt(Secret(CANARY), tmp_path / "a.yaml", config=tmp_path / ".sops.yaml")

    assert done == b"encrypted"
    assert program.argv == [
        f"--config={tmp_path}/.sops.yaml", "encrypt", f"--filename-override={tmp_path}/a.yaml", "/dev/stdin",
    ]  # fmt: skip
    assert program.calls[-1]["stdin"] == CANARY
    assert program.env == {"PATH": "/bin", "GNUPGHOME": "/home/ada/.gnupg", "LC_ALL": "C"}
    assert CANARY not in "".join(program.calls[-1]["proc"])


@pytest.mark.parametrize(
    ("said", "code", "kind", "hint"),
    [
        ("failed to open SOPS_AGE_KEY_FILE file", 128, secret_errors.SecretUndecryptable, "cannot be opened"),
        ("failed to parse 'SOPS_AGE_KEY'\n | age identities", 128, secret_errors.SecretUndecryptable, "is no age key"),
        ("identity did not match", 128, secret_errors.SecretUndecryptable, "SOPS_AGE_KEY holds another key"),
        ("MAC mismatch", 51, secret_errors.SecretDamaged, "Git"),
        ("Could not decrypt with AES_GCM", 25, secret_errors.SecretDamaged, "Git"),
        ("who knows", 1, secret_errors.SecretUnreadable, "sops decrypt"),
    ],
)
async def test_failures_have_a_meaning_a_hint_and_no_value(
    program: Recorder, tmp_path: Path, said: str, code: int, kind: type[secret_errors.SecretError], hint: str
) -> None:
    program.says(CANARY, f"{CANARY}: {said} {CANARY}", code=code)

    with pytest.raises(kind) as caught:
        await SopsClient(program.path, environ=ENVIRON).decrypt(encrypted(tmp_path / "a.yaml"), about="sops:a.yaml")

    assert caught.value.message.startswith("sops:a.yaml: ")
    assert hint in caught.value.hint
    assert CANARY not in f"{caught.value!r}{caught.value.hint}{caught.value.__cause__!r}"


async def test_whom_it_is_encrypted_for_is_said(program: Recorder, tmp_path: Path) -> None:
    program.says(code=128)

    with pytest.raises(secret_errors.SecretUndecryptable, match="encrypted for age1me") as caught:
        await SopsClient(program.path, environ={}).decrypt(encrypted(tmp_path / "a.yaml"))

    assert "SOPS_AGE_KEY_FILE" in caught.value.hint


async def test_what_needs_no_program_does_not_run_it(program: Recorder, tmp_path: Path) -> None:
    client = SopsClient(program.path, environ=ENVIRON)
    (tmp_path / "plain.yaml").write_text(f"a: {CANARY}\n")
    (tmp_path / "broken.yaml").write_text(f"a: [{CANARY}\n")
    (tmp_path / "large.yaml").write_bytes(b"a" * (9 << 20))

    for name, kind in (
        ("none.yaml", secret_errors.SecretFileNotFound),
        ("plain.yaml", secret_errors.SecretNotEncrypted),
        ("broken.yaml", secret_errors.SecretUnreadable),
        ("large.yaml", secret_errors.SecretUnreadable),
        ("plain.yaml/x.yaml", secret_errors.SecretFileNotFound),
    ):
        with pytest.raises(kind) as caught:
            await client.decrypt(tmp_path / name)
        assert CANARY not in str(caught.value)

    assert program.calls == []


async def test_a_missing_program_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolError) as caught:
        await SopsClient(tmp_path / "none").decrypt(encrypted(tmp_path / "a.yaml"))

    assert caught.value.hint == "firstlight tools install sops"
