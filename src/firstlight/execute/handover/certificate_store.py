"""Where a certificate is kept: compressed in ConfigMaps of kube-system, and beside the journal as JSON and as a page.

Only a complete one is kept under its name. One that is not complete is a file of another name, to be read by people.
"""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import kube, ssh_keygen
from firstlight.drawing import certificate_page
from firstlight.execute import durable_store
from firstlight.journal import state_files
from firstlight.model.certificate import Certificate
from firstlight.ownership import certificate_seal

NAMESPACE, NAME = durable_store.NAMESPACE, "firstlight-certificate"
FILE, PAGE = "certificate.json", "certificate.html"
INCOMPLETE, INCOMPLETE_PAGE = "certificate.incomplete.json", "certificate.incomplete.html"
PROVISIONAL, PROVISIONAL_PAGE = "certificate.provisional.json", "certificate.provisional.html"


@dataclasses.dataclass(frozen=True, slots=True)
class StoredCertificate:
    """A certificate that was read, with the JSON that it was read from: that is what is sealed."""

    certificate: Certificate
    content: bytes = dataclasses.field(repr=False)

    @property
    def is_sealed(self) -> bool:
        """Whether it is as it was when it was sealed."""
        return certificate_seal.is_sealed(self.certificate, self.content)

    def is_good(self, uid: str) -> bool:
        """Whether it is a sealed and complete one of a cluster."""
        return self.is_sealed and self.certificate.is_complete and self.certificate.uid == uid

    def signed(self, signature: str) -> StoredCertificate:
        """The same with a signature, and with everything else as it is."""
        value = {**certificate_seal.parse_certificate(self.content), "signature": signature}
        return StoredCertificate(
            dataclasses.replace(self.certificate, signature=signature), _formatted(msgspec.json.encode(value))
        )


async def load(client: kube.Client, *, uid: str) -> Certificate | None:
    """The certificate of this cluster, sealed and complete; None if there is none, or what is there is not that.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = await load_kept(client, uid=uid)
    return found.certificate if found is not None else None


async def load_kept(client: kube.Client, *, uid: str) -> StoredCertificate | None:
    """The same with the JSON that the cluster has.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = await durable_store.read(client, NAME)
    if found is None or not found.is_whole or found.cluster != uid:
        return None
    try:
        content = found.content()
        kept = StoredCertificate(decoded(content), content)
    except ValueError:
        return None
    return kept if kept.is_good(uid) else None


def copy_of(directory: Path, *, uid: str) -> StoredCertificate | None:
    """The certificate of a cluster out of its file, sealed and complete; None if the file has none of this cluster.

    Args:
        directory: Of the cluster, beside the journal.
        uid: Of its kube-system.
    """
    try:
        found = read(directory / FILE)
    except errors.ConfigError:
        return None
    return found if found.is_good(uid) else None


def made(certificate: Certificate) -> StoredCertificate:
    """A certificate that was just made."""
    return StoredCertificate(certificate, encoded(certificate))


async def keep(kept: StoredCertificate, client: kube.Client, directory: Path) -> None:
    """Keep a complete certificate: in files first, then in the cluster; one that was incomplete is forgotten.

    Args:
        kept: Sealed.
        client: The API.
        directory: Of the cluster, beside the journal.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    assert kept.certificate.is_complete, "only a complete one is kept"
    _write(kept, directory / FILE, directory / PAGE)
    await durable_store.store(kept.content, client, name=NAME, cluster=kept.certificate.uid)
    for name in (INCOMPLETE, INCOMPLETE_PAGE):
        durable_store.remove(directory / name)


def keep_copy(kept: StoredCertificate, directory: Path) -> Path:
    """The file of what the cluster has, written anew if it is another one; where.

    Args:
        kept: As the cluster has it.
        directory: Of the cluster, beside the journal.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path = directory / FILE
    with contextlib.suppress(OSError):
        if state_files.read(path) == kept.content:
            return path
    _write(kept, path, directory / PAGE)
    return path


def keep_incomplete(certificate: Certificate, directory: Path) -> Path:
    """Keep what was found in a file of another name, to be read by people; where.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path = directory / INCOMPLETE
    _write(made(certificate), path, directory / INCOMPLETE_PAGE)
    return path


def keep_provisional(certificate: Certificate, directory: Path) -> Path:
    """Keep one that was made before the release in a file of its own, complete or not; where.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path = directory / PROVISIONAL
    _write(made(certificate), path, directory / PROVISIONAL_PAGE)
    return path


def read(path: Path) -> StoredCertificate:
    """A certificate out of a file; whether it is sealed is not looked at.

    Raises:
        errors.ConfigError: It is none.
    """
    try:
        content = state_files.read(path) if state_files.is_kept(path) else path.read_bytes()
        return StoredCertificate(decoded(content), content)
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror or error}", path=str(path)) from error
    except ValueError as error:
        raise errors.ConfigError(
            f"this is no certificate: {error}", path=str(path),
            hint=f"Give the file that firstlight wrote: .firstlight/CLUSTER/{FILE}",
        ) from error  # fmt: skip


def encoded(certificate: Certificate) -> bytes:
    """A certificate as JSON, for people and programs."""
    return _formatted(msgspec.json.encode(certificate))


def decoded(content: bytes) -> Certificate:
    """A certificate out of JSON.

    Raises:
        ValueError: It is none, or programs read it in different ways.
    """
    found = msgspec.json.decode(content, type=Certificate)
    certificate_seal.parse_certificate(content)
    return found


def _formatted(content: bytes) -> bytes:
    return msgspec.json.format(content, indent=1) + b"\n"


def _write(kept: StoredCertificate, path: Path, page: Path) -> None:
    try:
        durable_store.write_beside_journal(certificate_page.page(kept.certificate).encode(), page)
        durable_store.write_beside_journal(kept.content, path)
    except OSError as error:
        raise errors.FirstlightError(
            f"{path} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error


# A certificate signed with the user's SSH key, and its signature checked.


async def sign(certificate: Certificate, key: Path) -> Certificate:
    """A sealed certificate with a signature of its seal.

    Raises:
        errors.ClientError: The key cannot be used.
    """
    return dataclasses.replace(
        certificate, signature=await ssh_keygen.sign(certificate_seal.signed_message(certificate), key)
    )


async def is_signed_by(certificate: Certificate, key: Path) -> bool:
    """Whether it was this very key that signed a certificate, as far as can be told without using it.

    Raises:
        errors.ClientError: There is no such key, or no program.
    """
    if not certificate.signature:
        return False
    try:
        signed = await ssh_keygen.verify(certificate_seal.signed_message(certificate), certificate.signature)
    except errors.Unreachable:
        raise
    except errors.ClientError:
        return False
    return signed == await ssh_keygen.fingerprint(key)


async def check_signature(certificate: Certificate, *, signers: Path | None = None) -> str:
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
    return await ssh_keygen.verify(certificate_seal.signed_message(certificate), certificate.signature, signers=signers)
