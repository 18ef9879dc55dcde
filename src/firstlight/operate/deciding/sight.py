"""How a cluster stands when it is looked at: whether it works, and whether its engine does. Nothing is written."""

import asyncio
import dataclasses

from firstlight import errors
from firstlight.clients import kube
from firstlight.gates import api, engine
from firstlight.gates.ground import GateGround
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Verdict, lets_on
from firstlight.model.work import Watch
from firstlight.observe.watching import Watching
from firstlight.operate.verify import components, nodes

PATIENCE = 15.0
"""Seconds for an answer; a cluster that takes longer does not work."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen."""

    is_reached: bool = True
    """Whether the API answers at all."""
    operational: bool
    engine_works: bool | None = None
    """None where no engine is declared, or where nobody could look."""
    says: str = ""


async def looked(client: kube.Client, cluster: Cluster) -> Sight:
    """One look; that nothing answers is an answer, too."""
    ground = GateGround(cluster, "", {})
    first = api.question(Gate(Subject.API), Watch(), ground)
    controllers = engine.question(Gate(Subject.ENGINE), Watch(), ground) if cluster.engine is not None else None
    assert first is not None
    try:
        async with asyncio.timeout(PATIENCE):
            await client.ready()
            async with Watching(client) as watching:
                ready = await _verdict(first, watching)
                if not lets_on(ready):
                    return Sight(operational=False, says=ready.reason)
                joined = await _verdict(nodes.question(cluster.machines), watching)
                runs = await _verdict(controllers, watching) if controllers is not None else None
    except TimeoutError:
        says = f"the API server has not answered within {PATIENCE:.0f} s"
        return Sight(is_reached=False, operational=False, says=says)
    except errors.ClientError as error:
        return Sight(is_reached=False, operational=False, says=error.message)
    said = "; ".join(each.reason for each in (ready, joined, runs) if each is not None and each.reason)
    return Sight(operational=lets_on(joined), engine_works=lets_on(runs) if runs is not None else None, says=said)


async def _verdict(question: Question, watching: Watching) -> Verdict:
    (found,) = await components.judged([question], watching, wait=0.0)
    return found
