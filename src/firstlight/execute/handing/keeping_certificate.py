"""Where a certificate is kept: compressed in ConfigMaps of kube-system, and beside the journal as JSON and as a page.

Only a complete one is kept under its name. One that is not complete is a file of another name, to be read by people.
"""

import contextlib
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import stowing
from firstlight.model.certificate import Certificate
from firstlight.ownership import sealing
from firstlight.report import certificate_page

NAMESPACE, NAME = stowing.NAMESPACE, "firstlight-certificate"
FILE, PAGE = "certificate.json", "certificate.html"
INCOMPLETE, INCOMPLETE_PAGE = "certificate.incomplete.json", "certificate.incomplete.html"
PROVISIONAL, PROVISIONAL_PAGE = "certificate.provisional.json", "certificate.provisional.html"


async def load(client: "kube.Client", *, uid: str) -> Certificate | None:
    """The certificate of this cluster, sealed and complete; None if there is none, or what is there is not that.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = await stowing.read(client, NAME)
    if found is None or not found.is_whole or found.cluster != uid:
        return None
    try:
        certificate = decoded(found.content())
    except ValueError:
        return None
    is_fine = sealing.is_sealed(certificate) and certificate.is_complete and certificate.uid == uid
    return certificate if is_fine else None


def copy_of(directory: Path, *, uid: str) -> Certificate | None:
    """The certificate of a cluster out of its file, sealed and complete; None if the file has none of this cluster.

    Args:
        directory: Of the cluster, beside the journal.
        uid: Of its kube-system.
    """
    try:
        found = read(directory / FILE)
    except errors.ConfigError:
        return None
    return found if sealing.is_sealed(found) and found.is_complete and found.uid == uid else None


async def keep(certificate: Certificate, client: "kube.Client", directory: Path) -> None:
    """Keep a complete certificate: in files first, then in the cluster; one that was incomplete is forgotten.

    Args:
        certificate: Sealed.
        client: The API.
        directory: Of the cluster, beside the journal.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    assert certificate.is_complete, "only a complete one is kept"
    content = encoded(certificate)
    _write(certificate, content, directory / FILE, directory / PAGE)
    await stowing.store(content, client, name=NAME, cluster=certificate.uid)
    for name in (INCOMPLETE, INCOMPLETE_PAGE):
        stowing.remove(directory / name)


def keep_copy(certificate: Certificate, directory: Path) -> Path:
    """The file of what the cluster has, written anew if it is another one; where.

    Args:
        certificate: As the cluster has it.
        directory: Of the cluster, beside the journal.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path, content = directory / FILE, encoded(certificate)
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return path
    _write(certificate, content, path, directory / PAGE)
    return path


def keep_incomplete(certificate: Certificate, directory: Path) -> Path:
    """Keep what was found in a file of another name, to be read by people; where.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path = directory / INCOMPLETE
    _write(certificate, encoded(certificate), path, directory / INCOMPLETE_PAGE)
    return path


def keep_provisional(certificate: Certificate, directory: Path) -> Path:
    """Keep one that was made before the release in a file of its own, complete or not; where.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    path = directory / PROVISIONAL
    _write(certificate, encoded(certificate), path, directory / PROVISIONAL_PAGE)
    return path


def read(path: Path) -> Certificate:
    """A certificate out of a file.

    Raises:
        errors.ConfigError: It is none.
    """
    try:
        return decoded(path.read_bytes())
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror or error}", path=str(path)) from error
    except ValueError as error:
        raise errors.ConfigError(
            f"this is no certificate: {error}", path=str(path),
            hint=f"Give the file that firstlight wrote: .firstlight/CLUSTER/{FILE}",
        ) from error  # fmt: skip


def encoded(certificate: Certificate) -> bytes:
    """A certificate as JSON, for people and programs."""
    return msgspec.json.format(msgspec.json.encode(certificate), indent=1) + b"\n"


def decoded(content: bytes) -> Certificate:
    """A certificate out of JSON.

    Raises:
        ValueError: It is none.
    """
    return msgspec.json.decode(content, type=Certificate)


def _write(certificate: Certificate, content: bytes, path: Path, page: Path) -> None:
    try:
        stowing.write(certificate_page.page(certificate).encode(), page)
        stowing.write(content, path)
    except OSError as error:
        raise errors.FirstlightError(
            f"{path} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error
