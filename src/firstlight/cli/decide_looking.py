"""How ``decide`` comes by what it looks at besides files: the cluster, and what checks want to know."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.clients import kube
    from firstlight.model.platform import Platform
    from firstlight.operate.deciding.checks.scene import Scene
    from firstlight.operate.deciding.deciding import Decided
    from firstlight.policy.deciding.facts import Facts


class Look:
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

    async def facts(self, platform: "Platform") -> "Facts | None":
        """How the cluster stands; nothing where none is to be looked at.

        Raises:
            errors.UsageError: The repo has no such cluster, or several.
            errors.ConfigError: There is no way to it.
            errors.Refused: What answers is another cluster.
        """
        if not self._is_wanted:
            return None
        from firstlight.clients import kube
        from firstlight.journal import directory
        from firstlight.operate import up
        from firstlight.operate.deciding import sight
        from firstlight.policy.deciding.facts import Facts

        one = up.cluster_of(platform, self.cluster)
        self.cluster = one.name
        state = directory.of(platform.root)
        config = which_cluster.config(state, one.name, kubeconfig=self._way[0], context=self._way[1])
        client = await self._stack.enter_async_context(kube.Client(config, agent="decide"))
        with contextlib.suppress(errors.ClientError, TimeoutError):  # that nothing answers is for the look to say
            async with asyncio.timeout(sight.PATIENCE):
                await which_cluster.check(client, state=state, cluster=one.name)
        seen = await sight.looked(client, one)
        if seen.is_reached:
            await which_cluster.check(client, state=state, cluster=one.name)
            self.client, self.unreached = client, ""
        else:
            self.unreached = seen.says
        return Facts(operational=seen.operational, engine_works=seen.engine_works, says=seen.says, looked=self.options)

    @property
    def options(self) -> tuple[str, ...]:
        """How the same cluster is looked at once more."""
        kubeconfig, context = self._way
        way = [("--kubeconfig", str(kubeconfig) if kubeconfig else ""), ("--context", context)]
        return ("--cluster", self.cluster, *(word for pair in way if pair[1] for word in pair))


@contextlib.asynccontextmanager
async def looking(cluster: str, way: tuple[Path | None, str], *, is_wanted: bool) -> "AsyncIterator[Look]":
    """A look at a cluster, closed afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        yield Look(cluster, way, stack, is_wanted=is_wanted)


async def scene(decided: "Decided", look: Look, *, offline: bool, is_kept: bool) -> "Scene":
    """What checks may look at.

    Args:
        decided: The decision, and what it was made from.
        look: The cluster.
        offline: Fetch nothing.
        is_kept: Whether checks are made, and what is measured before a change is kept, to be compared after it.

    Raises:
        errors.ToolError: The talosctl that the user named will not do.
    """
    from firstlight.clients.git import Git
    from firstlight.journal import directory
    from firstlight.operate.deciding.checks.scene import History, Scene, Version

    found, git = decided.states, program_path.find("git")
    history = None
    if git and found.base:
        history = History(git=Git(Path(git)), path=found.root, base=found.base, head=found.head)
    return Scene(
        after=Version(tree=decided.after.tree, platform=decided.after.platform, renditions=decided.rendered.after),
        before=Version(tree=decided.before.tree, platform=decided.before.platform, renditions=decided.rendered.before),
        paths=found.paths,
        unrendered=decided.rendered.problem,
        client=look.client,
        cluster=look.cluster,
        unreached=look.unreached,
        authorities=found.authorities,
        history=history,
        talosctl=await _talosctl() if is_kept else None,
        state=directory.of(found.root) if is_kept else None,
        is_offline=offline,
    )


async def _talosctl() -> Path | None:
    """The user's own, or the one that firstlight has installed."""
    from firstlight.tools import find, workshop

    shop = workshop.here()
    search = await find.find(shop.catalogue.get("talosctl"), shop)
    if search.problem:
        raise errors.ToolError(search.problem)
    return search.found.path if search.found is not None else None
