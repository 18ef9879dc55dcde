"""What moves in a cluster with a change: which components, from where to where, and each of their objects."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from firstlight import errors
from firstlight.commands.change.moves import repo_comparison
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.model import helm_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.handover import Passing
from firstlight.model.move import Seat
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.work import Install, Installation
from firstlight.ownership import claims, managers
from firstlight.plan import cluster_facts, final_owners, move_analysis
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.render import helm_installations
from firstlight.render.component_renderer import Renderer
from firstlight.render.rendered_diff import Opener, PlatformRevision, opened, renditions_of

# What Helm has to do for a component that bootstrap keeps, and whose each of its objects is then.


BOOTSTRAP = ObjectOwner(Party.BOOTSTRAP)


async def release_tasks_of(
    components: Sequence[Component], known: ClusterFacts, *, half: PlatformRevision, open_renderer: Opener
) -> dict[str, Install]:  # fmt: skip
    """The releases of components, from the same chart with the same values as the HelmReleases have.

    Hooks are not run: everything is as it was, and a hook may delete what it made before.

    Args:
        components: Those that a HelmRelease has in Git.
        known: The facts of the cluster, with what was rendered.
        half: The repo as it is to be.
        open_renderer: How it is rendered.

    Raises:
        errors.Refused: Helm cannot install one.
    """
    if not components:
        return {}

    found: dict[str, Install] = {}
    async with opened(half, "move", open_renderer) as renderer:
        for each in components:
            releases, beside, diagnostics = await helm_installations.installations(renderer, each, Side.BOOTSTRAP)
            wrong = next((one for one in diagnostics if one.severity == Severity.ERROR), None)
            if wrong is not None or not releases:
                why = wrong.message if wrong is not None else "it has no chart"
                raise errors.Refused(f"Helm cannot install {each.name}: {why}", hint=wrong.fix if wrong else "")
            found[each.name] = Install(
                releases=tuple(dataclasses.replace(one, hooks_disabled=True) for one in releases),
                objects=known.objects(each, Side.BOOTSTRAP), beside=beside, manager=managers.FIRSTLIGHT, is_kept=True,
            )  # fmt: skip
    return found


def kept_passings(objects: Iterable[Object], component: Component, task: Install | None) -> list[Passing]:
    """Objects that bootstrap is to keep, each with who has it then: firstlight itself, or Helm.

    CRDs come before everything, and are firstlight's, whichever way a chart brings them.

    Args:
        objects: What the component deploys.
        component: Which it is.
        task: What Helm has to do for it; None where it is no release.
    """
    found = []
    beside = {each.id for each in task.beside} if task is not None else set()
    for each in objects:
        if task is None or each.is_crd or each.id in beside:
            found.append(
                Passing(object=each, component=component.name, manager=managers.FIRSTLIGHT, owner=BOOTSTRAP)
            )  # fmt: skip
        elif not claims.is_hook(each.value):
            owner = owner_of_release(task.releases[0])
            found.append(Passing(object=each, component=component.name, manager=helm_names.FIELD_MANAGER, owner=owner))
    return found


def owner_of_release(release: Installation) -> ObjectOwner:
    """Who has the objects of a release that bootstrap keeps."""
    return ObjectOwner(Party.HELM, f"release {release.namespace}/{release.name}")


BOOTSTRAP_OWNER = BOOTSTRAP


@dataclasses.dataclass(frozen=True, kw_only=True)
class MovedComponent:
    """A component that is elsewhere after a change."""

    component: Component
    """As it is then."""
    before: Seat
    after: Seat

    @property
    def changes_owner(self) -> bool:
        """Whether somebody else has it in the end; else only the next cold start is another."""
        return Seat.KEPT in (self.before, self.after)

    @property
    def helm_releases(self) -> tuple[Origin, ...]:
        """The HelmReleases that have it in Git."""
        return tuple(each for each in self.component.halves[1] if each.form == SourceForm.HELM_RELEASE)


def is_bootstraps(owner: ObjectOwner) -> bool:
    """Whether bootstrap is to keep what has this owner: by itself, or as a release of Helm."""
    return owner.party in (Party.BOOTSTRAP, Party.HELM)


def moved_components(before: Platform, after: Platform, cluster: str) -> tuple[MovedComponent, ...]:
    """The components of a cluster that a change moves."""
    then = {each.name: each for each in after.components_of(cluster)}
    return tuple(
        MovedComponent(component=then[each.name], before=seat, after=move_analysis.seat_of(then[each.name]))
        for each in before.components_of(cluster)
        if each.name in then and (seat := move_analysis.seat_of(each)) is not move_analysis.seat_of(then[each.name])
    )


class MoveContext:
    """What moves in one cluster, rendered once."""

    def __init__(self, carrying: OngoingChange, cluster: Cluster) -> None:
        """Look at a change in one of its clusters; nothing is rendered yet.

        Args:
            carrying: The change.
            cluster: As it is after it.
        """
        self.cluster = cluster
        self.moved = moved_components(carrying.before, carrying.after, cluster.name)
        self.relocated = repo_comparison.relocated(carrying.before, carrying.after, cluster.name)
        self._carrying = carrying
        self._passing: tuple[Passing, ...] | None = None
        self._releases: dict[str, Install] | None = None

    def component(self, name: str) -> Component | None:
        """A component of the cluster, as it is after the change."""
        every = self._carrying.after.components_of(self.cluster.name)
        return next((each for each in every if each.name == name), None)

    def is_relocated(self, id: ObjectId) -> bool:
        """Whether an object passes from one owner of the engine to another."""
        return self._receiver(id) != ""

    def _receiver(self, id: ObjectId) -> str:
        """The component that an object passes to; of a kind that may be in no namespace it is asked by its name."""
        found = self.relocated.get(id)
        if found is None and not id.namespace:
            same = (id.group, id.kind, id.name)
            found = next((to for one, to in self.relocated.items() if (one.group, one.kind, one.name) == same), None)
        return found[1] if found else ""

    @property
    def changing_owner(self) -> tuple[str, ...]:
        """Names of those that somebody else has in the end, and of those that get something from another."""
        moved = [each.component.name for each in self.moved if each.changes_owner]
        return tuple(dict.fromkeys([*moved, *(name for _, name in self.relocated.values())]))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all that it is about."""
        return tuple(dict.fromkeys([*(each.component.name for each in self.moved), *self.changing_owner]))

    @property
    def is_to_bootstrap(self) -> bool:
        """Whether bootstrap is to keep something."""
        return any(each.after is Seat.KEPT for each in self.moved)

    @property
    def is_from_bootstrap(self) -> bool:
        """Whether the engine is to get what bootstrap kept."""
        return any(each.before is Seat.KEPT for each in self.moved)

    @property
    def is_releasing(self) -> bool:
        """Whether bootstrap is to keep something that a HelmRelease has."""
        return any(each.after is Seat.KEPT and each.helm_releases for each in self.moved)

    async def passing(self) -> tuple[Passing, ...]:
        """Every object that moves, with who is to own it in the end.

        Raises:
            errors.Refused: Something could not be rendered, so that nobody knows all of it.
        """
        if self._passing is None:
            self._passing = await self._rendered()
        return self._passing

    async def of(self, seat: Seat) -> tuple[Passing, ...]:
        """Those that go to a seat."""
        names = {each.component.name for each in self.moved if each.after is seat}
        return tuple(each for each in await self.passing() if each.component in names)

    async def to_engine(self) -> tuple[Passing, ...]:
        """Those that the engine is to own."""
        return tuple(each for each in await self.passing() if not is_bootstraps(each.owner))

    async def at_stake(self) -> tuple[Object, ...]:
        """What the engine could delete while owners change: of a release that is the HelmRelease, and all with it."""
        names = set(self.changing_owner)
        releases = {each.component.name: each.helm_releases for each in self.moved if each.changes_owner}
        names -= {name for name, each in releases.items() if each}
        own = [each.object for each in await self.passing() if each.component in names]
        return (*own, *(Object(origin.definition) for each in releases.values() for origin in each))

    async def kept_releases(self) -> Mapping[str, Install]:
        """What Helm has to do for each component that bootstrap is to keep and a HelmRelease has.

        Hooks are not run: everything is as it was, and a hook may delete what it made before.

        Raises:
            errors.Refused: It cannot be known.
        """
        if self._releases is None:
            await self.passing()
        return self._releases or {}

    async def _open(self, platform: Platform, known_as: str) -> Renderer:
        return await self._carrying.means.open_renderer(platform)

    async def _rendered(self) -> tuple[Passing, ...]:
        carrying = self._carrying
        half = carrying.decided.before if carrying.is_reverting else carrying.decided.after
        names = [(self.cluster.name, each) for each in self.names]
        known = cluster_facts.of(carrying.after, self.cluster, await renditions_of(half, names, "move", self._open))
        wanted = [each.component for each in self.moved if each.after is Seat.KEPT and each.helm_releases]
        self._releases = await release_tasks_of(wanted, known, half=half, open_renderer=self._open)
        found: list[Passing] = []
        for each in self.moved:
            side = Side.BOOTSTRAP if each.after is Seat.KEPT else Side.GITOPS
            component = each.component
            if known.rendition(component, side) is None:
                raise errors.Refused(
                    f"{component.name} cannot be rendered, so that not all of its objects are known",
                    hint=f"See: firstlight render {component.name}",
                )
            objects = known.objects(component, side)
            if each.after is Seat.KEPT:
                found += kept_passings(objects, component, self._releases.get(component.name))
            else:
                given = final_owners.passing_objects(known, [one.id for one in objects])
                found += [one for one in given if one.component == component.name]
        receiving = {name for _, name in self.relocated.values()}
        mine = [each for each in known.components if each.name in receiving]
        ids = [one.id for each in mine for one in known.objects(each, Side.GITOPS) if self.is_relocated(one.id)]
        found += [one for one in final_owners.passing_objects(known, ids) if self._receiver(one.id) == one.component]
        return tuple(found)
