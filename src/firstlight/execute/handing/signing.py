"""A certificate signed with the user's SSH key, and its signature checked."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.clients import ssh_keygen
from firstlight.model.certificate import Certificate
from firstlight.ownership import sealing


async def sign(certificate: Certificate, key: Path) -> Certificate:
    """A sealed certificate with a signature of its seal.

    Raises:
        errors.ClientError: The key cannot be used.
    """
    return dataclasses.replace(certificate, signature=await ssh_keygen.sign(sealing.message(certificate), key))


async def is_by(certificate: Certificate, key: Path) -> bool:
    """Whether it was this very key that signed a certificate, as far as can be told without using it.

    Raises:
        errors.ClientError: There is no such key, or no program.
    """
    if not certificate.signature:
        return False
    try:
        signed = await ssh_keygen.verify(sealing.message(certificate), certificate.signature)
    except errors.Unreachable:
        raise
    except errors.ClientError:
        return False
    return signed == await ssh_keygen.fingerprint(key)


async def check(certificate: Certificate, *, signers: Path | None = None) -> str:
    """Who signed a certificate, for people; empty for one that nobody signed.

    Args:
        certificate: Sealed.
        signers: A file of allowed signers; without one only the key is told.

    Raises:
        errors.ClientError: The signature is not of this certificate, or of nobody who is allowed.
    """
    if not certificate.signature:
        if signers is not None:
            raise errors.ClientError("the certificate is not signed", hint="firstlight handover --sign KEY")
        return ""
    return await ssh_keygen.verify(sealing.message(certificate), certificate.signature, signers=signers)
