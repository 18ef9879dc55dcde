"""Read a file of the user's configuration that firstlight trusts: only its owner may write it."""

import os
import stat
from pathlib import Path

from firstlight import errors


def read(path: Path, *, what: str, most: int = -1) -> bytes | None:
    """Return the content of a file that nobody else can have written; None if it does not exist.

    Args:
        path: The file.
        what: What others could have put there, for the message: "the signers in it".
        most: Bytes that are read at most; all of them by default.

    Raises:
        errors.ConfigError: It cannot be read, belongs to somebody else, or others can write it.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
                raise errors.ConfigError(
                    f"others can write it, so {what} may not be yours", path=str(path),
                    hint=f"Look at it, then: chmod 600 {path}",
                )  # fmt: skip
            return file.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror}", path=str(path)) from error
