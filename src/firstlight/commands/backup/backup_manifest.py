"""A backup of a cluster: its parts, and what is known of them without a key."""

import dataclasses
import datetime
import enum

from firstlight.model.verdict import VerificationCheck, lets_on

VERSION = 2
"""Of the manifest; a number that is not known is not read."""
UNSIGNED = 1
"""The version of manifests from before backups were signed."""
STAMP = "%Y%m%dT%H%M%SZ"
"""How the name of a backup is written: when it was begun, in UTC."""


def stamp(at: float) -> str:
    """The name of what is kept at a moment."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime(STAMP)


def moment(name: str) -> datetime.datetime:
    """When a backup was begun, by its name.

    Raises:
        ValueError: It is the name of something else.
    """
    return datetime.datetime.strptime(name, STAMP).replace(tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupPart:
    """One file of a backup."""

    name: str
    """What it is, for people."""
    file: str
    size: int
    sha256: str
    """Of the file as it lies there, encrypted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EtcdSnapshotSummary:
    """What the snapshot of etcd holds."""

    machine: str
    """Whose member it was taken from."""
    revision: int
    keys: int
    """Those that are there; older revisions and what was deleted do not count."""
    size: int
    hash: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupRepo:
    """Which state of the repo the backup belongs to."""

    commit: str = ""
    branch: str = ""
    url: str = ""
    is_dirty: bool = False
    """Whether the work tree differed from the commit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupManifest:
    """What a backup is, in plain: nothing in it is secret."""

    version: int
    stamp: str
    at: float
    cluster: str
    firstlight: str
    uid: str
    """Of kube-system; empty where the API did not answer and nobody had written it down."""
    kubernetes: str
    """The version of the API server; empty where it did not answer."""
    talos: dict[str, str]
    """The version that each machine runs, by name."""
    silent: dict[str, str]
    """Machines whose config is not in it, and why."""
    secrets: str
    """Where the repo has the Talos secrets."""
    is_in_git: bool
    """Whether Git has them there, encrypted."""
    etcd: EtcdSnapshotSummary
    repo: BackupRepo
    parts: tuple[BackupPart, ...]

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(each.size for each in self.parts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredBackup:
    """A backup as it lies there."""

    stamp: str
    path: str
    manifest: BackupManifest | None = None
    problem: str = ""
    """Why it has no manifest that can be read."""
    content: bytes = dataclasses.field(default=b"", repr=False)
    """The manifest as it was read: what is signed."""
    signature: str = dataclasses.field(default="", repr=False)
    """Of the content, armoured; empty where nobody signed it. Nothing says yet that it is good."""


class SignatureStanding(enum.StrEnum):
    """What a signature tells."""

    OWN = "own"
    """By a key of whoever looks."""
    KNOWN = "known"
    """By a key that they named, or wrote down as a known signer."""
    FOREIGN = "foreign"
    """By another key."""
    EARLY = "early"
    """There is none, and the manifest is of a version from before backups were signed."""
    MISSING = "missing"
    """There is none, and there should be."""
    FORGED = "forged"
    """It is not a signature of this manifest."""
    UNCHECKED = "unchecked"
    """The program that checks it is missing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SignatureJudgement:
    """Who signed a backup, and whether it is trusted for it."""

    standing: SignatureStanding
    signer: str = ""
    """The fingerprint of the key, as ``ssh-keygen -l`` prints it."""
    is_named: bool = False
    """Whether the user named this very backup, to take it although nobody signed it."""
    why: str = ""
    """For people, where it is not trusted."""
    hint: str = ""

    @property
    def is_trusted(self) -> bool:
        """Whether it may be opened."""
        return self.standing in (SignatureStanding.OWN, SignatureStanding.KNOWN) or self.is_named


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupVerification:
    """What came of looking through a backup."""

    stamp: str
    path: str
    checks: tuple[VerificationCheck, ...]
    signed: SignatureJudgement | None = None
    """None where it has no manifest."""
    at: float = 0.0
    """When it was made, by its manifest; 0 where it has none."""

    @property
    def is_sound(self) -> bool:
        """Whether the cluster could be brought back with it."""
        return all(lets_on(each.verdict) for each in self.checks)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pruning:
    """What retention lets go, and what it leaves."""

    gone: tuple[str, ...]
    stays: tuple[str, ...]
    sound: str = ""
    """The newest that verifies, which stays whatever was asked for; empty where none had to be looked through."""
    is_dry_run: bool = False
