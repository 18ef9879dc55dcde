"""Proves that a handover was complete and harmless, and keeps the evidence. What was proven once stays proven.

Pods that are others than before are no secret and no dead end: whoever runs it is asked, and the certificate says so.
"""

from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.handing import keeping_certificate, signing
from firstlight.execute.handing.certifying import certify, replaced, uid_of
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
    found = covering.standing(await keeping_certificate.load(world.kube, uid=uid))
    kept = found or covering.standing(keeping_certificate.copy_of(directory, uid=uid))
    left = covering.unproven(task.passing, kept, staying=task.staying)
    is_covered = kept is not None and not left and set(task.released) <= set(kept.released)
    is_signed = task.key is None or (kept is not None and bool(kept.signature))
    if found is not None and is_covered and is_signed:
        return None
    fresh = covering.uncovered(left, kept.objects if kept is not None else ())
    others = await replaced(fresh, world.kube) if fresh and not task.is_restart_accepted else ()

    async def perform() -> None:
        made = kept
        if made is None or not is_covered:
            made = await certify(task, world, stage=Stage.FINAL, step=step, kept=kept)
            made = covering.agreed(made, None if task.is_restart_accepted else others)
        if not made.is_complete:
            raise _incomplete(made, str(keeping_certificate.keep_incomplete(made, directory)))
        if task.key is not None and not (is_covered and made.signature):
            made = await signing.sign(made, task.key)
        elif kept is not None and kept.signature and not made.signature:
            world.tell(step, "it covers more than the one that was signed: sign it again with --sign KEY")
        await keeping_certificate.keep(made, world.kube, directory)
        world.tell(step, report.headline(made))

    what = f"prove {len(left)} object{'s' if len(left) != 1 else ''}, and keep the certificate in {_WHERE}"
    if is_covered:
        what = f"sign the certificate in {_WHERE}" if found else f"keep the certificate of the file in {_WHERE} again"
    return Change(writes=(what,), perform=perform, danger=_danger(others))


def _danger(others: Sequence[ObjectId]) -> str:
    if not others:
        return ""
    names = ", ".join(map(str, others))
    return f"pods of {names} were replaced or restarted since the baseline; the certificate is kept with that said"


def _incomplete(certificate: Certificate, path: str) -> errors.FirstlightError:
    failures = report.failures(certificate)
    hint = f"Everything that was seen is in {path}. Who owns what: firstlight owners {certificate.cluster}"
    if covering.agreed(certificate).is_complete:
        hint = (
            f"Everything that was seen is in {path}. If the pods may be others, keep the certificate with that said: "
            f"firstlight handover {certificate.cluster} --accept-restarts"
        )
    return errors.FirstlightError(f"the certificate is not complete: {_listed(failures)}", hint=hint)


def _listed(failures: Sequence[str]) -> str:
    more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return "; ".join(failures[:_SHOWN]) + more
