"""Backups signed by their maker, and a signature judged by whoever is to open one.

Encrypting takes only a public key, so that it does not tell who made a backup. The signature does: it is of the
manifest, which has the digest of every part, the cluster, its UID and the time.
"""

import base64
import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import ssh_keygen
from firstlight.commands.backup import backup_manifest
from firstlight.commands.backup.backup_manifest import SignatureJudgement, SignatureStanding, StoredBackup
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, derived_signing_keys, ssh_signature
from firstlight.secrets.derived_signing_keys import OwnKeys

NAMESPACE = "firstlight-backup"
"""What these signatures are for: one of a commit, or of a certificate, does not count."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SignerTrust:
    """Whose backups are opened, and which without a signature."""

    own: frozenset[str] = frozenset()
    """Fingerprints of the keys of whoever runs this."""
    signers: frozenset[str] = frozenset()
    """Fingerprints that they named, or have written down."""
    unsigned: frozenset[str] = frozenset()
    """Names of backups, or of files of snapshots."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Signer:
    """The key that a backup is signed with; either of both."""

    fingerprint: str
    seed: Secret | None = None
    key: Path | None = None

    async def sign(self, content: bytes) -> str:
        """The signature of a manifest.

        Raises:
            errors.ClientError: The key cannot be used.
        """
        if self.seed is not None:
            return ssh_signature.sign(content, derived_signing_keys.signing_key(self.seed), namespace=NAMESPACE)
        assert self.key is not None
        return await ssh_keygen.sign(content, self.key, namespace=NAMESPACE)


async def trust(
    *, signers: Iterable[str] = (), unsigned: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> SignerTrust:  # fmt: skip
    """Whom the user trusts: their own keys, those they have written down, and whom they name now.

    Raises:
        errors.UsageError: What is named is not a fingerprint.
        errors.ConfigError: What is written down cannot be read.
    """
    named = frozenset(signers)
    for each in named:
        if not derived_signing_keys.FINGERPRINT.fullmatch(each):
            raise errors.UsageError(
                f"{each[:60]!r} is not the fingerprint of a key", hint="It looks like SHA256:…; see: ssh-keygen -lf KEY"
            )
    return SignerTrust(
        own=await (await derived_signing_keys.find_own_keys(environ)).fingerprints(),
        signers=named | derived_signing_keys.load_known_signers(derived_signing_keys.known_signers_path(environ)),
        unsigned=frozenset(unsigned),
    )


async def signer(recipients: Collection[str], keys: OwnKeys, *, key: Path | None = None) -> Signer:
    """The key to sign with: one that was named, else one that the backup is encrypted for.

    Args:
        recipients: Whom it is encrypted for.
        keys: What is at hand.
        key: An SSH key that was named; the public one of a key that an agent has will do.

    Raises:
        errors.Refused: There is none.
        errors.ClientError: The key that was named is not there.
    """
    if key is not None:
        found = await ssh_keygen.fingerprint(key)
        if not found:
            raise errors.Refused(f"{key} is not an SSH key", hint="Give the path of your key: --sign ~/.ssh/id_ed25519")
        return Signer(fingerprint=found, key=key)
    for seed in keys.seeds:
        if age_keys.recipient(seed.reveal()) in recipients:
            return Signer(fingerprint=derived_signing_keys.fingerprint(seed), seed=seed)
    wanted = {_fingerprint(each) for each in recipients if each.startswith("ssh-")}
    for path in keys.ssh if wanted else ():
        found = await ssh_keygen.fingerprint(path)
        if found in wanted:
            return Signer(fingerprint=found, key=path)
    raise errors.Refused(
        "a backup is signed, and none of the keys that it is encrypted for is here to sign with",
        hint="Set SOPS_AGE_KEY_FILE to your age key, or sign with an SSH key: --sign ~/.ssh/id_ed25519",
    )


async def judge(one: StoredBackup, trusted: SignerTrust) -> SignatureJudgement:
    """Who signed a backup, and whether it may be opened.

    Args:
        one: The backup; it has a manifest.
        trusted: Whom the user trusts.
    """
    assert one.manifest is not None
    if not one.signature.strip():
        return _unsigned(one, trusted)
    try:
        signature = ssh_signature.parse(one.signature)
        await _check(one.content, signature, one.signature)
    except errors.Unreachable as error:
        return SignatureJudgement(
            standing=SignatureStanding.UNCHECKED, why=f"its signature cannot be checked: {error}", hint=error.hint
        )
    except (ssh_signature.BadSignature, errors.ClientError):
        return SignatureJudgement(
            standing=SignatureStanding.FORGED,
            why="forged or damaged: the signature is not one of this manifest",
            hint="Choose another one: firstlight backup list",
        )
    known = signature.fingerprint
    if known in trusted.own:
        return SignatureJudgement(standing=SignatureStanding.OWN, signer=known)
    if known in trusted.signers:
        return SignatureJudgement(standing=SignatureStanding.KNOWN, signer=known)
    return SignatureJudgement(
        standing=SignatureStanding.FOREIGN,
        signer=known,
        why=f"signed by {known}, which is not one of your keys",
        hint=f"If the owner of that key confirms the fingerprint: --signer {known}",
    )


async def trusted_of(found: Iterable[StoredBackup], trusted: SignerTrust) -> frozenset[str]:
    """The names of those that somebody trusted has signed."""
    return frozenset(
        [each.stamp for each in found if each.manifest is not None and (await judge(each, trusted)).is_trusted]
    )


def unsigned_file(name: str, trusted: SignerTrust) -> SignatureJudgement:
    """The same of a snapshot in a file, which has no signature."""
    return SignatureJudgement(
        standing=SignatureStanding.MISSING, is_named=name in trusted.unsigned,
        why="it is not signed: nothing tells who made it",
        hint=f"If you know where it comes from: --trust-unsigned {name}",
    )  # fmt: skip


def _unsigned(one: StoredBackup, trusted: SignerTrust) -> SignatureJudgement:
    assert one.manifest is not None
    is_early = one.manifest.version == backup_manifest.UNSIGNED
    why = (
        "made before backups were signed: nothing tells who made it"
        if is_early
        else "its signature is missing: whoever has the public key could have made it"
    )
    return SignatureJudgement(
        standing=SignatureStanding.EARLY if is_early else SignatureStanding.MISSING,
        is_named=one.stamp in trusted.unsigned,
        why=why,
        hint=f"If you know where it comes from: --trust-unsigned {one.stamp}",
    )


async def _check(content: bytes, signature: ssh_signature.SshSignature, text: str) -> None:
    if signature.kind == ssh_signature.ED25519:
        ssh_signature.check(content, signature, namespace=NAMESPACE)
    elif await ssh_keygen.verify(content, text, namespace=NAMESPACE) != signature.fingerprint:
        raise ssh_signature.BadSignature("ssh-keygen names another key")


def _fingerprint(recipient: str) -> str:
    """Of a public SSH key as text."""
    words = recipient.split()
    try:
        return ssh_signature.fingerprint(base64.b64decode(words[1], validate=True))
    except (IndexError, ValueError):
        return ""
