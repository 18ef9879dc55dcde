"""Which commands of which repos the user has allowed: kept in the user's own configuration, never in a repo.

A line for each: the digest, when, the repo, and the words for whoever reads the file.
"""

import dataclasses
import datetime
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.execute.command_digest import Digest


@dataclasses.dataclass(frozen=True, slots=True)
class Allowed:
    """What was allowed; nothing, if nobody says otherwise."""

    known: frozenset[tuple[str, str]] = frozenset()
    """Digests, each with the repo that it was allowed for: ``make all`` is not the same in two repos."""

    def has(self, digest: Digest, repo: Path) -> bool:
        """Whether a command may run."""
        return (digest.value, _name(repo)) in self.known


def where(environ: Mapping[str, str] = os.environ) -> Path:
    """The file: ``firstlight/allowed`` in the user's configuration."""
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "firstlight" / "allowed"


def load(path: Path) -> Allowed:
    """What was allowed so far.

    Raises:
        errors.ConfigError: The file cannot be read, or somebody else can write it.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
                raise errors.ConfigError(
                    "others can write it, so what it allows may not be yours", path=str(path),
                    hint=f"Look at it, then: chmod 600 {path}",
                )  # fmt: skip
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return Allowed()
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror}", path=str(path)) from error
    return Allowed(frozenset(_entries(text)))


def remember(path: Path, commands: Sequence[tuple[Digest, tuple[str, ...]]], *, repo: Path, now: float) -> None:
    """Allow commands from now on.

    Raises:
        errors.ConfigError: The file cannot be written.
    """
    at = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [
        "\t".join([digest.value, at, json.dumps(_name(repo)), json.dumps(words)]) + "\n" for digest, words in commands
    ]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write("".join(lines).encode())
    except OSError as error:
        raise errors.ConfigError(f"it cannot be written: {error.strerror}", path=str(path)) from error


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n")[:-1]:  # a last line without its end was torn
        parts = line.split("\t")
        if len(parts) != 4 or not parts[0].startswith("sha256:"):
            continue
        try:
            repo = json.loads(parts[2])
        except ValueError:
            continue
        if isinstance(repo, str):
            yield parts[0], repo


def _name(repo: Path) -> str:
    return os.path.realpath(repo)
