"""Whose backups the user accepts besides their own: fingerprints in the user's configuration, never in a repo.

Whoever may commit to a repo could add themselves to a list that it has.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors

FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_LARGEST = 1 << 20


def where(environ: Mapping[str, str] = os.environ) -> Path:
    """The file: ``firstlight/backup-signers`` in the user's configuration."""
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "firstlight" / "backup-signers"


def load(path: Path) -> frozenset[str]:
    """The fingerprints in a file, one at the start of each line; what follows it is for people.

    Raises:
        errors.ConfigError: The file cannot be read, or somebody else can write it.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
                raise errors.ConfigError(
                    "others can write it, so the signers in it may not be yours", path=str(path),
                    hint=f"Look at it, then: chmod 600 {path}",
                )  # fmt: skip
            lines = file.read(_LARGEST).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror}", path=str(path)) from error
    words = [each.split()[0] for each in lines if each.strip() and not each.startswith("#")]
    for each in words:
        if not FINGERPRINT.fullmatch(each):
            raise errors.ConfigError(f"{each[:60]!r} is not a fingerprint", path=str(path), hint="ssh-keygen -lf KEY")
    return frozenset(words)
