"""The machine configs that the repo declares, now or in an earlier commit, and how the config of a machine differs.

They are compared by a dry run of Talos and field by field.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import program_path, scratch, talosctl
from firstlight.clients.git import Git
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus
from firstlight.commands.up import up
from firstlight.execute import config_contract, machine_configs
from firstlight.execute.machine_configs import ConfigManifests, is_same_but_version
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import World
from firstlight.model.change import ChangedField
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_config import AppliedConfig, MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.secret import Resolve, Secret
from firstlight.model.work import Configure
from firstlight.observe.machine_survey import MachineAccess
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from firstlight.repo.changes import compare_fields
from firstlight.repo.changes.compare_fields import ABSENT, FieldManner, Steps
from firstlight.repo.secrecy import secret_fields
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

    async def config(self, name: str, world: World, *, running: Secret) -> Secret:
        """The steady rendition for a machine that is there: what it was released from does not come back.

        Args:
            name: The machine.
            world: The cluster, with its keys.
            running: The config that the machine has.

        Raises:
            errors.Refused: What the repo says of it does not make a config.
        """
        draft = config_contract.settled(self.drafts[name], [running])
        has = machine_configs.manifests(running)
        own = world if self.resolve is None else dataclasses.replace(world, resolve=self.resolve)
        if name not in self._made:
            self._made[name] = await machine_configs.make(draft, own)
        made = self._made[name]
        if self._is_new(made, has):
            draft = dataclasses.replace(draft, passing=await self._passes())
        return await machine_configs.steady(draft, made, own, has=has)

    def _is_new(self, config: Secret, has: ConfigManifests) -> bool:
        """Whether it lists a URL that the machine lacks: it is new, or was released; only a plan tells which."""
        urls = machine_configs.manifests(config).all_urls
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


Documents = Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigComparison:
    """One machine."""

    machine: Machine
    wanted: Secret
    sight: ConfigStatus
    is_staged: bool = False
    """Whether it has the wanted config on its disk, and comes by it with its next boot."""

    @property
    def is_equal(self) -> bool:
        """Whether there is nothing to apply."""
        return self.sight.equality is ConfigEquality.EQUAL


async def compare(machine: Machine, declared: DeclaredConfigs, world: World, way: MachineAccess) -> ConfigComparison:
    """What a machine would do with the config of the repo; nothing is written.

    Raises:
        errors.Refused: The repo's config is wrong.
        talosctl.TalosError: The machine does not answer.
    """
    target = way.at(machine)
    live, kept = await _configs(machine, way)
    wanted = await declared.config(machine.name, world, running=live)
    now, then = machine_configs.documents(live), machine_configs.documents(wanted)
    if machine_configs.documents(kept) != now:
        # A dry run in any other mode than try would end the trial, and let what is tried stay without being kept.
        why = "it runs with another config than it has on its disk: one is being tried, or waits for a reboot"
        sight = ConfigStatus(equality=ConfigEquality.PENDING, fields=fields(now, then), reason=why)
        return ConfigComparison(
            machine=machine, wanted=wanted, sight=sight, is_staged=machine_configs.documents(kept) == then
        )
    try:
        applied = await way.admin.apply_config(target, wanted, dry_run=True)
    except talosctl.TalosRejected as error:
        raise errors.Refused(
            f"{machine.name} does not take the config: {error.detail}", hint="Correct its patches; nothing was applied."
        ) from error
    return ConfigComparison(machine=machine, wanted=wanted, sight=_sight(applied, now, then))


async def is_settled(machine: Machine, way: MachineAccess) -> bool:
    """Whether a machine runs with what it has on its disk, as far as its Talos tells that.

    Raises:
        talosctl.TalosError: The machine does not answer.
    """
    live, kept = await _configs(machine, way)
    return machine_configs.documents(live) == machine_configs.documents(kept)


async def _configs(machine: Machine, way: MachineAccess) -> tuple[Secret, Secret]:
    """The config in force, and the one on the disk."""
    live, kept = await asyncio.gather(way.admin.machine_config(way.at(machine)), persisted(machine, way))
    return live, kept or live


async def persisted(machine: Machine, way: MachineAccess) -> Secret | None:
    """What a machine has on its disk, and boots with; None where its Talos does not tell."""
    try:
        return await way.admin.machine_config(way.at(machine), persistent=True)
    except talosctl.TalosNotFound:
        return None


def _sight(applied: AppliedConfig, now: Documents, then: Documents) -> ConfigStatus:
    if applied.diff is None:
        return ConfigStatus(equality=ConfigEquality.EQUAL)
    return ConfigStatus(
        equality=ConfigEquality.DIFFERENT,
        fields=fields(now, then),
        needs_reboot=applied.needs_reboot,
        reason=applied.reason,
    )


def fields(before: Documents, after: Documents) -> tuple[ChangedField, ...]:
    """What differs between the documents of two configs; of what is secret only that it does."""
    old, new = _by_name(before), _by_name(after)
    found: list[ChangedField] = []
    for name in dict.fromkeys([*old, *new]):
        was, will = old.get(name), new.get(name)
        hidden = [secret_fields.of_document(each, is_machine=True) for each in (was, will) if each is not None]

        def is_secret(steps: Steps, value: Any, hidden: Sequence[secret_fields.IsSecret] = tuple(hidden)) -> bool:
            return _INLINE.issubset(steps) or any(each(steps, value) for each in hidden)

        differ = compare_fields.fields(
            ABSENT if was is None else was, ABSENT if will is None else will, manner=FieldManner(is_secret=is_secret)
        )
        found += [dataclasses.replace(each, steps=(*name, *each.steps)) for each in differ]
    return tuple(found)


_INLINE = frozenset({"inlineManifests", "contents"})
"""What an inline manifest holds may be a Secret."""


def _by_name(documents: Documents) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Documents by kind and name; the oldest one has neither."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for each in documents:
        kind, name = each.get("kind"), each.get("name")
        found[tuple(str(one) for one in (kind, name) if one)] = each
    return found
