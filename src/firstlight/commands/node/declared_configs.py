"""The machine configs that the repo declares, as drafts: of its files now, or of an earlier commit."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path, scratch
from firstlight.clients.git import Git
from firstlight.commands.up import up
from firstlight.execute import machine_configs
from firstlight.execute.machine_configs import ConfigManifests, is_same_but_version
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_config import MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.secret import Resolve, Secret
from firstlight.model.work import Configure
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from firstlight.secrets.secret_resolver import SecretResolver


@dataclasses.dataclass
class DeclaredConfigs:
    """What a repo says that the machines of a cluster are to be."""

    platform: Platform
    cluster: Cluster
    means: Means
    drafts: Mapping[str, MachineDraft]
    resolve: Resolve | None = None
    """How references of its files are resolved, where they are not those on the disk."""
    revision: str = ""
    """The commit, where it is not what is on the disk."""
    _passing: frozenset[str] | None = None
    _made: dict[str, Secret] = dataclasses.field(default_factory=dict, repr=False)

    async def config(self, name: str, world: World, *, has: ConfigManifests) -> Secret:
        """The steady rendition for a machine that is there: what it was released from does not come back.

        Args:
            name: The machine.
            world: The cluster, with its keys.
            has: The manifests that the machine has.

        Raises:
            errors.Refused: What the repo says of it does not make a config.
        """
        draft = self.drafts[name]
        own = world if self.resolve is None else dataclasses.replace(world, resolve=self.resolve)
        if name not in self._made:
            self._made[name] = await machine_configs.make(draft, own)
        made = self._made[name]
        if self._is_new(made, has):
            draft = dataclasses.replace(draft, passing=await self._passes())
        return await machine_configs.steady(draft, made, own, has=has)

    def _is_new(self, config: Secret, has: ConfigManifests) -> bool:
        """Whether it lists a URL that the machine lacks: it is new, or was released; only a plan tells which."""
        urls = [each for listed in machine_configs.manifests(config).urls.values() for each in listed]
        return any(not any(is_same_but_version(each, other) for other in has.names) for each in urls)

    async def _passes(self) -> frozenset[str]:
        """URLs of manifests that pass to the engine."""
        if self._passing is None:
            wishes = RunRequest(cluster=self.cluster.name)
            prepared = await up.prepare(self.platform, wishes, self.means, is_checked=False)
            tasks = [each for each in prepared.work.tasks.values() if isinstance(each, Configure)]
            self._passing = frozenset(url for each in tasks for draft in each.drafts for url in draft.passing)
        return self._passing


def of(platform: Platform, cluster: Cluster, means: Means) -> DeclaredConfigs:
    """What the files on the disk say.

    Raises:
        errors.Refused: They say something that cannot be used; everything is said.
    """
    drafts, diagnostics = machine_drafts.machine_drafts(platform, cluster)
    wrong = [each for each in diagnostics if each.severity is Severity.ERROR]
    if wrong:
        said = "; ".join(f"{each.place}: {each.message}" for each in wrong)
        raise errors.Refused(f"the machines of {cluster.name} are not declared well: {said}", hint=wrong[0].fix)
    by_name = {each.machine.name: each for each in drafts}
    return DeclaredConfigs(platform=platform, cluster=cluster, means=means, drafts=by_name)


@contextlib.asynccontextmanager
async def at_revision(
    platform: Platform, cluster: Cluster, means: Means, *, revision: str
) -> AsyncIterator[DeclaredConfigs]:
    """What an earlier commit says; its files are there as long as this is open.

    Raises:
        errors.Refused: There is no Git, no such commit, or the cluster is not in it.
    """
    if means.git is None:
        raise errors.Refused("git is needed for --revision", hint="Install git.")
    with scratch.directory("revision") as home:
        exported = await Git(means.git).export(platform.root, revision, Path(home) / "repo")
        root = exported.path / _below(platform.root)
        before = platform_reader.read(root)
        then = before.cluster(cluster.name)
        if then is None:
            raise errors.Refused(f"{revision} has no cluster {cluster.name}", hint="Name a later commit.")
        op = program_path.find("op")
        resolver = SecretResolver(root, sops=means.programs.sops, op=Path(op) if op else None)
        try:
            found = of(before, then, means)
            found.resolve, found.revision = means.masks.remembering(resolver.resolve), exported.commit
            yield found
        finally:
            await resolver.close()


def _below(root: Path) -> Path:
    """Where the platform is in its repository, which may hold more than that."""
    whole = root.absolute()
    top = next((each for each in (whole, *whole.parents) if (each / ".git").exists()), whole)
    return whole.relative_to(top)
