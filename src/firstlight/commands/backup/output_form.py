"""The JSON of ``firstlight backup``."""

from collections.abc import Sequence
from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.backup.backup_manifest import BackupManifest


class SignatureData(TypedDict):
    """Who signed a backup."""

    standing: str
    trusted: bool
    named: bool
    signer: str
    reason: str
    hint: str


class BackupData(TypedDict):
    """A backup; its manifest is null where it cannot be read."""

    stamp: str
    path: str
    problem: str
    manifest: BackupManifest | None
    signature: SignatureData | None


class PrunedData(TypedDict):
    """What went and what stays."""

    gone: Sequence[str]
    stays: Sequence[str]
    sound: str
    dryRun: bool


class CreatedData(TypedDict):
    """The backup that was made, and what was pruned after it."""

    backup: BackupData
    pruned: PrunedData | None


class BackupsData(TypedDict):
    """The backups of a cluster, newest first."""

    cluster: str
    place: str
    backups: list[BackupData]


class BackupCheckData(TypedDict):
    """One check of a backup."""

    name: str
    verdict: str
    reason: str
    hints: Sequence[str]
    seconds: float


class BackupVerifiedData(TypedDict):
    """Whether a backup is sound."""

    stamp: str
    path: str
    sound: bool
    at: float
    ageSeconds: int | None
    signature: SignatureData | None
    checks: list[BackupCheckData]


OUTPUTS = {
    "backup create": OutputForm(1, (CreatedData,)),
    "backup list": OutputForm(1, (BackupsData,)),
    "backup prune": OutputForm(1, (PrunedData,)),
    "backup verify": OutputForm(1, (BackupVerifiedData,)),
}
