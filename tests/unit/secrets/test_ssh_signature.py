"""Signatures in OpenSSH's format; that ssh-keygen agrees is seen in the integration tests of backups."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from firstlight.secrets import ssh_signature

KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
MESSAGE = b"a manifest"
GOOD = ssh_signature.sign(MESSAGE, KEY, namespace="a")


def test_a_good_one_names_its_key() -> None:
    found = ssh_signature.parse(GOOD)

    ssh_signature.check(MESSAGE, found, namespace="a")
    assert found.fingerprint == ssh_signature.fingerprint(ssh_signature.public(KEY))


@pytest.mark.parametrize(("message", "namespace"), [(b"another", "a"), (MESSAGE, "b")])
def test_of_something_else(message: bytes, namespace: str) -> None:
    with pytest.raises(ssh_signature.BadSignature):
        ssh_signature.check(message, ssh_signature.parse(GOOD), namespace=namespace)


def test_every_bit_of_it_counts() -> None:
    blob = base64.b64decode("".join(GOOD.splitlines()[1:-1]))
    for at in range(len(blob)):
        broken = bytearray(blob)
        broken[at] ^= 1
        text = f"-----BEGIN SSH SIGNATURE-----\n{base64.b64encode(broken).decode()}\n-----END SSH SIGNATURE-----\n"
        with pytest.raises(ssh_signature.BadSignature):
            ssh_signature.check(MESSAGE, ssh_signature.parse(text), namespace="a")


@pytest.mark.parametrize("length", [0, 5, 12, 60, 120])
def test_half_of_one_is_none(length: int) -> None:
    blob = base64.b64decode("".join(GOOD.splitlines()[1:-1]))[:length]
    text = f"-----BEGIN SSH SIGNATURE-----\n{base64.b64encode(blob).decode()}\n-----END SSH SIGNATURE-----\n"
    with pytest.raises(ssh_signature.BadSignature):
        ssh_signature.parse(text)


@pytest.mark.parametrize("text", ["", "yes", GOOD + "more", GOOD[:-40], "x" * 100_000])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ssh_signature.BadSignature):
        ssh_signature.parse(text)
