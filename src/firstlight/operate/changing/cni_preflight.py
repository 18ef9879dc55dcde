"""The checks before an upgrade of the network plugin: any that fails stops it before anything is written."""

from collections.abc import Sequence

from firstlight import errors
from firstlight.execute import config_manifests
from firstlight.execute.change import Change as ToWrite
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.change import Change, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.decision import Check, CheckState, Decision
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.operate.changing import bootstrap, bootstrap_backup, cni_sight
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.bootstrap_scope import Scope
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.changing.cni_choosing import Upgrade
from firstlight.policy.cni import preflight

_ILL = frozenset({"cni-health", "cni-running"})
"""What does not hold up a way back, which may be the cure; nor somebody who has said why it is done all the same."""


def stage(carrying: Carrying, cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> Stage:
    """A stage that writes nothing."""

    async def look(world: World) -> ToWrite | None:
        if not upgrade.is_git:
            await bootstrap_backup.require(carrying, cluster, world)
        return None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        _refuse_more(carrying, cluster, upgrade)
        sight = await cni_sight.of(upgrade, await preparing.get(world), world)
        made = preflight.checks(sight)
        _kept(carrying, cluster, made)
        verdict = judged(made, is_ill_allowed=carrying.is_reverting or bool(carrying.record.anyway))
        on_verdict(verdict)
        return verdict, "" if isinstance(verdict, Passed) else _hint(made)

    return Stage(
        id=f"{cluster.name}:cni-preflight", name=f"{upgrade.title}: preflight", phase=Phase.INLINE, look=look,
        wait=wait, what="health, one minor version at a time, what it drops, Kubernetes, Linux",
    )  # fmt: skip


def judged(checks: Sequence[Check], *, is_ill_allowed: bool = False) -> Verdict:
    """One verdict on all of them."""
    allowed = _ILL if is_ill_allowed else frozenset[str]()
    failed = [each for each in checks if each.state is CheckState.FAILED and each.id not in allowed]
    if failed:
        return Failed("; ".join(each.says for each in failed))
    steps = next((each.says for each in checks if each.id == "cni-steps"), "")
    people = [each.says for each in checks if each.state is CheckState.PERSON and each.says != steps]
    return Passed(f"{steps}; for somebody to look at: {'; '.join(people)}" if people else steps)


def _hint(checks: Sequence[Check]) -> str:
    details = [one for each in checks if each.state is CheckState.FAILED for one in each.details]
    return " ".join(details[:3])


def _refuse_more(carrying: Carrying, cluster: Cluster, upgrade: Upgrade) -> None:
    others = others_of(carrying.decided.decision, bootstrap.scope_of(carrying, cluster), upgrade.component.name)
    if others:
        raise errors.Refused(
            f"the network plugin is upgraded by a change of its own, and this one also has {', '.join(others)}",
            hint="Make two changes of it.",
        )


def others_of(decision: Decision, scope: Scope, own: str) -> tuple[str, ...]:
    """What else bootstrap would have to write: a network that fails must not leave both half done.

    Args:
        decision: The change.
        scope: What of it is bootstrap's.
        own: The network plugin.
    """
    found = [each for each in scope.components if each != own]
    found += ["secrets of the foundation"] if scope.has_secrets else []
    machines = [each.change for each in decision.items if each.change.matter is Matter.MACHINE]
    found += [each.title for each in machines if scope.has_machines and not _is_inline_manifest(each)]
    return tuple(dict.fromkeys(found))


def _is_inline_manifest(change: Change) -> bool:
    """Whether a change of a machine config is one of its inline manifests alone, which this path brings."""
    if change.kind == config_manifests.INLINE:
        return True
    return bool(change.fields) and all("inlineManifests" in each.steps for each in change.fields)


def _kept(carrying: Carrying, cluster: Cluster, made: Sequence[Check]) -> None:
    """Keep them in the record, in the place of what was seen before."""
    ids = {each.id for each in made}
    others = [each for each in carrying.record.checks if each.id not in ids]
    carrying.keeper.set(checks=(*others, *made))
