"""What is kept of a cluster is encrypted for those who may read its Talos secrets: whoever has these can read the rest.

Nothing lies on a disk in the clear on its way: it is made in memory, and where there is no such place it is not made.
"""

import dataclasses
import os
from pathlib import Path

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.sops import CONFIG, Sops, metadata
from firstlight.execute.world import Programs
from firstlight.model import reference as references
from firstlight.model.cluster import Cluster
from firstlight.model.node_upgrade import Refusal
from firstlight.model.secret import Secret
from firstlight.operate import talos_secrets
from firstlight.render import private_directory
from firstlight.secrets import talos

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours

_DISK = "it would be on a disk in the clear: there is no /dev/shm here"
_ELSEWHERE = "Work where there is one."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seal:
    """By which rule of the repo something is encrypted."""

    sops: Path
    rule: Path
    config: Path

    async def encrypt(self, content: Secret, into: Path, *, about: str) -> None:
        """Encrypt into a file that is not there yet.

        Raises:
            secret_errors.SecretError: The rule names nobody, or cannot be read.
        """
        await Sops(self.sops).encrypt_into(content, into, rule=self.rule, config=self.config, about=about)

    async def recipients(self) -> tuple[str, ...]:
        """For whom it is encrypted: public keys of age and of SSH, fingerprints of PGP.

        Raises:
            secret_errors.SecretError: The rule names nobody, or cannot be read.
        """
        with private_directory.made("etcd") as home:
            path = home / "try"
            await self.encrypt(Secret(b"a try"), path, about="a backup")
            found = metadata.read(path.read_bytes(), path)
        return found.recipients if found is not None else ()


def rule_of(cluster: Cluster, root: Path) -> Path:
    """The file whose rule in .sops.yaml counts: the cluster's Talos secrets."""
    reference = references.parse(talos_secrets.reference_of(cluster, root))
    if isinstance(reference, references.Sops):
        return root / reference.path
    return root / "talos" / cluster.name / talos.NAME


def of(cluster: Cluster, programs: Programs, *, root: Path) -> Seal:
    """The seal of a cluster.

    Raises:
        errors.Refused: Nothing says for whom, or it would be in the clear on its way.
    """
    found = _found(cluster, programs, root)
    if isinstance(found, Refusal):
        raise errors.Refused(found.message, hint=found.hint)
    return found


async def refusal(cluster: Cluster, programs: Programs, *, root: Path) -> Refusal | None:
    """Why nothing could be kept; None where it can, which is tried."""
    found = _found(cluster, programs, root)
    if isinstance(found, Refusal):
        return found
    try:
        with private_directory.made("etcd") as home:
            await found.encrypt(Secret(b"a try"), home / "try", about="a backup")
    except secret_errors.SecretError as error:
        return Refusal(f"it cannot be encrypted: {error.message}", error.hint)
    return None


def refuse_disk() -> None:
    """See that there is a place in memory for what is decrypted.

    Raises:
        errors.Refused: It would be on a disk in the clear.
    """
    if not os.access(_MEMORY, os.W_OK):
        raise errors.Refused(_DISK, hint=_ELSEWHERE)


def _found(cluster: Cluster, programs: Programs, root: Path) -> Seal | Refusal:
    if not os.access(_MEMORY, os.W_OK):
        return Refusal(_DISK, _ELSEWHERE)
    rule = rule_of(cluster, root)
    config = talos.rules(rule, root)
    if config is None:
        return Refusal(
            f"it is kept encrypted, and no {CONFIG} says for whom",
            f"Write one with a rule for {rule.relative_to(root)}.",
        )
    if programs.sops is None:
        return Refusal("it is kept encrypted, and sops is not there", "firstlight tools install sops")
    return Seal(sops=programs.sops, rule=rule, config=config)
