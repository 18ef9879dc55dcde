"""Whether pods reach each other and names are found: tried by pods, and by Cilium's own test where its program is."""

from collections.abc import Sequence
from pathlib import Path

from firstlight.clients import program_path
from firstlight.clients.cilium import Cilium
from firstlight.document.within import text
from firstlight.execute import kept_access
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.journal import directory
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.verification import Check
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.verify import connectivity, probing

_LAB = "firstlight lab"
"""What the lab's nodes say that they run."""


def stage(carrying: Carrying, cluster: Cluster) -> Stage:
    """A stage that tries the network with pods, which are removed again."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        domain = cluster.network.dns_domain
        made: list[Check] = [*await probing.checks(world.kube, world.watching, domain=domain)]
        is_lab = carrying.means.is_rehearsal or await _is_lab(world)
        made.append(await connectivity.check(world.kube, _cilium(carrying, cluster), is_lab=is_lab))
        verdict = judged(made, is_lab=is_lab)
        on_verdict(verdict)
        return verdict, "" if isinstance(verdict, Passed) else "See: firstlight verify --probe, firstlight doctor"

    return Stage(
        id=f"{cluster.name}:cni-connectivity", name="connectivity", what="DNS, pod to pod, Cilium's own test",
        phase=Phase.GITOPS, wait=wait,
    )  # fmt: skip


def judged(checks: Sequence[Check], *, is_lab: bool = False) -> Verdict:
    """One verdict on all of them; what was not tried is said."""
    bad = [each for each in checks if isinstance(each.verdict, Failed | Waiting)]
    if bad:
        return Failed("; ".join(f"{each.name}: {each.verdict.reason}" for each in bad))
    said = [f"{each.name}: {each.verdict.reason}" for each in checks if not isinstance(each.verdict, Skipped)]
    said += [each.verdict.reason for each in checks if isinstance(each.verdict, Skipped)]
    return Passed("; ".join([*said, *(["simulated, since this is a lab"] if is_lab else [])]))


def _cilium(carrying: Carrying, cluster: Cluster) -> Cilium | None:
    """Cilium's own program, if the user has it, on the way that firstlight has kept to the cluster."""
    program = program_path.find("cilium")
    kubeconfig: Path = carrying.means.state / cluster.name / "kubeconfig"
    if program is None or not directory.is_file(kubeconfig):
        return None
    kept_access.kubeconfig(kubeconfig)  # the program would do whatever the file says
    return Cilium(Path(program), kubeconfig=kubeconfig)


async def _is_lab(world: World) -> bool:
    found = (await world.kube.list(looking.NODES.api_version, looking.NODES.kind)).items
    return any(text(each, "status", "nodeInfo", "osImage").startswith(_LAB) for each in found)
