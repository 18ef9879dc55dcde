"""Proves that a handover was complete and harmless, and keeps the evidence. What was proven once stays proven.

Pods that are others than before are no secret and no dead end: whoever runs it is asked, and the certificate says so.
"""

from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.handing import keeping_certificate, signing
from firstlight.execute.handing.certifying import certify, lapsed, replaced, uid_of
from firstlight.execute.handing.keeping_certificate import Kept
from firstlight.execute.world import World
from firstlight.model.certificate import Certificate, Stage
from firstlight.model.component import ObjectId
from firstlight.model.work import Certify
from firstlight.ownership import covering
from firstlight.report import certificate as report

_SHOWN = 3
_WHERE = f"ConfigMap {keeping_certificate.NAMESPACE}/{keeping_certificate.NAME}"


async def look(task: Certify, world: World, step: str) -> Change | None:
    """Nothing, if a sealed and complete certificate of this very cluster covers everything as far as Talos lets go.

    Raises:
        errors.ClientError: The API does not answer.
    """
    uid, directory = await uid_of(world.kube), world.state / world.cluster.name
    found = _standing(await keeping_certificate.load_kept(world.kube, uid=uid))
    kept = found or _standing(keeping_certificate.copy_of(directory, uid=uid))
    before = kept.certificate if kept is not None else None
    left = covering.unproven(task.passing, before, staying=task.staying)
    again = await lapsed([each for each in task.passing if each not in left], world.kube) if task.is_again else ()
    is_covered = before is not None and not left and not again and set(task.released) <= set(before.released)
    is_signed = task.key is None or (before is not None and await signing.is_by(before, task.key))
    if found is not None and is_covered and is_signed:
        return None
    fresh = covering.uncovered(left, before.objects if before is not None else ())
    others = await replaced(fresh, world.kube) if fresh and not task.is_restart_accepted else ()

    async def perform() -> None:
        made = kept
        if made is None or not is_covered:
            proven = await certify(
                task, world, stage=Stage.FINAL, step=step, kept=before, again=[each.id for each in again]
            )
            proven = covering.agreed(proven, None if task.is_restart_accepted else others)
            if not proven.is_complete:
                raise _incomplete(proven, str(keeping_certificate.keep_incomplete(proven, directory)))
            made = keeping_certificate.made(proven)
        if task.key is not None and not (is_covered and is_signed):
            made = made.signed((await signing.sign(made.certificate, task.key)).signature)
        elif before is not None and before.signature and not made.certificate.signature:
            world.tell(step, "it covers more than the one that was signed: sign it again with --sign KEY")
        await keeping_certificate.keep(made, world.kube, directory)
        world.tell(step, report.headline(made.certificate))

    return Change(
        writes=(_what(len(left) + len(again), is_covered=is_covered, is_found=found is not None),),
        perform=perform, danger=_danger(others),
    )  # fmt: skip


def _standing(kept: Kept | None) -> Kept | None:
    return kept if kept is not None and covering.standing(kept.certificate) is not None else None


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
    failures = report.failures(certificate)
    hint = (
        f"Everything that was seen is in {path}. How it differs from Git: firstlight drift {certificate.cluster}; "
        f"who owns what: firstlight owners {certificate.cluster}"
    )
    if covering.agreed(certificate).is_complete:
        hint = (
            f"Everything that was seen is in {path}. If the pods may be others, keep the certificate with that said: "
            f"firstlight handover {certificate.cluster} --accept-restarts"
        )
    return errors.FirstlightError(f"the certificate is not complete: {_listed(failures)}", hint=hint)


def _listed(failures: Sequence[str]) -> str:
    more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return "; ".join(failures[:_SHOWN]) + more
