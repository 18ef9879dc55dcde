"""Signatures by the real ssh-keygen: of this message, for this purpose, by somebody who is known."""

import asyncio
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command, ssh_keygen

MESSAGE = b"4f2c\n"


async def key(directory: Path, name: str = "key", *, passphrase: str = "") -> Path:
    """A new key."""
    path = directory / name
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", f"{name}@example.org", "-f", str(path)]
    await command.run(argv)
    return path


def signers(directory: Path, *keys: Path) -> Path:
    """A file of allowed signers."""
    path = directory / "signers"
    path.write_text("".join(f"{each.name}@example.org {each.with_suffix('.pub').read_text()}" for each in keys))
    return path


async def test_a_good_one(tmp_path: Path) -> None:
    one, other = await key(tmp_path), await key(tmp_path, "other")
    signature = await ssh_keygen.sign(MESSAGE, one)

    assert await ssh_keygen.verify(MESSAGE, signature, signers=signers(tmp_path, other, one)) == "key@example.org"
    assert (await ssh_keygen.verify(MESSAGE, signature)).startswith("SHA256:")


async def test_of_another_message_or_somebody_else_or_damaged(tmp_path: Path) -> None:
    one, other = await key(tmp_path), await key(tmp_path, "other")
    signature = await ssh_keygen.sign(MESSAGE, one)

    for message, given, known in (
        (b"4f2d\n", signature, None),
        (b"4f2d\n", signature, signers(tmp_path, one)),
        (MESSAGE, signature.replace("A", "B"), None),
        (MESSAGE, "no signature", None),
    ):
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await ssh_keygen.verify(message, given, signers=known)
    with pytest.raises(errors.ClientError, match="the signature is not good"):
        await ssh_keygen.verify(MESSAGE, signature, signers=signers(tmp_path, other))


async def test_for_another_purpose(tmp_path: Path) -> None:
    one = await key(tmp_path)
    done = await command.run(["ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", str(one)], stdin=MESSAGE)

    with pytest.raises(errors.ClientError, match="the signature is not good"):
        await ssh_keygen.verify(MESSAGE, done.stdout.decode())


async def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.ClientError, match="there is no SSH key"):
        await ssh_keygen.sign(MESSAGE, tmp_path / "none")


async def test_a_passphrase_is_asked_by_ssh_itself(tmp_path: Path) -> None:
    one = await key(tmp_path, passphrase="open sesame")
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho 'open sesame'\n")
    ask.chmod(0o700)
    environ = {"PATH": "/usr/bin:/bin", "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}

    signature = await ssh_keygen.sign(MESSAGE, one, environ=environ)

    assert await ssh_keygen.verify(MESSAGE, signature)
    ask.write_text("#!/bin/sh\necho wrong\n")
    with pytest.raises(errors.ClientError, match="did not sign"):
        async with asyncio.timeout(20):
            await ssh_keygen.sign(MESSAGE, one, environ=environ)
