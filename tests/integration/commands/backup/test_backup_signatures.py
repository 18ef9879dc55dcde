"""Who made a backup: what is not signed by somebody trusted is neither verified nor restored, unless it is named."""

import asyncio
import contextlib
import gzip
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.cli import main
from firstlight.clients import command
from firstlight.commands.backup import backup_contents, backup_manifest, backup_signature, backup_store, encryption
from firstlight.commands.backup.encryption import BackupEncryption
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, derived_signing_keys
from firstlight.secrets.derived_signing_keys import OwnKeys
from firstlight.tools import binary_cache, install
from tests import signed_backups
from tests.integration.clients.test_ssh_keygen import key
from tests.integration.secrets.encrypted_repo import MINE, THEIRS
from tests.runs import Told
from tests.signed_backups import STAMP, Backup

MALLORY = b"\x0b" * 32


@pytest_asyncio.fixture(scope="session")
async def sops() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repo, and its owner at the keyboard: an age key, and a home with nothing else in it."""
    before = os.umask(0o077)  # what firstlight keeps is closed to others
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(binary_cache.locate(os.environ).root))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    root = tmp_path / "repo"
    root.mkdir()
    (root / "firstlight.yaml").write_text(signed_backups.PLATFORM)
    yield root
    os.umask(before)


@pytest.fixture
def place(repo: Path) -> Path:
    return repo / ".firstlight" / "home" / "backups"


@pytest.fixture
def make(place: Path, sops: Path) -> Callable[..., Backup]:
    def made(**changes: object) -> Backup:
        given = {"sops": sops, "recipient": age_keys.recipient(MINE), "seed": MINE}
        return signed_backups.made(place, **(given | changes))  # type: ignore[arg-type]

    return made


def typed(repo: Path, *arguments: str) -> Told:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run([*arguments, "--repo", str(repo)])
    return Told(code, out.getvalue(), err.getvalue())


def verified(repo: Path, *more: str) -> tuple[int, dict[str, object], dict[str, str]]:
    """The exit code, the signature, and what each check says."""
    done = typed(repo, "backup", "verify", STAMP, *more, "--output", "json")
    assert done.out, done.err
    found = json.loads(done.out)
    return done.code, found["signature"], {each["name"]: each["verdict"] for each in found["checks"]}


def test_its_owner_needs_nothing_but_the_key_that_opens_it(repo: Path, make: Callable[..., Backup]) -> None:
    make()

    code, signature, checks = verified(repo)

    assert (code, signature["standing"], signature["trusted"]) == (0, "own", True)
    assert set(checks) == {"signature", "cluster", "files", "talos secrets", "machine configs", "records", "etcd"}
    assert set(checks.values()) == {"passed"}
    shown = typed(repo, "backup", "verify", STAMP).out
    assert "by your key SHA256:" in shown
    assert "ago" in shown.splitlines()[0]
    assert "by you" in typed(repo, "backup", "list").out


FORGED: dict[str, Callable[[Backup], None]] = {}
"""What somebody does who can write to the place and knows the public key, and what it is called."""


def forgery(standing: str) -> Callable[[Callable[[Backup], None]], Callable[[Backup], None]]:
    def named(function: Callable[[Backup], None]) -> Callable[[Backup], None]:
        FORGED[f"{standing}: {function.__doc__}"] = function
        return function

    return named


@forgery("missing")
def _unsigned(one: Backup) -> None:
    """the signature is taken away"""
    one.unsign()


@forgery("missing")
def _emptied(one: Backup) -> None:
    """the signature is an empty file"""
    (one.path / backup_store.SIGNATURE).write_text("\n")


@forgery("early")
def _early(one: Backup) -> None:
    """it looks as if made before backups were signed"""
    one.unsign()
    one.write(one.manifest | {"version": backup_manifest.UNSIGNED})


@forgery("foreign")
def _foreign(one: Backup) -> None:
    """somebody else signs it"""
    one.sign(MALLORY)


@forgery("forged")
def _altered(one: Backup) -> None:
    """the manifest is changed"""
    one.write(one.manifest | {"kubernetes": "v1.0.0"})


@forgery("forged")
def _older(one: Backup) -> None:
    """the manifest is made an early one, and the signature stays"""
    one.write(one.manifest | {"version": backup_manifest.UNSIGNED})


@forgery("forged")
def _spaced(one: Backup) -> None:
    """the manifest means the same, and has other bytes"""
    path = one.path / backup_store.MANIFEST
    path.write_bytes(msgspec.json.format(path.read_bytes(), indent=4))


@forgery("forged")
def _nonsense(one: Backup) -> None:
    """the signature is anything"""
    (one.path / backup_store.SIGNATURE).write_text("signed: yes")


@forgery("forged")
def _of_another(one: Backup) -> None:
    """the signature is the owner's, of another manifest"""
    (one.path / backup_store.SIGNATURE).write_text(signed_backups.signature(b"{}", MINE))


@pytest.mark.parametrize("name", FORGED)
def test_what_its_owner_did_not_sign_is_not_opened(
    name: str, repo: Path, make: Callable[..., Backup], monkeypatch: pytest.MonkeyPatch
) -> None:
    FORGED[name](make())
    opened: list[object] = []
    monkeypatch.setattr(encryption, "decrypted", lambda *_, **__: opened.append(_))

    code, signature, checks = verified(repo)

    assert (code, signature["standing"], signature["trusted"]) == (1, name.partition(":")[0], False)
    assert checks["signature"] == "failed"
    assert signature["reason"]
    assert opened == [], "nothing of it is decrypted or unpacked"
    assert "refused: it is not opened" in typed(repo, "backup", "verify", STAMP).out


@pytest.mark.parametrize("name", ["missing: the signature is taken away", f"early: {_early.__doc__}"])
def test_one_that_nobody_signed_is_opened_by_its_name_alone(
    name: str, repo: Path, make: Callable[..., Backup]
) -> None:  # fmt: skip
    FORGED[name](make())

    assert verified(repo, "--trust-unsigned", "20200101T000000Z")[0] == 1
    code, signature, _ = verified(repo, "--trust-unsigned", STAMP)

    assert (code, signature["named"], signature["standing"]) == (0, True, name.partition(":")[0])
    assert "opened because you named it" in typed(repo, "backup", "verify", STAMP, "--trust-unsigned", STAMP).out


@pytest.mark.parametrize("name", [each for each in FORGED if each.startswith(("forged", "foreign"))])
def test_a_wrong_signature_is_not_a_missing_one(name: str, repo: Path, make: Callable[..., Backup]) -> None:
    FORGED[name](make())

    assert verified(repo, "--trust-unsigned", STAMP)[0] == 1


def test_a_colleague_is_named_or_written_down(repo: Path, make: Callable[..., Backup]) -> None:
    make(seed=THEIRS)
    theirs = derived_signing_keys.fingerprint(Secret(THEIRS))
    assert verified(repo)[1]["signer"] == theirs
    assert "not the fingerprint" in typed(repo, "backup", "verify", "--signer", "bob").err

    code, signature, _ = verified(repo, "--signer", theirs)

    assert (code, signature["standing"]) == (0, "known")
    path = derived_signing_keys.known_signers_path()
    path.parent.mkdir(parents=True)
    path.write_text(f"# the team\n{theirs} bob\n")
    path.chmod(0o600)
    assert verified(repo)[0] == 0
    path.chmod(0o666)
    assert "others can write it" in typed(repo, "backup", "verify").err


def test_the_repo_names_nobody(repo: Path, make: Callable[..., Backup]) -> None:
    """Whoever may commit cannot add themselves."""
    make(seed=MALLORY)
    mallory = derived_signing_keys.fingerprint(Secret(MALLORY))
    for name in ("backup-signers", ".config/firstlight/backup-signers", ".firstlight/backup-signers"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"{mallory}\n")
    (repo / ".sops.yaml").write_text(f"creation_rules:\n  - age: {age_keys.recipient(MALLORY)}\n")

    assert verified(repo)[1]["standing"] == "foreign"


PARTS: dict[str, Callable[[Backup], object]] = {
    "changed": lambda one: (one.path / backup_contents.CONFIGS).write_bytes(
        b"x" * (one.path / backup_contents.CONFIGS).stat().st_size
    ),
    "exchanged": lambda one: (one.path / backup_contents.CONFIGS).write_bytes(
        (one.path / backup_contents.SECRETS).read_bytes()
    ),
    "longer": lambda one: (one.path / backup_contents.CONFIGS).write_bytes(
        (one.path / backup_contents.CONFIGS).read_bytes() + b" "
    ),
    "removed": lambda one: (one.path / backup_contents.CONFIGS).unlink(),
    "added": lambda one: (one.path / "more.sops").write_bytes(b""),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_was_touched_is_said(name: str, repo: Path, make: Callable[..., Backup]) -> None:
    PARTS[name](make())

    code, signature, checks = verified(repo)

    assert (code, signature["trusted"], checks["files"]) == (1, True, "failed")
    assert checks["machine configs"] == ("passed" if name == "added" else "failed"), "what is not signed is not opened"
    assert checks["etcd"] == "passed"


def test_a_genuine_one_in_another_place_is_told(repo: Path, place: Path, make: Callable[..., Backup]) -> None:
    one = make()
    one.path.rename(place / "20301118T010203Z")
    replayed = typed(repo, "backup", "verify")
    assert (replayed.code, f"it is the backup {STAMP}, put here under another name" in replayed.out) == (1, True)

    make(cluster="office")

    assert "it is a backup of office, not of home" in typed(repo, "backup", "verify", STAMP).out


def test_a_cluster_that_was_made_anew_is_another_one(repo: Path, make: Callable[..., Backup]) -> None:
    make()
    (repo / ".firstlight" / "home" / "identity.json").write_text('{"kubeSystem": "another"}')

    assert "it is of another cluster named home" in typed(repo, "backup", "verify").out


def test_forged_ones_push_out_none(repo: Path, place: Path, make: Callable[..., Backup]) -> None:
    make()
    make(stamp="20260101T000000Z")
    for number in range(3):
        make(seed=MALLORY, stamp=f"2099010{number + 1}T000000Z")

    done = typed(repo, "backup", "prune", "--keep", "2", "--output", "json")

    assert done.code == 0, done.err
    left = {each.name for each in place.iterdir()}
    assert left == {STAMP, "20260101T000000Z", "20990103T000000Z", "20990102T000000Z"}


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zeros": (backup_contents.ETCD, lambda: _packed(bytes(1 << 20), 512), "unpacks to more than"),
    "a link": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member("home/a", type=tarfile.SYMTYPE, linkname="/etc")),
        "is not a file",
    ),
    "a hard link": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member("home/a", type=tarfile.LNKTYPE, linkname="b")),
        "is not a file",
    ),
    "a device": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member("home/a", type=tarfile.CHRTYPE)),
        "is not a file",
    ),
    "a way out": (backup_contents.RECORDS, lambda: _tar(signed_backups.member("home/../../a")), "is not a record"),
    "an absolute path": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member("/etc/cron.d/a")),
        "is not a record",
    ),
    "another place": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member("office/kubeconfig")),
        "is not a record",
    ),
    "a long header": (
        backup_contents.RECORDS,
        lambda: _tar(signed_backups.member(f"home/{'a' * (1 << 20)}")),
        "a header of",
    ),
    "not a tar": (backup_contents.RECORDS, lambda: _packed(b"x" * 512, 4), "cannot be unpacked"),
    "aliases": (
        backup_contents.CONFIGS,
        lambda: _aliases(),
        "is missing",
    ),  # it ends: PyYAML would write out 9 to the 11th keys
}
"""Archives of somebody who was named, and is hostile all the same."""


def _packed(content: bytes, times: int) -> bytes:
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb") as file:
        for _ in range(times):
            file.write(content)
    return made.getvalue()


def _tar(*members: tarfile.TarInfo) -> bytes:
    return gzip.compress(signed_backups.tar(*members))


def _aliases() -> bytes:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{number}: &a{number} {{<<: [{', '.join([f'*a{number - 1}'] * 9)}]}}" for number in range(1, 12)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_archive_fills_nothing_and_writes_nowhere(
    name: str, repo: Path, make: Callable[..., Backup]
) -> None:  # fmt: skip
    file, content, says = BOMBS[name]
    make(parts={file: content()}, seed=None)
    check = {
        backup_contents.ETCD: "etcd",
        backup_contents.RECORDS: "records",
        backup_contents.CONFIGS: "machine configs",
    }[file]

    code, _, checks = verified(repo, "--trust-unsigned", STAMP)

    assert (code, checks[check]) == (1, "failed")
    assert says in typed(repo, "backup", "verify", "--trust-unsigned", STAMP).out


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
async def test_an_ssh_key_that_it_is_encrypted_for_signs(
    kind: str, repo: Path, sops: Path, make: Callable[..., Backup], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repo.parent / "home"
    (home / ".ssh").mkdir(parents=True)
    path = home / ".ssh" / f"id_{kind}"
    await command.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path)])
    monkeypatch.delenv("SOPS_AGE_KEY")
    public = " ".join(path.with_suffix(".pub").read_text().split()[:2])
    (repo / ".sops.yaml").write_text(f'creation_rules:\n  - age: "{public}"\n')
    one = make(recipient=public, seed=None)
    seal = BackupEncryption(sops=sops, rule=repo / "talos" / "secrets.sops.yaml", config=repo / ".sops.yaml")

    signer = await backup_signature.signer(await seal.recipients(), await derived_signing_keys.find_own_keys())
    (one.path / backup_store.SIGNATURE).write_text(await signer.sign((one.path / backup_store.MANIFEST).read_bytes()))

    assert signer.key == path
    code, signature, checks = await _in_thread(repo)
    assert (code, signature["standing"], signature["signer"]) == (0, "own", signer.fingerprint), checks
    (one.path / backup_store.MANIFEST).write_bytes((one.path / backup_store.MANIFEST).read_bytes() + b" ")
    assert (await _in_thread(repo))[1]["standing"] == "forged"


async def _in_thread(repo: Path) -> tuple[int, dict[str, object], dict[str, str]]:
    return await asyncio.to_thread(verified, repo)


async def test_without_a_key_to_sign_with_none_is_made(tmp_path: Path) -> None:
    one = await key(tmp_path)
    with pytest.raises(errors.Refused, match="none of the keys that it is encrypted for"):
        await backup_signature.signer([age_keys.recipient(THEIRS)], OwnKeys(seeds=(Secret(MINE),), ssh=(one,)))

    named = await backup_signature.signer([age_keys.recipient(THEIRS)], OwnKeys(), key=one)

    assert named.key == one


def test_anybody_can_check_it_by_hand(repo: Path, make: Callable[..., Backup]) -> None:
    """As docs/backup.md says: with ssh-keygen, and nothing of firstlight."""
    one = make()
    argv = [
        "ssh-keygen",
        "-Y",
        "check-novalidate",
        "-n",
        backup_signature.NAMESPACE,
        "-s",
        str(one.path / backup_store.SIGNATURE),
    ]

    done = subprocess.run(argv, input=(one.path / backup_store.MANIFEST).read_bytes(), capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert derived_signing_keys.fingerprint(Secret(MINE)) in done.stdout.decode()
