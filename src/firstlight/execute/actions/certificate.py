"""Proves that a handover was complete and harmless, and keeps the evidence. What was proven once stays proven."""

from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.handing import keeping_certificate, signing
from firstlight.execute.handing.certifying import certify, uid_of, unproven
from firstlight.execute.world import World
from firstlight.model.certificate import Certificate, Stage
from firstlight.model.work import Certify
from firstlight.report import certificate as report

_SHOWN = 3


async def look(task: Certify, world: World, step: str) -> Change | None:
    """Nothing, if a sealed, complete and final certificate of this very cluster covers everything.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kept = await keeping_certificate.load(world.kube, uid=await uid_of(world.kube))
    if kept is not None and kept.stage != Stage.FINAL:
        kept = None
    left = len(unproven(task.passing, kept))
    is_covered = kept is not None and not left and set(task.released) <= set(kept.released)
    if is_covered and kept is not None and (task.key is None or kept.signature):
        return None

    async def perform() -> None:
        made = kept
        if made is None or not is_covered:
            made = await certify(task, world, stage=Stage.FINAL, step=step, kept=kept)
        directory = world.state / world.cluster.name
        if not made.is_complete:
            raise _incomplete(made, str(keeping_certificate.keep_incomplete(made, directory)))
        if task.key is not None:
            made = await signing.sign(made, task.key)
        elif kept is not None and kept.signature:
            world.tell(step, "it covers more than the one that was signed: sign it again with --sign KEY")
        await keeping_certificate.keep(made, world.kube, directory)
        world.tell(step, report.headline(made))

    return Change(writes=(_sentence(left, is_covered=is_covered),), perform=perform)


def _sentence(left: int, *, is_covered: bool) -> str:
    where = f"ConfigMap {keeping_certificate.NAMESPACE}/{keeping_certificate.NAME}"
    if is_covered:
        return f"sign the certificate in {where}"
    return f"prove {left} object{'s' if left != 1 else ''}, and keep the certificate in {where}"


def _incomplete(certificate: Certificate, path: str) -> errors.FirstlightError:
    failures = report.failures(certificate)
    return errors.FirstlightError(
        f"the certificate is not complete: {_listed(failures)}",
        hint=f"Everything that was seen is in {path}. Who owns what: firstlight owners {certificate.cluster}",
    )


def _listed(failures: Sequence[str]) -> str:
    more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return "; ".join(failures[:_SHOWN]) + more
