"""What a cluster is compared with: all that Git renders for it, with who owns what in the end."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from firstlight import errors
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Form, ObjectId, Phase, Side
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.plan import Problem
from firstlight.model.platform import Platform
from firstlight.model.remark import Grade
from firstlight.model.rendition import Object
from firstlight.operate import drift_decrypting, drift_doubts, preflight, up
from firstlight.operate.drift_doubts import Doubts
from firstlight.operate.means import Means
from firstlight.ownership import claims, ignoring
from firstlight.ownership.drifting import Wanted
from firstlight.plan import facts, owning, passing
from firstlight.plan.facts import Facts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """What is compared."""

    cluster: Cluster
    wanted: tuple[Wanted, ...]
    owners: Mapping[ObjectOwner, str]
    """Of whom everything is known that Git has, with the component of each."""
    known: frozenset[ObjectId]
    """All that Git has, compared or not."""
    revision: str = ""
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    """Components that bootstrap keeps."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with that commit, or with the work tree."""


async def prepare(platform: Platform, name: str, means: Means, *, components: Collection[str] = ()) -> Scene:
    """Render everything, and tell who owns it.

    Args:
        platform: The repo.
        name: Of the cluster; empty where there is only one.
        means: How the world is reached.
        components: Those that are compared; all if it is empty.

    Raises:
        errors.UsageError: There is no such cluster or component.
        errors.FirstlightError: It cannot be rendered at all.
    """
    cluster = up.cluster_of(platform, name)
    everything = platform.components_of(cluster.name)
    if unknown := set(components) - {each.name for each in everything}:
        names = ", ".join(sorted(each.name for each in everything))
        raise errors.UsageError(f"there is no component {min(unknown)} in {cluster.name}", hint=f"There is {names}.")
    async with await means.open_renderer(platform) as renderer:
        done = await renderer.render_all(everything)
    revision, problems = await preflight.git(platform, cluster, means)
    known = facts.of(platform, cluster, [each.rendition for each in done])
    scene = of(known, revision=revision, notes=tuple(each.message for each in problems), components=components)
    wanted, locked = await drift_decrypting.decrypted(scene.wanted, means.programs.sops)
    return dataclasses.replace(scene, wanted=wanted, notes=(*scene.notes, *locked), problems=tuple(problems))


def of(known: Facts, *, revision: str = "", notes: tuple[str, ...] = (), components: Collection[str] = ()) -> Scene:
    """What is compared, from what was rendered.

    Args:
        known: The facts of a cluster.
        revision: The commit that was rendered.
        notes: What is to be said of that commit.
        components: Those that are compared; all if it is empty.
    """
    wanted: dict[ObjectId, Wanted] = {}
    unread: list[str] = []
    made_elsewhere: list[str] = []
    kept: set[str] = set()
    doubts = drift_doubts.of(known)
    for component in known.components:
        is_kept = passing.owner(component) is None
        if is_kept and component not in known.bootstrap:
            continue
        if is_kept:
            kept.add(component.name)
        if components and component.name not in components:
            continue
        side = Side.BOOTSTRAP if is_kept else Side.GITOPS
        told = _unread(known, component, side)
        if _is_made_elsewhere(component, side):
            made_elsewhere += told
            continue
        mine = [*(_kept(known, component, doubts) if is_kept else _given(known, component, doubts))]
        unread += [*told, *_doubtful(component, mine)]
        for each in mine:
            # What has a variable in its name cannot be looked for.
            if not (each.doubt and "${" in f"{each.id.namespace}{each.id.name}"):
                wanted.setdefault(each.id, each)
    owners = {owner: name for owner, name in _owners(known, doubts).items() if not components or name in components}
    return Scene(
        cluster=known.cluster, wanted=tuple(wanted.values()), owners=owners, revision=revision,
        notes=(*notes, *made_elsewhere, *_misread(wanted.values())),
        known=frozenset(each.id for one in known.renditions.values() for each in one.objects),
        unread=tuple(unread), kept=frozenset(kept),
    )  # fmt: skip


def _misread(wanted: Iterable[Wanted]) -> tuple[str, ...]:
    """What Applications declare to be ignored in a way that is not understood."""
    found = {
        f"{each.owner.name}: {expression!r} in ignoreDifferences is not understood, so that it leaves nothing out"
        for each in wanted
        for expression in ignoring.of(each.object.value, each.definition).misread
    }
    return tuple(sorted(found))


def _doubtful(component: Component, wanted: Iterable[Wanted]) -> list[str]:
    """What is said of objects whose values are not all known."""
    reasons = [each.doubt for each in wanted if each.doubt]
    if not reasons:
        return []
    what = "1 object was" if len(reasons) == 1 else f"{len(reasons)} objects were"
    return [f"{component.name}: {what} only looked for, since not all values are known here: {reasons[0]}"]


def _is_made_elsewhere(component: Component, side: Side) -> bool:
    """Whether a program in the cluster or a command makes its manifests, so that there is nothing to compare with."""
    mine = facts.origins(component, side)
    return bool(mine) and all(each.form in (Form.FLUX_INSTANCE, Form.FLUX_COMMAND) for each in mine)


def _given(known: Facts, component: Component, doubts: Doubts) -> Iterator[Wanted]:
    """What Git brings, as the engine."""
    origin = passing.owner(component)
    assert origin is not None
    owner = ObjectOwner(_party(owning.manager(component)), passing.called(origin))
    for each in known.objects(component, Side.GITOPS):
        if _is_compared(each):
            yield Wanted(
                object=each, component=component.name, manager=owning.manager(component), owner=owner,
                definition=origin.definition, is_chart=bool(facts.charts(component, Side.GITOPS)),
                doubt=doubts.why(component.name, Side.GITOPS, each), is_masked=component.name in doubts.masked,
            )  # fmt: skip


def _kept(known: Facts, component: Component, doubts: Doubts) -> Iterator[Wanted]:
    """What bootstrap keeps, as whoever of it applies it."""
    charts = facts.charts(component, Side.BOOTSTRAP)
    if component.phase == Phase.INLINE:
        owner, manager = ObjectOwner(Party.TALOS, component.name), "talos"
    elif charts:
        owner, manager = ObjectOwner(Party.HELM, component.name), "helm"
    else:
        owner, manager = ObjectOwner(Party.BOOTSTRAP, component.name), owning.FIRSTLIGHT
    for each in known.objects(component, Side.BOOTSTRAP):
        if _is_compared(each):
            yield Wanted(
                object=each, component=component.name, manager=manager, owner=owner, is_chart=bool(charts),
                doubt=doubts.why(component.name, Side.BOOTSTRAP, each),
            )  # fmt: skip


def _is_compared(obj: Object) -> bool:
    """What Helm or Argo CD runs as a hook is nobody's; what gets its name when created is another one each time."""
    return bool(obj.id.name) and not claims.is_hook(obj.value)


def _owners(known: Facts, doubts: Doubts) -> dict[ObjectOwner, str]:
    """Owners all of whose components were rendered: only of those it is known what Git has not."""
    found: dict[ObjectOwner, str] = {}
    doubtful: set[ObjectOwner] = set()
    for component in known.components:
        origin = passing.owner(component)
        if origin is None:
            continue
        owner = ObjectOwner(_party(owning.manager(component)), passing.called(origin))
        found.setdefault(owner, component.name)
        if _unread(known, component, Side.GITOPS) or (component.name, Side.GITOPS) in doubts.parts:
            doubtful.add(owner)
    return {owner: name for owner, name in found.items() if owner not in doubtful}


def _party(manager: str) -> Party:
    return Party.ARGOCD if manager == owning.ARGOCD else Party.FLUX


def _unread(known: Facts, component: Component, side: Side) -> list[str]:
    found = known.renditions.get((component.name, side))
    if found is None:
        return [f"{component.name} was not rendered"]
    wrong = [each for each in found.remarks if each.grade == Grade.ERROR]
    unknown = [each for each in found.remarks if each.grade == Grade.UNKNOWN]
    if wrong:
        return [f"{component.name} could not be rendered: {wrong[0].message}"]
    return [f"{component.name} was rendered in part: {each.message}" for each in unknown]
