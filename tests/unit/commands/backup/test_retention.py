"""What retention deletes, and what it never does."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.backup import backup_store
from firstlight.commands.backup.backup_manifest import BackupVerification, StoredBackup
from firstlight.commands.backup.backup_store import RetentionPolicy
from firstlight.model.verdict import Failed, Passed, VerificationCheck

STAMPS = ("20261118T030000Z", "20261117T030000Z", "20261116T030000Z", "20261115T030000Z")


@pytest.fixture
def found(tmp_path: Path) -> tuple[StoredBackup, ...]:
    for each in STAMPS:
        (tmp_path / each).mkdir()
        (tmp_path / each / "etcd.snapshot.gz.sops").write_bytes(b"a")
    return backup_store.kept(tmp_path)


class Verifying:
    """Knows which are sound, and which were looked through."""

    def __init__(self, *sound: str) -> None:
        self.sound = sound
        self.asked: list[str] = []

    async def __call__(self, one: StoredBackup) -> BackupVerification:
        self.asked.append(one.stamp)
        verdict = Passed() if one.stamp in self.sound else Failed("damaged")
        return BackupVerification(
            stamp=one.stamp, path=one.path, checks=(VerificationCheck(name="etcd", verdict=verdict),)
        )


def left(tmp_path: Path) -> list[str]:
    return sorted((each.name for each in tmp_path.iterdir()), reverse=True)


async def test_the_newest_that_verifies_stays_whatever_was_asked_for(
    found: tuple[StoredBackup, ...], tmp_path: Path
) -> None:
    done = await backup_store.prune(
        found, RetentionPolicy(newest=1), signed=STAMPS, verify=Verifying(STAMPS[2], STAMPS[3]), is_dry_run=False
    )

    assert done.gone == (STAMPS[1], STAMPS[3])
    assert (done.stays, done.sound) == ((STAMPS[0], STAMPS[2]), STAMPS[2])
    assert left(tmp_path) == [STAMPS[0], STAMPS[2]]


async def test_where_none_verifies_none_is_deleted(found: tuple[StoredBackup, ...], tmp_path: Path) -> None:
    with pytest.raises(errors.Refused, match="none of the 4 backups verifies"):
        await backup_store.prune(found, RetentionPolicy(newest=1), signed=STAMPS, verify=Verifying(), is_dry_run=False)

    assert left(tmp_path) == list(STAMPS)


async def test_a_dry_run_only_says_what_would_go(found: tuple[StoredBackup, ...], tmp_path: Path) -> None:
    done = await backup_store.prune(
        found, RetentionPolicy(daily=2), signed=STAMPS, verify=Verifying(*STAMPS), is_dry_run=True
    )

    assert (done.gone, done.sound) == (STAMPS[2:], STAMPS[0])
    assert left(tmp_path) == list(STAMPS)


async def test_where_nothing_goes_nothing_is_looked_through(found: tuple[StoredBackup, ...], tmp_path: Path) -> None:
    verify = Verifying()

    done = await backup_store.prune(found, RetentionPolicy(newest=4), signed=STAMPS, verify=verify, is_dry_run=False)

    assert (done.gone, done.stays, verify.asked) == ((), STAMPS, [])


async def test_what_nobody_trusted_has_signed_pushes_out_none(found: tuple[StoredBackup, ...], tmp_path: Path) -> None:
    """Newer names cost nothing: they are counted apart."""
    done = await backup_store.prune(
        found, RetentionPolicy(newest=1), signed=STAMPS[2:], verify=Verifying(*STAMPS[2:]), is_dry_run=False
    )  # fmt: skip

    assert (done.gone, done.stays) == ((STAMPS[1], STAMPS[3]), (STAMPS[0], STAMPS[2]))
    assert left(tmp_path) == [STAMPS[0], STAMPS[2]]
