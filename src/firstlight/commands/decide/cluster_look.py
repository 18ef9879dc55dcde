"""How ``decide`` comes by what it looks at besides files: the cluster, and what checks want to know."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import kube, program_path
from firstlight.clients.git import Git
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange, RenderedRevision
from firstlight.commands.decide.decide import Decided
from firstlight.gates import api, cluster_health, engine_workloads
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.plan import Gate, Subject
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verdict, lets_on
from firstlight.model.work import Watch
from firstlight.observe import component_health
from firstlight.observe.gate_watch import Watching
from firstlight.tools import find, workshop


class ClusterLook:
    """A cluster that is looked at once it is known which one is meant."""

    def __init__(
        self, cluster: str, way: tuple[Path | None, str], stack: contextlib.AsyncExitStack, *, is_wanted: bool
    ) -> None:
        self.cluster = cluster
        self.client: kube.Client | None = None
        self.unreached = "no cluster was asked: --cluster NAME or --kubeconfig"
        self._way = way
        self._stack = stack
        self._is_wanted = is_wanted

    async def facts(self, platform: Platform) -> DecisionFacts | None:
        """How the cluster stands; nothing where none is to be looked at.

        Raises:
            errors.UsageError: The repo has no such cluster, or several.
            errors.ConfigError: There is no way to it.
            errors.Refused: What answers is another cluster.
        """
        if not self._is_wanted:
            return None

        one = which_cluster.cluster_of(platform, self.cluster)
        self.cluster = one.name
        state = state_files.directory_of(platform.root)
        config = which_cluster.config(state, one.name, kubeconfig=self._way[0], context=self._way[1])
        client = await self._stack.enter_async_context(kube.Client(config, agent="decide"))
        with contextlib.suppress(errors.ClientError, TimeoutError):  # that nothing answers is for the look to say
            async with asyncio.timeout(PATIENCE):
                await which_cluster.check(client, state=state, cluster=one.name)
        seen = await look_at_cluster(client, one)
        if seen.is_reached:
            await which_cluster.check(client, state=state, cluster=one.name)
            self.client, self.unreached = client, ""
        else:
            self.unreached = seen.says
        return DecisionFacts(
            operational=seen.operational, engine_works=seen.engine_works, says=seen.says, looked=self.options
        )

    @property
    def options(self) -> tuple[str, ...]:
        """How the same cluster is looked at once more."""
        kubeconfig, context = self._way
        way = [("--kubeconfig", str(kubeconfig) if kubeconfig else ""), ("--context", context)]
        return ("--cluster", self.cluster, *(word for pair in way if pair[1] for word in pair))


@contextlib.asynccontextmanager
async def open_cluster_look(
    cluster: str, way: tuple[Path | None, str], *, is_wanted: bool
) -> AsyncIterator[ClusterLook]:
    """A look at a cluster, closed afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        yield ClusterLook(cluster, way, stack, is_wanted=is_wanted)


async def gathered_check_input(decided: Decided, look: ClusterLook, *, offline: bool, is_kept: bool) -> CheckInput:
    """What checks may look at.

    Args:
        decided: The decision, and what it was made from.
        look: The cluster.
        offline: Fetch nothing.
        is_kept: Whether checks are made, and what is measured before a change is kept, to be compared after it.

    Raises:
        errors.ToolError: The talosctl that the user named will not do.
    """
    found, git = decided.states, program_path.find("git")
    history = None
    if git and found.base:
        history = CommitRange(git=Git(Path(git)), path=found.root, base=found.base, head=found.head)
    return CheckInput(
        after=RenderedRevision(
            tree=decided.after.tree, platform=decided.after.platform, renditions=decided.rendered.after
        ),
        before=RenderedRevision(
            tree=decided.before.tree, platform=decided.before.platform, renditions=decided.rendered.before
        ),
        paths=found.paths,
        unrendered=decided.rendered.problem,
        client=look.client,
        cluster=look.cluster,
        unreached=look.unreached,
        authorities=found.authorities,
        history=history,
        talosctl=await _talosctl() if is_kept else None,
        state=state_files.directory_of(found.root) if is_kept else None,
        is_offline=offline,
    )


async def _talosctl() -> Path | None:
    """The user's own, or the one that firstlight has installed."""
    shop = workshop.here()
    search = await find.find(shop.catalogue.get("talosctl"), shop)
    if search.problem:
        raise errors.ToolError(search.problem)
    return search.found.path if search.found is not None else None


# How a cluster stands when it is looked at: whether it works, and whether its engine does. Nothing is written.


PATIENCE = 15.0
"""Seconds for an answer; a cluster that takes longer does not work."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSight:
    """What was seen."""

    is_reached: bool = True
    """Whether the API answers at all."""
    operational: bool
    engine_works: bool | None = None
    """None where no engine is declared, or where nobody could look."""
    says: str = ""


async def look_at_cluster(client: kube.Client, cluster: Cluster) -> ClusterSight:
    """One look; that nothing answers is an answer, too."""
    ground = GateContext(cluster, "", {})
    first = api.question(Gate(Subject.API), Watch(), ground)
    controllers = (
        engine_workloads.question(Gate(Subject.ENGINE), Watch(), ground) if cluster.engine is not None else None
    )
    assert first is not None
    try:
        async with asyncio.timeout(PATIENCE):
            await client.ready()
            async with Watching(client) as watching:
                ready = await _verdict(first, watching)
                if not lets_on(ready):
                    return ClusterSight(operational=False, says=ready.reason)
                joined = await _verdict(cluster_health.nodes_question(cluster.machines), watching)
                runs = await _verdict(controllers, watching) if controllers is not None else None
    except TimeoutError:
        says = f"the API server has not answered within {PATIENCE:.0f} s"
        return ClusterSight(is_reached=False, operational=False, says=says)
    except errors.ClientError as error:
        return ClusterSight(is_reached=False, operational=False, says=error.message)
    said = "; ".join(each.reason for each in (ready, joined, runs) if each is not None and each.reason)
    return ClusterSight(
        operational=lets_on(joined), engine_works=lets_on(runs) if runs is not None else None, says=said
    )


async def _verdict(question: GateQuestion, watching: Watching) -> Verdict:
    (found,) = await component_health.judged([question], watching, wait=0.0)
    return found
