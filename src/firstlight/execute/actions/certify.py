"""Keeps how everything is before Git takes over: in the cluster, and in a file. Who saved one already, keeps it."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.drawing import certificate_text
from firstlight.execute.handover import baseline, certificate_store
from firstlight.execute.handover.certificate_store import StoredCertificate
from firstlight.execute.handover.certification import certify, lapsed, replaced, uid_of
from firstlight.execute.world import PendingChange, World
from firstlight.model.certificate import Certificate, CertificateStage
from firstlight.model.component import ObjectId
from firstlight.model.work import Certify, SaveBaseline
from firstlight.ownership import certificate_scope


async def look_baseline(task: SaveBaseline, world: World, step: str) -> PendingChange | None:
    """Nothing, if a whole baseline of this very cluster is there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    uid = await uid_of(world.kube)
    if await baseline.is_kept(world.kube, uid=uid):
        return None

    file = world.state / world.cluster.name / baseline.FILE

    async def perform() -> None:
        if (saved := await baseline.copy_of(world.kube, file, uid=uid)) is not None:
            # What is there now is not what was there before Git took over.
            await baseline.store(saved, world.kube)
            world.tell(step, f"it was lost, or a part of it, and is as in {file} again")
            return
        taken = dataclasses.replace(await baseline.take(task.objects, world.kube), cluster=uid)
        baseline.write(taken, file)
        await baseline.store(taken, world.kube)
        had = sum(bool(each.holder) for each in taken.objects)
        late = f"; the engine has {had} of them already, and how those were before is not known" if had else ""
        world.tell(step, f"{len(taken.objects)} objects and {len(taken.pods)} pods as they are now{late}")

    return PendingChange(
        writes=(f"save the baseline in ConfigMap {baseline.NAMESPACE}/{baseline.NAME}",), perform=perform
    )


# Proves that a handover was complete and harmless, and keeps the evidence. What was proven once stays proven.
#
# Pods that are others than before are no secret and no dead end: whoever runs it is asked, and the certificate says so.


_SHOWN = 3
_WHERE = f"ConfigMap {certificate_store.NAMESPACE}/{certificate_store.NAME}"


async def look_certificate(task: Certify, world: World, step: str) -> PendingChange | None:
    """Nothing, if a sealed and complete certificate of this very cluster covers everything as far as Talos lets go.

    Raises:
        errors.ClientError: The API does not answer.
    """
    uid, directory = await uid_of(world.kube), world.state / world.cluster.name
    found = _standing(await certificate_store.load_kept(world.kube, uid=uid))
    kept = found or _standing(certificate_store.copy_of(directory, uid=uid))
    before = kept.certificate if kept is not None else None
    left = certificate_scope.unproven(task.passing, before, staying=task.staying)
    again = await lapsed([each for each in task.passing if each not in left], world.kube) if task.is_again else ()
    is_covered = before is not None and not left and not again and set(task.released) <= set(before.released)
    is_signed = task.key is None or (before is not None and await certificate_store.is_signed_by(before, task.key))
    if found is not None and is_covered and is_signed:
        return None
    fresh = certificate_scope.uncovered(left, before.objects if before is not None else ())
    others = await replaced(fresh, world.kube) if fresh and not task.is_restart_accepted else ()

    async def perform() -> None:
        made = kept
        if made is None or not is_covered:
            proven = await certify(
                task, world, stage=CertificateStage.FINAL, step=step, kept=before, again=[each.id for each in again]
            )
            proven = certificate_scope.with_agreed(proven, None if task.is_restart_accepted else others)
            if not proven.is_complete:
                raise _incomplete(proven, str(certificate_store.keep_incomplete(proven, directory)))
            made = certificate_store.made(proven)
        if task.key is not None and not (is_covered and is_signed):
            made = made.signed((await certificate_store.sign(made.certificate, task.key)).signature)
        elif before is not None and before.signature and not made.certificate.signature:
            world.tell(step, "it covers more than the one that was signed: sign it again with --sign KEY")
        await certificate_store.keep(made, world.kube, directory)
        world.tell(step, certificate_text.headline(made.certificate))

    return PendingChange(
        writes=(_what(len(left) + len(again), is_covered=is_covered, is_found=found is not None),),
        perform=perform, danger=_danger(others),
    )  # fmt: skip


def _standing(kept: StoredCertificate | None) -> StoredCertificate | None:
    return kept if kept is not None and certificate_scope.standing_certificate(kept.certificate) is not None else None


def _what(number: int, *, is_covered: bool, is_found: bool) -> str:
    """What is to be written, for people."""
    if not is_covered:
        return f"prove {number} object{'s' if number != 1 else ''}, and keep the certificate in {_WHERE}"
    return f"sign the certificate in {_WHERE}" if is_found else f"keep the certificate of the file in {_WHERE} again"


def _danger(others: Sequence[ObjectId]) -> str:
    if not others:
        return ""
    names = ", ".join(map(str, others))
    return f"pods of {names} were replaced or restarted since the baseline; the certificate is kept with that said"


def _incomplete(certificate: Certificate, path: str) -> errors.FirstlightError:
    failures = certificate_text.failures(certificate)
    hint = (
        f"Everything that was seen is in {path}. How it differs from Git: firstlight drift {certificate.cluster}; "
        f"who owns what: firstlight owners {certificate.cluster}"
    )
    if certificate_scope.with_agreed(certificate).is_complete:
        hint = (
            f"Everything that was seen is in {path}. If the pods may be others, keep the certificate with that said: "
            f"firstlight handover {certificate.cluster} --accept-restarts"
        )
    return errors.FirstlightError(f"the certificate is not complete: {_listed(failures)}", hint=hint)


def _listed(failures: Sequence[str]) -> str:
    more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return "; ".join(failures[:_SHOWN]) + more
