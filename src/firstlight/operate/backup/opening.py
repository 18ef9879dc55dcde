"""The parts of a backup, decrypted into a private place; and a snapshot of etcd from wherever it was kept."""

import gzip
import hashlib
import shutil
from pathlib import Path

from firstlight import errors
from firstlight.clients.sops import Sops
from firstlight.model.backup import Kept, Part

_SEALED, _PACKED = ".sops", ".gz"


def check_digest(one: Kept, part: Part) -> None:
    """See that a part is the file that was written.

    Raises:
        errors.FirstlightError: It is not there, or another one.
    """
    path = Path(one.path) / part.file
    try:
        if path.is_symlink():
            raise errors.FirstlightError(f"{part.file} is a link")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise errors.FirstlightError(f"{part.file} cannot be read: {error.strerror}") from error
    if digest != part.sha256:
        raise errors.FirstlightError(f"{part.file} is not what was written: it was changed since, or is damaged")


async def opened(path: Path, into: Path, *, sops: Path | None) -> None:
    """Decrypt and unpack a file by what its name says: ``.gz``, ``.sops``, both or neither.

    Args:
        path: The file.
        into: A file in a private place.
        sops: The program; None where it is not there.

    Raises:
        secret_errors.SecretError: It cannot be decrypted.
        errors.FirstlightError: It cannot be unpacked.
    """
    name = path.name
    try:
        if name.endswith(_SEALED):
            if sops is None:
                raise errors.ToolError(f"{path} is encrypted", hint="firstlight tools install sops")
            await Sops(sops).decrypt_into(path, into)
            name = name.removesuffix(_SEALED)
        else:
            shutil.copyfile(path, into)
            into.chmod(0o600)
        if name.endswith(_PACKED):
            packed = into.rename(into.with_name(f"{into.name}{_PACKED}"))
            with gzip.open(packed) as source, into.open("wb") as target:
                into.chmod(0o600)
                shutil.copyfileobj(source, target)
            packed.unlink()
    except (OSError, EOFError) as error:
        raise errors.FirstlightError(f"{path} cannot be unpacked: {error}") from error
