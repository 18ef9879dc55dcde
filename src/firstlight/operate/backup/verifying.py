"""Whether a cluster could be brought back with a backup: every part is what was written, opens, and is what it says."""

import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import safe_yaml
from firstlight.model.backup import Kept, Manifest, Proof, Signed, Standing
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.model.verification import Check
from firstlight.operate.backup import bolt, making, opening, records, sealing, shelf, signing
from firstlight.operate.backup.bolt import Store
from firstlight.operate.backup.signing import Trust
from firstlight.render import private_directory
from firstlight.secrets import talos

Try = Callable[[Path, Store], Awaitable[Check]]
"""Restores a snapshot somewhere, and compares."""
_MOST = 10_000
"""Files of a directory that are looked at."""
_NAMESPACE = b"/registry/namespaces/kube-system"


async def verify(
    one: Kept, *, cluster: str, trusted: Trust, uid: str = "", sops: Path | None, restore: Try | None = None
) -> Proof:  # fmt: skip
    """Look a backup through; what is wrong with it is an answer, not an error.

    One that nobody trusted has signed, or that is another cluster's, is not opened.

    Args:
        one: The backup.
        cluster: Whose it must be.
        trusted: Whose signature counts.
        uid: Of kube-system of the cluster, where it is known here.
        sops: What decrypts it.
        restore: How its etcd is tried; not at all if it is not given.

    Raises:
        errors.Refused: What is decrypted would be on a disk.
    """
    if one.manifest is None:
        return Proof(stamp=one.stamp, path=one.path, checks=(Check(name="manifest", verdict=Failed(one.problem)),))
    signed = await signing.judge(one, trusted)
    checks = [_signature(signed)]
    if signed.is_trusted:
        checks.append(_belonging(one, one.manifest, cluster, uid))
    if not all(isinstance(each.verdict, Passed) for each in checks):
        return Proof(stamp=one.stamp, path=one.path, checks=tuple(checks), signed=signed, at=one.manifest.at)
    sealing.refuse_disk()
    checks.append(_written(one, one.manifest))
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
    return Proof(stamp=one.stamp, path=one.path, checks=tuple(checks), signed=signed, at=one.manifest.at)


def stray(one: Kept, cluster: str, uid: str) -> str:
    """What tells that a genuine backup is where it does not belong; empty where nothing does.

    Args:
        one: The backup; it has a manifest.
        cluster: Whose it should be.
        uid: Of kube-system of that cluster, where it is known.
    """
    manifest = one.manifest
    assert manifest is not None
    if manifest.cluster != cluster:
        return f"it is a backup of {manifest.cluster}, not of {cluster}"
    if manifest.stamp != one.stamp:
        return f"it is the backup {manifest.stamp}, put here under another name"
    if uid and manifest.uid and manifest.uid != uid:
        return f"it is of another cluster named {cluster}: kube-system had the UID {manifest.uid}, and has {uid}"
    return ""


def _signature(signed: Signed) -> Check:
    if not signed.is_trusted:
        return Check(name="signature", verdict=Failed(signed.why), detail=(signed.hint,) if signed.hint else ())
    said = {
        Standing.OWN: f"by your key {signed.signer}",
        Standing.KNOWN: f"by {signed.signer}, a signer that you named",
    }.get(signed.standing, f"{signed.why}; opened because you named it")
    return Check(name="signature", verdict=Passed(said))


def _belonging(one: Kept, manifest: Manifest, cluster: str, uid: str) -> Check:
    problem = stray(one, cluster, uid)
    known = f", kube-system {manifest.uid}" if manifest.uid else ""
    return Check(name="cluster", verdict=Failed(problem) if problem else Passed(f"{cluster}{known}"))


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
    expected = {shelf.MANIFEST, shelf.SIGNATURE, *(each.file for each in manifest.parts)}
    with os.scandir(one.path) as found:
        more = sorted(each.name for each in itertools.islice(found, _MOST) if each.name not in expected)
    wrong += [f"the manifest does not name {', '.join(more[:3])}{_more(len(more) - 3)}"] if more else []
    verdict = Failed("; ".join(wrong)) if wrong else Passed(f"{len(manifest.parts)} parts, {manifest.size} bytes")
    return Check(name="files", verdict=verdict)


def _wrong(one: Kept, manifest: Manifest) -> Iterator[str]:
    for part in manifest.parts:
        try:
            opening.check_digest(one, part)
        except errors.FirstlightError as error:
            yield error.message


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


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
        (held,) = safe_yaml.load_all(content.reveal())
    except ValueError:
        return Failed("they are not YAML")
    names = set(held) if isinstance(held, dict) else set()
    if lost := sorted(set(one.manifest.talos) - names):
        return Failed(f"that of {', '.join(lost)} is missing")
    silent = f"; not of {', '.join(one.manifest.silent)}" if one.manifest.silent else ""
    return Passed(f"of {len(names)} machine{'' if len(names) == 1 else 's'}{silent}")


async def _records(one: Kept, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    path = home / making.RECORDS
    await opening.opened_part(one, making.RECORDS, path, sops=sops)
    names = records.names(path, one.manifest.cluster)
    runs = sum(each.startswith("runs/") for each in names)
    return Passed(f"{len(names) - runs} files, the journals of {runs} runs")


async def _etcd(one: Kept, snapshot: Path, sops: Path | None) -> Verdict:
    """Whether it is a snapshot, whole, of this cluster, at the revision that was written down."""
    assert one.manifest is not None
    await opening.opened_part(one, making.ETCD, snapshot, sops=sops)
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
    await opening.opened_part(one, file, path, sops=sops)
    content = Secret(path.read_bytes())
    path.unlink()
    return content
