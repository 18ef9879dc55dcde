"""Signatures with the user's SSH key, by ``ssh-keygen -Y``: the same that Git makes of commits.

A key that is in an agent is used from there. A passphrase is asked by ssh itself, on the terminal or by its askpass
program, and never passes through here.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, program_path, scratch
from firstlight.clients.sandbox import program_limits

NAMESPACE = "firstlight-handover"
"""What a signature is for; one that was made for something else does not count."""
PROGRAM = "ssh-keygen"
_TIMEOUT = 300.0
"""Seconds: somebody may have to type a passphrase, or touch a token."""
_PIPE = asyncio.subprocess.PIPE
_KEY = re.compile(r"key (?P<key>SHA256:[A-Za-z0-9+/=]+)")
_HINT = "OpenSSH 8.2 or newer is needed for signatures."


async def sign(
    message: bytes, key: Path, *, namespace: str = NAMESPACE, environ: Mapping[str, str] = os.environ
) -> str:  # fmt: skip
    """The signature of a message, as armoured text.

    Args:
        message: What is signed.
        key: A private key, or the public one of a key that an agent has.
        namespace: What the signature is for.
        environ: Where ssh finds its agent and its askpass program.

    Raises:
        errors.ClientError: The key cannot be used.
    """
    if not key.is_file():
        raise errors.ClientError(f"there is no SSH key {key}", target=PROGRAM, hint="Give the path of your key.")
    # Not by clients.command, which takes the terminal away: that is where a passphrase is asked for.
    try:
        process = await asyncio.create_subprocess_exec(
            PROGRAM, "-Y", "sign", "-q", "-n", namespace, "-f", str(key), env=program_path.environment(environ),
            stdin=_PIPE, stdout=_PIPE, stderr=_PIPE,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise errors.Unreachable(f"there is no program {PROGRAM}", target=PROGRAM, hint=_HINT) from error
    try:
        async with asyncio.timeout(_TIMEOUT):
            signature, said = await process.communicate(message)
    except TimeoutError as error:
        raise errors.TimedOut(f"{PROGRAM} did not sign within {_TIMEOUT:g} s", target=PROGRAM) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        told = " ".join(said.decode(errors="replace").split())[-300:]
        raise errors.ClientError(f"{key} did not sign: {told}", target=PROGRAM, hint=_HINT)
    return signature.decode()


async def fingerprint(key: Path) -> str:
    """The fingerprint of a key, as ``verify`` names it; no passphrase is asked for. Empty where it cannot be told.

    Args:
        key: A private key, or a public one.

    Raises:
        errors.ClientError: There is no such key.
    """
    if not key.is_file():
        raise errors.ClientError(f"there is no SSH key {key}", target=PROGRAM, hint="Give the path of your key.")
    try:
        done = await command.run([PROGRAM, "-l", "-E", "sha256", "-f", str(key)], within=program_limits.READER)
    except errors.CommandFailed:
        return ""
    found = re.search(r"SHA256:[A-Za-z0-9+/=]+", done.stdout.decode(errors="replace"))
    return found[0] if found else ""


async def verify(
    message: bytes, signature: str, *, signers: Path | None = None, identity: str = "", namespace: str = NAMESPACE
) -> str:  # fmt: skip
    """Who signed a message, for people; without known signers only that the signature is good, and by which key.

    Args:
        message: What is said to be signed.
        signature: Armoured.
        signers: A file of allowed signers, as Git's ``gpg.ssh.allowedSignersFile``.
        identity: Who it must be; anybody of the signers if it is not given.
        namespace: What it must have been signed for.

    Raises:
        errors.ClientError: It is not the signature of that message, or of nobody who is known.
    """
    with scratch.directory("signature") as home:
        file = home / "signature"
        file.write_text(signature)
        if signers is None:
            done = await _run("check-novalidate", "-n", namespace, "-s", str(file), message=message)
            found = _KEY.search(done)
            return found["key"] if found else "an unknown key"
        if not signers.is_file():
            raise errors.ClientError(f"there is no file {signers} of allowed signers", target=PROGRAM)
        if not identity:
            found_all = await _run("find-principals", "-f", str(signers), "-s", str(file), message=message)
            identity = next(iter(found_all.split("\n")), "").partition(",")[0].strip()
        await _run(
            "verify", "-n", namespace, "-f", str(signers), "-I", identity, "-s", str(file), message=message
        )  # fmt: skip
        return identity


async def _run(order: str, *arguments: str, message: bytes) -> str:
    try:
        done = await command.run([PROGRAM, "-Y", order, *arguments], stdin=message, within=program_limits.FREE)
    except errors.CommandFailed as error:
        told = " ".join(error.stderr.split())[-200:] or "no reason is given"
        raise errors.ClientError(
            f"the signature is not good: {told}", target=PROGRAM,
            hint="Is it the certificate that was signed, and is the signer among those who are allowed?",
        ) from error  # fmt: skip
    return done.stdout.decode(errors="replace")
