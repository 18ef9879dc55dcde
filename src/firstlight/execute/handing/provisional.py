"""The provisional certificate: before Talos lets go of anything, the engine must be proven to hold it."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.handing import keeping_certificate
from firstlight.execute.handing.certifying import certify
from firstlight.execute.world import World
from firstlight.model.certificate import OF_THE_MOMENT, Certificate, Stage
from firstlight.model.handover import Passing
from firstlight.model.work import Certify
from firstlight.report import certificate as report

_SHOWN = 3


async def require(passing: Sequence[Passing], world: World, *, step: str = "") -> Certificate:
    """Prove that the engine holds objects, and keep that in a file; called before Talos is touched.

    That pods were replaced on the way does not stop a release, which replaces none; the final certificate tells.

    Args:
        passing: What Talos is to release.
        world: The run.
        step: Who is told what is waited for.

    Raises:
        errors.Refused: The engine does not hold all of it.
        errors.ClientError: The API does not answer.
    """
    made = await certify(Certify(passing=tuple(passing)), world, stage=Stage.PROVISIONAL, step=step)
    path = keeping_certificate.keep_provisional(made, world.state / world.cluster.name)
    if failures := report.failures(_lasting(made)):
        more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
        raise errors.Refused(
            f"Talos keeps everything, since the engine does not hold it: {'; '.join(failures[:_SHOWN])}{more}",
            hint=f"Everything that was seen is in {path}. Who owns what: firstlight owners {world.cluster.name}",
        )
    return made


def _lasting(certificate: Certificate) -> Certificate:
    """With nothing but what must be so now."""
    objects = [
        dataclasses.replace(each, proofs=tuple(one for one in each.proofs if one.claim not in OF_THE_MOMENT))
        for each in certificate.objects
    ]
    return dataclasses.replace(certificate, objects=tuple(objects))
