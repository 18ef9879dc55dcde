"""What moves in a cluster with a change: which components, from where to where, and each of their objects."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Form, ObjectId, Origin, Side
from firstlight.model.handover import Passing
from firstlight.model.move import Seat
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.work import Install
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.deciding.renditions import renditions_of
from firstlight.operate.moving import owned_objects, release_tasks
from firstlight.plan import facts, moving
from firstlight.plan import passing as passings

if TYPE_CHECKING:
    from firstlight.render.rendering import Renderer

BOOTSTRAP = release_tasks.BOOTSTRAP


@dataclasses.dataclass(frozen=True, kw_only=True)
class Moved:
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
        return tuple(each for each in self.component.halves[1] if each.form == Form.HELM_RELEASE)


def is_bootstraps(owner: ObjectOwner) -> bool:
    """Whether bootstrap is to keep what has this owner: by itself, or as a release of Helm."""
    return owner.party in (Party.BOOTSTRAP, Party.HELM)


def moved(before: Platform, after: Platform, cluster: str) -> tuple[Moved, ...]:
    """The components of a cluster that a change moves."""
    then = {each.name: each for each in after.components_of(cluster)}
    return tuple(
        Moved(component=then[each.name], before=seat, after=moving.seat_of(then[each.name]))
        for each in before.components_of(cluster)
        if each.name in then and (seat := moving.seat_of(each)) is not moving.seat_of(then[each.name])
    )


class Scene:
    """What moves in one cluster, rendered once."""

    def __init__(self, carrying: Carrying, cluster: Cluster) -> None:
        """Look at a change in one of its clusters; nothing is rendered yet.

        Args:
            carrying: The change.
            cluster: As it is after it.
        """
        self.cluster = cluster
        self.moved = moved(carrying.before, carrying.after, cluster.name)
        self.relocated = owned_objects.relocated(carrying.before, carrying.after, cluster.name)
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

    async def _open(self, platform: Platform, known_as: str) -> "Renderer":
        return await self._carrying.means.open_renderer(platform)

    async def _rendered(self) -> tuple[Passing, ...]:
        carrying = self._carrying
        half = carrying.decided.before if carrying.is_reverting else carrying.decided.after
        names = [(self.cluster.name, each) for each in self.names]
        known = facts.of(carrying.after, self.cluster, await renditions_of(half, names, "move", self._open))
        wanted = [each.component for each in self.moved if each.after is Seat.KEPT and each.helm_releases]
        self._releases = await release_tasks.of(wanted, known, half=half, open_renderer=self._open)
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
                found += release_tasks.kept(objects, component, self._releases.get(component.name))
            else:
                given = passings.of(known, [one.id for one in objects])
                found += [one for one in given if one.component == component.name]
        receiving = {name for _, name in self.relocated.values()}
        mine = [each for each in known.components if each.name in receiving]
        ids = [one.id for each in mine for one in known.objects(each, Side.GITOPS) if self.is_relocated(one.id)]
        found += [one for one in passings.of(known, ids) if self._receiver(one.id) == one.component]
        return tuple(found)
