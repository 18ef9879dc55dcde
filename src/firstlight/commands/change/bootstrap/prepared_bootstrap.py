"""What ``up`` would do in a cluster with the files that a change leaves, whatever is checked out meanwhile.

The files are laid out in a directory of their own, which is gone with the world. Only what is encrypted is read from
the work tree, where its keys are found: it must be there as the change has it.
"""

import asyncio
import dataclasses

from firstlight import errors
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.node import declared_configs
from firstlight.commands.node.declared_configs import DeclaredConfigs
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import World
from firstlight.model.change import Matter
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.render import private_directory
from firstlight.render.rendered_diff import PlatformRevision

_MANY = 3


class PreparedBootstrap:
    """Prepares a cluster's bootstrap once, for all stages of one walk."""

    def __init__(self, carrying: OngoingChange, cluster: Cluster, *, is_strict: bool = True) -> None:
        """Prepare to prepare; nothing is rendered before somebody asks.

        Args:
            carrying: The change.
            cluster: The cluster.
            is_strict: Whether what stands in the way of a whole run refuses it; not where steps are only looked at.
        """
        self._is_strict = is_strict
        self._carrying = carrying
        self._cluster = cluster
        self._lock = asyncio.Lock()
        self._known: PreparedRun | None = None
        self._platform: Platform | None = None

    def machines(self, world: World) -> DeclaredConfigs:
        """What the machines are to be.

        Raises:
            errors.Refused: The files say something that cannot be used.
        """
        platform = self._laid_out(world)
        return declared_configs.of(platform, platform.cluster(self._cluster.name) or self._cluster, self._means())

    async def get(self, world: World) -> PreparedRun:
        """The plan and its tasks, from the files that clusters must come to.

        Raises:
            errors.Refused: Something stands in its way, or an encrypted file is another one in the work tree.
        """
        async with self._lock:
            if self._known is None:
                self._known = await self._made(world)
            return self._known

    async def _made(self, world: World) -> PreparedRun:
        _refuse_other_secrets(self._carrying, half_of(self._carrying))
        wishes = RunRequest(cluster=self._cluster.name)
        found = await up.prepare(self._laid_out(world), wishes, self._means(), is_checked=False)
        wrong = [each for each in found.problems if each.severity == Severity.ERROR]
        if wrong and self._is_strict:
            more = f"; and {len(wrong) - _MANY} more" if len(wrong) > _MANY else ""
            raise errors.Refused(
                f"{'; '.join(each.message for each in wrong[:_MANY])}{more}",
                hint=wrong[0].fix or "See all of it: firstlight plan",
            )
        return found

    def _means(self) -> Means:
        return dataclasses.replace(self._carrying.means, revision=_revision(self._carrying))

    def _laid_out(self, world: World) -> Platform:
        """The platform with its files on a disk, or in memory where that can be."""
        if self._platform is None:
            half = half_of(self._carrying)
            files = {path: content for path in half.tree.files if (content := half.tree.bytes(path)) is not None}
            tree = private_directory.create_with_files(files, links=half.tree.links, purpose="decide", is_lenient=True)
            self._platform = dataclasses.replace(half.platform, root=world.holding(tree))
        return self._platform


def half_of(carrying: OngoingChange) -> PlatformRevision:
    """The files that clusters must come to."""
    return carrying.decided.before if carrying.is_reverting else carrying.decided.after


def _revision(carrying: OngoingChange) -> str:
    record = carrying.record
    return (record.reverted if carrying.is_reverting else record.merged) or record.commit or record.base


def _refuse_other_secrets(carrying: OngoingChange, half: PlatformRevision) -> None:
    """See that what is encrypted is in the work tree as the change has it: secrets are resolved there."""
    paths = {each.change.place.path for each in carrying.decided.decision.items if each.change.matter is Matter.SECRET}
    for path in sorted(paths):
        file = carrying.root / path
        there = file.read_bytes() if file.is_file() else None
        if there != half.tree.bytes(path):
            raise errors.Refused(
                f"{path} is another one in the work tree than this change has, and secrets are read from there",
                hint="Switch to the commit that is to be applied, and go on: git switch BRANCH",
            )
