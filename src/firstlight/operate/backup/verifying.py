"""Whether a cluster could be brought back with a backup: every part is what was written, opens, and is what it says."""

import tarfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.model.backup import Kept, Manifest, Proof
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.model.verification import Check
from firstlight.operate.backup import bolt, making, opening, sealing
from firstlight.operate.backup.bolt import Store
from firstlight.render import private_directory
from firstlight.secrets import talos

Try = Callable[[Path, Store], Awaitable[Check]]
"""Restores a snapshot somewhere, and compares."""
_NAMESPACE = b"/registry/namespaces/kube-system"


async def verify(one: Kept, *, sops: Path | None, restore: Try | None = None) -> Proof:
    """Look a backup through; what is wrong with it is an answer, not an error.

    Args:
        one: The backup.
        sops: What decrypts it.
        restore: How its etcd is tried; not at all if it is not given.

    Raises:
        errors.Refused: What is decrypted would be on a disk.
    """
    if one.manifest is None:
        return Proof(stamp=one.stamp, path=one.path, checks=(Check(name="manifest", verdict=Failed(one.problem)),))
    sealing.refuse_disk()
    checks = [_written(one, one.manifest)]
    with private_directory.made("etcd") as home:
        snapshot = home / "snapshot"
        checks += [
            await _checked("talos secrets", lambda: _secrets(one, home, sops)),
            await _checked("machine configs", lambda: _configs(one, home, sops)),
            await _checked("records", lambda: _records(one, home, sops)),
            await _checked("etcd", lambda: _etcd(one, snapshot, sops)),
        ]
        if restore is not None and isinstance(checks[-1].verdict, Passed):
            checks.append(await restore(snapshot, bolt.read(snapshot)))
    return Proof(stamp=one.stamp, path=one.path, checks=tuple(checks))


async def _checked(name: str, look: Callable[[], Awaitable[Verdict]]) -> Check:
    try:
        return Check(name=name, verdict=await look())
    except errors.FirstlightError as error:
        return Check(name=name, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ())
    except bolt.Damaged as error:
        return Check(name=name, verdict=Failed(str(error)))


def _written(one: Kept, manifest: Manifest) -> Check:
    """Whether every file is there as it was written."""
    wrong = list(_wrong(one, manifest))
    missing = {making.ETCD, making.CONFIGS, making.RECORDS} - {each.file for each in manifest.parts}
    wrong += [f"it has no {each}" for each in sorted(missing)]
    verdict = Failed("; ".join(wrong)) if wrong else Passed(f"{len(manifest.parts)} parts, {manifest.size} bytes")
    return Check(name="files", verdict=verdict)


def _wrong(one: Kept, manifest: Manifest) -> Iterator[str]:
    for part in manifest.parts:
        try:
            opening.check_digest(one, part)
        except errors.FirstlightError as error:
            yield error.message


async def _secrets(one: Kept, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    if making.SECRETS not in {each.file for each in one.manifest.parts}:
        return Passed("they are inside of the machine configs")
    bundle = await _content(one, making.SECRETS, home, sops)
    talos.check(bundle, making.SECRETS)
    where = f"Git has them, too: {one.manifest.secrets}" if one.manifest.is_in_git else "Git does not have them"
    return Passed(where)


async def _configs(one: Kept, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    content = await _content(one, making.CONFIGS, home, sops)
    try:
        held = yaml.load(content.reveal(), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return Failed("they are no YAML")
    names = set(held) if isinstance(held, dict) else set()
    if lost := sorted(set(one.manifest.talos) - names):
        return Failed(f"that of {', '.join(lost)} is missing")
    silent = f"; not of {', '.join(one.manifest.silent)}" if one.manifest.silent else ""
    return Passed(f"of {len(names)} machine{'' if len(names) == 1 else 's'}{silent}")


async def _records(one: Kept, home: Path, sops: Path | None) -> Verdict:
    path = home / making.RECORDS
    await opening.opened(Path(one.path) / making.RECORDS, path, sops=sops)
    try:
        with tarfile.open(path, mode="r:") as archive:
            names = archive.getnames()
    except tarfile.TarError as error:
        return Failed(f"they cannot be unpacked: {error}")
    runs = sum(each.startswith("runs/") for each in names)
    return Passed(f"{len(names) - runs} files, the journals of {runs} runs")


async def _etcd(one: Kept, snapshot: Path, sops: Path | None) -> Verdict:
    """Whether it is a snapshot, whole, of this cluster, at the revision that was written down."""
    assert one.manifest is not None
    await opening.opened(Path(one.path) / making.ETCD, snapshot, sops=sops)
    bolt.check_sum(snapshot)
    store = bolt.read(snapshot)
    if store.revision != one.manifest.etcd.revision:
        return Failed(f"it is at revision {store.revision}, and was taken at {one.manifest.etcd.revision}")
    if len(store.keys) != one.manifest.etcd.keys:
        return Failed(f"it has {len(store.keys)} keys, and had {one.manifest.etcd.keys}")
    if one.manifest.uid and one.manifest.uid.encode() not in bolt.value_of(snapshot, _NAMESPACE):
        return Failed(f"it is another cluster's: kube-system has not the UID {one.manifest.uid}")
    return Passed(f"{len(store.keys)} keys at revision {store.revision}, checksum right")


async def _content(one: Kept, file: str, home: Path, sops: Path | None) -> Secret:
    path = home / file
    await opening.opened(Path(one.path) / file, path, sops=sops)
    content = Secret(path.read_bytes())
    path.unlink()
    return content
