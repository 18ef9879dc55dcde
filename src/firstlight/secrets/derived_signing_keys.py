"""The keys of whoever runs this, found where sops finds them; and a key to sign with for each identity of age.

An identity of age can only decrypt. The signing key is derived from it, so that it is kept wherever the identity is
kept, and whoever can decrypt can also check what they signed themselves. It exists in memory only.
"""

import dataclasses
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from firstlight import errors
from firstlight.clients import command, path_safety, ssh_keygen
from firstlight.clients.sandbox import program_limits
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, ssh_signature

_LARGEST = 1 << 20
"""Bytes of a file of identities."""
_SSH = ("id_ed25519", "id_rsa")
_LABEL = b"firstlight backup signature, version 1"
_MAIN = "SOPS_AGE_KEY"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnKeys:
    """Private keys at hand."""

    seeds: tuple[Secret, ...] = ()
    """Of the identities of age."""
    ssh: tuple[Path, ...] = ()
    """Files of SSH keys; a passphrase may protect them."""

    async def fingerprints(self) -> frozenset[str]:
        """Of every key that could sign, as ``ssh-keygen -l`` prints them; no passphrase is asked for."""
        found = {fingerprint(each) for each in self.seeds}
        for path in self.ssh:
            try:
                found.add(await ssh_keygen.fingerprint(path))
            except errors.Unreachable:
                break  # without ssh-keygen what an SSH key signed is refused, and says why
            except errors.ClientError:
                continue
        return frozenset(each for each in found if each)


async def find_own_keys(environ: Mapping[str, str] = os.environ) -> OwnKeys:
    """The keys that sops would decrypt with; one that cannot be read is as good as missing."""
    texts = [Secret(environ[_MAIN])] if environ.get(_MAIN) else []
    texts += [content for each in _files(environ) if (content := _read(each)) is not None]
    if words := environ.get(f"{_MAIN}_CMD"):
        texts += await _asked(words, environ)
    home = environ.get("HOME", "")
    ssh = [environ.get("SOPS_AGE_SSH_PRIVATE_KEY_FILE", ""), *(f"{home}/.ssh/{each}" for each in _SSH if home)]
    return OwnKeys(
        seeds=tuple(dict.fromkeys(seed for each in texts for seed in age_keys.seeds(each))),
        ssh=tuple(dict.fromkeys(Path(each) for each in ssh if each and Path(each).is_file())),
    )


def signing_key(seed: Secret) -> Ed25519PrivateKey:
    """The key to sign with that belongs to an identity of age."""
    made = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_LABEL).derive(seed.reveal())
    return Ed25519PrivateKey.from_private_bytes(made)


def fingerprint(seed: Secret) -> str:
    """Of the key to sign with that belongs to an identity of age."""
    return ssh_signature.fingerprint(ssh_signature.public(signing_key(seed)))


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    if given := environ.get(f"{_MAIN}_FILE"):
        yield Path(given)
    base = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    if base:
        yield Path(base) / "sops" / "age" / "keys.txt"


def _read(path: Path) -> Secret | None:
    try:
        with path.open("rb") as file:
            return Secret(file.read(_LARGEST))
    except OSError:
        return None


async def _asked(words: str, environ: Mapping[str, str]) -> list[Secret]:
    """What the user's own command prints: the one that sops runs for the same."""
    try:
        argv = shlex.split(words)
        return [Secret((await command.run(argv, env=environ, within=program_limits.FREE)).stdout)] if argv else []
    except (ValueError, errors.ClientError):
        return []


# Whose backups the user accepts besides their own: fingerprints in the user's configuration, never in a repo.
#
# Whoever may commit to a repo could add themselves to a list that it has.


FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def known_signers_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The file: ``firstlight/backup-signers`` in the user's configuration."""
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "firstlight" / "backup-signers"


def load_known_signers(path: Path) -> frozenset[str]:
    """The fingerprints in a file, one at the start of each line; what follows it is for people.

    Raises:
        errors.ConfigError: The file cannot be read, or somebody else can write it.
    """
    content = path_safety.read(path, what="the signers in it", most=_LARGEST) or b""
    lines = content.decode(errors="replace").splitlines()
    words = [each.split()[0] for each in lines if each.strip() and not each.startswith("#")]
    for each in words:
        if not FINGERPRINT.fullmatch(each):
            raise errors.ConfigError(f"{each[:60]!r} is not a fingerprint", path=str(path), hint="ssh-keygen -lf KEY")
    return frozenset(words)
