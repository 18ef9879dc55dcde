"""Backups as text and as data."""

from collections.abc import Mapping

from firstlight.commands.backup.backup_manifest import (
    BackupManifest,
    BackupVerification,
    Pruning,
    SignatureJudgement,
    SignatureStanding,
    StoredBackup,
)
from firstlight.commands.backup.output_form import BackupData, BackupVerifiedData, PrunedData, SignatureData
from firstlight.drawing import clock, safe, table
from firstlight.model.verdict import lets_on

_MARKS = {True: "✔", False: "✘"}
_BY = {
    SignatureStanding.OWN: "by you",
    SignatureStanding.KNOWN: "by a known signer",
    SignatureStanding.FOREIGN: "by somebody else",
    SignatureStanding.EARLY: "no (older)",
    SignatureStanding.MISSING: "no",
    SignatureStanding.FORGED: "forged",
    SignatureStanding.UNCHECKED: "unchecked",
}


def size(number: int) -> str:
    """Bytes, for people."""
    return f"{number / (1 << 10):.0f} KiB" if number < 1 << 20 else f"{number / (1 << 20):.1f} MiB"


def made(one: StoredBackup, *, signer: str = "") -> str:
    """What ``backup create`` has made, and the fingerprint of the key that signed it."""
    manifest = one.manifest
    assert manifest is not None
    rows = [
        ("etcd", _etcd(manifest)),
        ("talos secrets", _secrets(manifest)),
        ("machine configs", _configs(manifest)),
        ("repo", _repo(manifest)),
        ("signed by", signer or "nobody"),
        ("in", safe.name(one.path)),
    ]
    head = f"{safe.name(manifest.cluster)}   backup {one.stamp}, {size(manifest.size)}, encrypted"
    return "\n".join([head, "", *table.render(rows, indent="  "), "", f"  next     {_next(one)}"])


def listed(
    found: tuple[StoredBackup, ...],
    *,
    cluster: str,
    place: str,
    signed: Mapping[str, SignatureJudgement] | None = None,
    columns: int = 0,
) -> str:
    """What ``backup list`` shows."""
    if not found:
        hint = f"  next     firstlight backup create {safe.name(cluster)}"
        return f"{safe.name(cluster)}   no backup in {safe.name(place)}\n\n{hint}"
    many = f"{len(found)} backup{'' if len(found) == 1 else 's'} in {safe.name(place)}"
    head = ("backup", "size", "etcd", "talos", "kubernetes", "commit", "signed")
    signatures = signed or {}
    rows = [head, *(_row(each, signatures.get(each.stamp)) for each in found)]
    lines = [f"{safe.name(cluster)}   {many}", "", *table.render(rows, indent="  ", columns=columns)]
    wrong = [f"  {each.stamp}   {safe.name(each.problem)}" for each in found if each.problem]
    wrong += [f"  {name}   {safe.name(each.why)}" for name, each in signatures.items() if not each.is_trusted]
    return "\n".join([*lines, *([""] if wrong else []), *wrong])


def proven(proof: BackupVerification, *, now: float = 0.0) -> str:
    """What ``backup verify`` has found."""
    is_refused = proof.signed is not None and not proof.signed.is_trusted
    verdict = "a cluster can be brought back with it" if proof.is_sound else "it is not sound"
    verdict = "refused: it is not opened" if is_refused else verdict
    made_at = "says it was made" if is_refused else "made"  # nobody vouches for it
    age = f"   {made_at} {clock.ago(proof.at, now=now)}" if proof.at and now else ""
    lines = [f"{proof.stamp}   {verdict}{age}", ""]
    rows = [
        (_MARKS[lets_on(each.verdict)], each.name, safe.name(each.verdict.reason), _seconds(each.seconds))
        for each in proof.checks
    ]
    lines += table.render(rows, indent="  ")
    hints = [hint for each in proof.checks for hint in each.detail]
    return "\n".join([*lines, *([""] if hints else []), *(f"  next     {safe.name(each)}" for each in hints)])


def pruned(found: Pruning) -> str:
    """What retention has let go."""
    if not found.gone:
        return f"nothing is deleted: {_stays(found)}"
    what = "would be deleted" if found.is_dry_run else "deleted"
    lines = [f"{_many(len(found.gone))} {what}: {', '.join(found.gone)}", _stays(found)]
    return "\n".join([*lines, f"the newest that verifies: {found.sound}"])


def data(one: StoredBackup, *, signed: SignatureJudgement | None = None) -> BackupData:
    """A backup for programs."""
    return {
        "stamp": one.stamp,
        "path": one.path,
        "problem": one.problem,
        "manifest": one.manifest,
        "signature": signed_data(signed),
    }


def signed_data(signed: SignatureJudgement | None) -> SignatureData | None:
    """Who signed a backup, for programs; None where it has no manifest."""
    if signed is None:
        return None
    return {
        "standing": signed.standing.value,
        "trusted": signed.is_trusted,
        "named": signed.is_named,
        "signer": signed.signer,
        "reason": "" if signed.is_trusted else signed.why,
        "hint": "" if signed.is_trusted else signed.hint,
    }


def proven_data(proof: BackupVerification, *, now: float = 0.0) -> BackupVerifiedData:
    """What was found, for programs."""
    return {
        "stamp": proof.stamp,
        "path": proof.path,
        "sound": proof.is_sound,
        "at": proof.at,
        "ageSeconds": round(now - proof.at) if proof.at and now else None,
        "signature": signed_data(proof.signed),
        "checks": [
            {
                "name": each.name,
                "verdict": type(each.verdict).__name__.lower(),
                "reason": each.verdict.reason,
                "hints": each.detail,
                "seconds": round(each.seconds, 3),
            }
            for each in proof.checks
        ],
    }


def pruned_data(found: Pruning) -> PrunedData:
    """What went and what stays, for programs."""
    return {"gone": found.gone, "stays": found.stays, "sound": found.sound, "dryRun": found.is_dry_run}


def _row(one: StoredBackup, signed: SignatureJudgement | None) -> tuple[str, ...]:
    if one.manifest is None:
        return (one.stamp, "-", "-", "-", "-", "-", "-")
    known = one.manifest
    versions = sorted(set(known.talos.values()))
    etcd = f"revision {known.etcd.revision}"
    cells = (size(known.size), etcd, ", ".join(versions), known.kubernetes, known.repo.commit[:12])
    return (one.stamp, *(safe.name(each) or "-" for each in cells), _BY[signed.standing] if signed else "-")


def _etcd(manifest: BackupManifest) -> str:
    etcd = manifest.etcd
    return f"{etcd.keys} keys at revision {etcd.revision}, {size(etcd.size)}, from {safe.name(etcd.machine)}"


def _secrets(manifest: BackupManifest) -> str:
    where = safe.name(manifest.secrets)
    if manifest.is_in_git:
        return f"kept; Git has them, too: {where}"
    return f"kept; Git does not have them encrypted ({where}): without this backup the cluster hangs on that place"


def _configs(manifest: BackupManifest) -> str:
    silent = "".join(f"; not of {safe.name(name)}: {safe.name(why)}" for name, why in manifest.silent.items())
    return f"of {', '.join(map(safe.name, manifest.talos)) or 'nobody'}{silent}"


def _repo(manifest: BackupManifest) -> str:
    repo = manifest.repo
    if not repo.commit:
        return "in no commit"
    dirty = ", with changes that are not committed" if repo.is_dirty else ""
    return f"{repo.commit[:12]}{f' on {safe.name(repo.branch)}' if repo.branch else ''}{dirty}"


def _next(one: StoredBackup) -> str:
    place = "" if "/.firstlight/" in one.path else f" --from {safe.name(one.path.rpartition('/')[0])}"
    return f"firstlight backup verify {one.stamp} --restore{place}"


def _stays(found: Pruning) -> str:
    return f"{_many(len(found.stays))} stay{'s' if len(found.stays) == 1 else ''}"


def _many(number: int) -> str:
    return f"{number} backup{'' if number == 1 else 's'}"


def _seconds(number: float) -> str:
    return f"{number:.0f} s" if number >= 1 else ""
