"""Signatures in the format of ``ssh-keygen -Y``, made and checked without it where the key is Ed25519.

A key that is derived in memory has no file that ssh-keygen could read, and must not get one. The format is OpenSSH's
PROTOCOL.sshsig, so that anybody can check such a signature by hand.
"""

import base64
import binascii
import dataclasses
import hashlib
import struct

from cryptography import exceptions
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = "ssh-ed25519"
LARGEST = 32 << 10
"""Characters of a signature; one by an RSA key of 16384 bits has 8000."""
_MAGIC = b"SSHSIG"
_VERSION = 1
_HASH = "sha512"
_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_WIDTH = 70


class BadSignature(ValueError):
    """It is not a signature, or not one of this message."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SshSignature:
    """What a signature says of itself; nothing of it is proven yet."""

    key: bytes
    """The public key, as SSH writes it."""
    kind: str
    """``ssh-ed25519``, ``ssh-rsa`` and so on."""
    namespace: str
    hash: str
    content: bytes
    """What the key made of the digest."""

    @property
    def fingerprint(self) -> str:
        """Of the key, as ``ssh-keygen -l`` prints it."""
        return fingerprint(self.key)


def fingerprint(key: bytes) -> str:
    """The fingerprint of a public key, as ``ssh-keygen -l`` prints it."""
    return f"SHA256:{base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip('=')}"


def public(key: Ed25519PrivateKey) -> bytes:
    """The public half of a key, as SSH writes it."""
    return _string(ED25519.encode()) + _string(key.public_key().public_bytes_raw())


def sign(message: bytes, key: Ed25519PrivateKey, *, namespace: str) -> str:
    """Sign a message for a purpose; the signature is armoured."""
    made = key.sign(_signed(message, namespace, _HASH))
    blob = (
        _MAGIC + struct.pack(">I", _VERSION) + _string(public(key)) + _string(namespace.encode()) + _string(b"")
        + _string(_HASH.encode()) + _string(_string(ED25519.encode()) + _string(made))
    )  # fmt: skip
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])


def parse(text: str) -> SshSignature:
    """Take an armoured signature apart.

    Raises:
        Bad: It is not one.
    """
    words = text.strip()
    if len(text) > LARGEST or not words.startswith(_BEGIN) or not words.endswith(_END):
        raise BadSignature("it is not an SSH signature")
    try:
        blob = base64.b64decode("".join(words[len(_BEGIN) : -len(_END)].split()), validate=True)
        if blob[:6] != _MAGIC or struct.unpack_from(">I", blob, 6) != (_VERSION,):
            raise BadSignature("it is not an SSH signature of version 1")
        key, namespace, _, name, content = _strings(blob[10:], 5)
        kind = _strings(key, 1, is_all=False)[0].decode()
        return SshSignature(key=key, kind=kind, namespace=namespace.decode(), hash=name.decode(), content=content)
    except (binascii.Error, struct.error, UnicodeDecodeError) as error:
        raise BadSignature("it is not a whole SSH signature") from error


def check(message: bytes, signature: SshSignature, *, namespace: str) -> None:
    """See that an Ed25519 key signed this message for this purpose.

    Raises:
        Bad: It did not.
    """
    if signature.namespace != namespace:
        raise BadSignature("it was signed for something else")
    if signature.hash not in _HASHES:
        raise BadSignature("it is of an unknown hash")
    kind, raw = _strings(signature.key, 2)
    made_by, made = _strings(signature.content, 2)
    if kind != ED25519.encode() or made_by != kind:
        raise BadSignature("it is not by an Ed25519 key")
    try:
        signed = _signed(message, namespace, signature.hash)
        Ed25519PublicKey.from_public_bytes(raw).verify(made, signed)
    except (exceptions.InvalidSignature, ValueError) as error:
        raise BadSignature("it is not a signature of this message") from error


def _signed(message: bytes, namespace: str, name: str) -> bytes:
    digest = _HASHES[name](message).digest()
    return _MAGIC + _string(namespace.encode()) + _string(b"") + _string(name.encode()) + _string(digest)


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _strings(blob: bytes, count: int, *, is_all: bool = True) -> list[bytes]:
    """So many strings of SSH; nothing may follow them, unless more is said to come."""
    found, at = [], 0
    for _ in range(count):
        if at + 4 > len(blob):
            raise BadSignature("it ends too early")
        (length,) = struct.unpack_from(">I", blob, at)
        at += 4 + length
        if at > len(blob):
            raise BadSignature("it ends too early")
        found.append(blob[at - length : at])
    if is_all and at != len(blob):
        raise BadSignature("something follows it")
    return found
