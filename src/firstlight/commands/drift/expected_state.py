"""What a cluster is compared with: all that Git renders for it, with who owns what in the end."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients.sops import SopsClient
from firstlight.commands.up import preflight
from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines import engine_directives
from firstlight.execute.means import Means
from firstlight.model import argocd_names, helm_names, talos_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, ObjectId, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.ownership import claims, ignored_fields
from firstlight.ownership.drift_judgement import WantedObject
from firstlight.plan import cluster_facts, final_owners
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.render import flux_kustomization


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedState:
    """What is compared."""

    cluster: Cluster
    wanted: tuple[WantedObject, ...]
    owners: Mapping[ObjectOwner, str]
    """Of whom everything is known that Git has, with the component of each."""
    known: frozenset[ObjectId]
    """All that Git has, compared or not."""
    revision: str = ""
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    """Components that bootstrap keeps."""
    problems: tuple[Diagnostic, ...] = ()
    """What is wrong with that commit, or with the work tree."""


async def prepare(platform: Platform, name: str, means: Means, *, components: Collection[str] = ()) -> ExpectedState:
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
    cluster = which_cluster.cluster_of(platform, name)
    everything = platform.components_of(cluster.name)
    if unknown := set(components) - {each.name for each in everything}:
        names = ", ".join(sorted(each.name for each in everything))
        raise errors.UsageError(f"there is no component {min(unknown)} in {cluster.name}", hint=f"There is {names}.")
    async with await means.open_renderer(platform) as renderer:
        done = await renderer.render_all(everything)
    revision, problems = await preflight.rendered_commit(platform, cluster, means)
    known = cluster_facts.of(platform, cluster, [each.rendition for each in done])
    scene = expected_state_of(
        known, revision=revision, notes=tuple(each.message for each in problems), components=components
    )
    wanted, locked = await decrypted(scene.wanted, means.programs.sops)
    return dataclasses.replace(scene, wanted=wanted, notes=(*scene.notes, *locked), problems=tuple(problems))


def expected_state_of(
    known: ClusterFacts, *, revision: str = "", notes: tuple[str, ...] = (), components: Collection[str] = ()
) -> ExpectedState:
    """What is compared, from what was rendered.

    Args:
        known: The facts of a cluster.
        revision: The commit that was rendered.
        notes: What is to be said of that commit.
        components: Those that are compared; all if it is empty.
    """
    wanted: dict[ObjectId, WantedObject] = {}
    unread: list[str] = []
    made_elsewhere: list[str] = []
    kept: set[str] = set()
    doubts = unknown_values_of(known)
    for component in known.components:
        is_kept = final_owners.passing_owner(component) is None
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
    return ExpectedState(
        cluster=known.cluster, wanted=tuple(wanted.values()), owners=owners, revision=revision,
        notes=(*notes, *made_elsewhere, *_misread(wanted.values())),
        known=frozenset(each.id for one in known.renditions.values() for each in one.objects),
        unread=tuple(unread), kept=frozenset(kept),
    )  # fmt: skip


def _misread(wanted: Iterable[WantedObject]) -> tuple[str, ...]:
    """What Applications declare to be ignored in a way that is not understood."""
    found = {
        f"{each.owner.name}: {expression!r} in ignoreDifferences is not understood, so that it leaves nothing out"
        for each in wanted
        for expression in ignored_fields.ignore_rules(each.object.value, each.definition).misread
    }
    return tuple(sorted(found))


def _doubtful(component: Component, wanted: Iterable[WantedObject]) -> list[str]:
    """What is said of objects whose values are not all known."""
    reasons = [each.doubt for each in wanted if each.doubt]
    if not reasons:
        return []
    what = "1 object was" if len(reasons) == 1 else f"{len(reasons)} objects were"
    return [f"{component.name}: {what} only looked for, since not all values are known here: {reasons[0]}"]


def _is_made_elsewhere(component: Component, side: Side) -> bool:
    """Whether a program in the cluster or a command makes its manifests, so that there is nothing to compare with."""
    mine = cluster_facts.origins(component, side)
    return bool(mine) and all(each.form in (SourceForm.FLUX_INSTANCE, SourceForm.FLUX_COMMAND) for each in mine)


def _given(known: ClusterFacts, component: Component, doubts: UnknownValues) -> Iterator[WantedObject]:
    """What Git brings, as the engine."""
    origin = final_owners.passing_owner(component)
    assert origin is not None
    owner = ObjectOwner(_party(final_owners.manager(component)), final_owners.owner_name(origin))
    for each in known.objects(component, Side.GITOPS):
        if _is_compared(each):
            yield WantedObject(
                object=each, component=component.name, manager=final_owners.manager(component), owner=owner,
                definition=origin.definition, is_chart=bool(cluster_facts.charts(component, Side.GITOPS)),
                doubt=doubts.why(component.name, Side.GITOPS, each), is_masked=component.name in doubts.masked,
            )  # fmt: skip


def _kept(known: ClusterFacts, component: Component, doubts: UnknownValues) -> Iterator[WantedObject]:
    """What bootstrap keeps, as whoever of it applies it."""
    charts = cluster_facts.charts(component, Side.BOOTSTRAP)
    if component.phase == Phase.INLINE:
        owner, manager = ObjectOwner(Party.TALOS, component.name), talos_names.FIELD_MANAGER
    elif charts:
        owner, manager = ObjectOwner(Party.HELM, component.name), helm_names.FIELD_MANAGER
    else:
        owner, manager = ObjectOwner(Party.BOOTSTRAP, component.name), final_owners.FIRSTLIGHT
    for each in known.objects(component, Side.BOOTSTRAP):
        if _is_compared(each):
            yield WantedObject(
                object=each, component=component.name, manager=manager, owner=owner, is_chart=bool(charts),
                doubt=doubts.why(component.name, Side.BOOTSTRAP, each),
            )  # fmt: skip


def _is_compared(obj: Object) -> bool:
    """What Helm or Argo CD runs as a hook is nobody's; what gets its name when created is another one each time."""
    return bool(obj.id.name) and not claims.is_hook(obj.value)


def _owners(known: ClusterFacts, doubts: UnknownValues) -> dict[ObjectOwner, str]:
    """Owners all of whose components were rendered: only of those it is known what Git has not."""
    found: dict[ObjectOwner, str] = {}
    doubtful: set[ObjectOwner] = set()
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is None:
            continue
        owner = ObjectOwner(_party(final_owners.manager(component)), final_owners.owner_name(origin))
        found.setdefault(owner, component.name)
        if _unread(known, component, Side.GITOPS) or (component.name, Side.GITOPS) in doubts.parts:
            doubtful.add(owner)
    return {owner: name for owner, name in found.items() if owner not in doubtful}


def _party(manager: str) -> Party:
    return Party.ARGOCD if manager == argocd_names.FIELD_MANAGER else Party.FLUX


def _unread(known: ClusterFacts, component: Component, side: Side) -> list[str]:
    found = known.renditions.get((component.name, side))
    if found is None:
        return [f"{component.name} was not rendered"]
    wrong = [each for each in found.diagnostics if each.severity == Severity.ERROR]
    unknown = [each for each in found.diagnostics if each.severity == Severity.UNKNOWN]
    if wrong:
        return [f"{component.name} could not be rendered: {wrong[0].message}"]
    return [f"{component.name} was rendered in part: {each.message}" for each in unknown]


# Secrets that Git holds encrypted, as the engine applies them: compared, and never shown.


_FORM = Path("secret.json")
_AT_ONCE = 4
"""Each is a process of its own."""


async def decrypted(
    wanted: tuple[WantedObject, ...], program: Path | None
) -> tuple[tuple[WantedObject, ...], tuple[str, ...]]:
    """What is compared, with Secrets decrypted; and why some are not.

    Args:
        wanted: What is compared.
        program: Where sops is; None to leave everything as it is.
    """
    client = SopsClient(program) if program is not None else None
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(each: WantedObject) -> tuple[WantedObject, str]:
        # What is no Secret would be shown where it differs.
        if client is None or not each.id.is_secret or not isinstance(each.object.value.get("sops"), Mapping):
            return each, ""
        about = str(each.id)
        try:
            async with turns:
                plain = await client.reread(msgspec.json.encode(each.object.value), _FORM, about=about, is_whole=False)
        except (errors.Refused, errors.ClientError, errors.ToolError) as error:
            return each, error.message
        text = plain.reveal()
        made = dataclasses.replace(each, object=Object(msgspec.json.decode(text)))
        # Flux replaces variables after it has decrypted.
        if b"${" in text and mapping(each.definition, "spec", "postBuild"):
            why = f"{about} has variables in what is encrypted: only that it is there was looked at"
            return dataclasses.replace(made, doubt=made.doubt or why), why
        return made, ""

    found = await asyncio.gather(*map(one, wanted))
    return tuple(each for each, _ in found), tuple(why for _, why in found if why)


_GROUPS = {form: each.group for form, each in engine_directives.RESTS.items()}
_HOLDERS = ("Secret", "ExternalSecret", "SealedSecret")

Part = tuple[str, Side]
"""A component and one of its sides."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnknownValues:
    """Of what not everything is known."""

    parts: Mapping[Part, str]
    """All of whose objects may have other values than what was rendered, with the reason."""
    objects: Mapping[ObjectId, str]
    """Those that still have a variable in their text, with the reason."""
    masked: frozenset[str]
    """Components that would take something from a Secret if it were there, and Git does not have it."""

    def why(self, component: str, side: Side, obj: Object) -> str:
        """Why an object cannot be compared; empty where it can be."""
        return self.parts.get((component, side)) or self.objects.get(obj.id, "")


def unknown_values_of(known: ClusterFacts) -> UnknownValues:
    """What is in doubt of what was rendered."""
    variables: dict[str, str] = {}
    parts: dict[Part, str] = {}
    by_default: dict[ObjectId, str] = {}
    for part, rendition in known.renditions.items():
        for diagnostic in rendition.diagnostics:
            if diagnostic.severity != Severity.UNKNOWN or diagnostic.code == "helm-apis-unknown":
                continue
            if name := flux_kustomization.left_as_text(diagnostic):
                variables.setdefault(name, diagnostic.message)
            elif rendition.by_default and flux_kustomization.is_of_default(diagnostic):
                by_default |= {each: by_default.get(each, diagnostic.message) for each in _with_default(rendition)}
            else:
                parts.setdefault(part, diagnostic.message)
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is not None and (secret := _values_from(origin)):
            parts.setdefault((component.name, Side.GITOPS), f"values of it are in the Secret {secret}")
    objects = {**by_default, **_with_variables(known, variables)}
    _spread(known, parts, objects)
    masked = {(name, Side.GITOPS): "" for name in _optional(known)}
    _spread(known, masked, {})
    return UnknownValues(parts=parts, objects=objects, masked=frozenset(name for name, _ in masked))


def _values_from(origin: Origin) -> str:
    """The Secret that a HelmRelease has values in; one that may be missing is not told of when it is rendered."""
    if origin.form != SourceForm.HELM_RELEASE:
        return ""
    listed = sequence(origin.definition, "spec", "valuesFrom")
    return next((text(each, "name") for each in listed if text(each, "kind") == "Secret"), "")


def _with_variables(known: ClusterFacts, variables: Mapping[str, str]) -> dict[ObjectId, str]:
    """Objects in which a variable is left; also those of charts, whose values may have had it."""
    if not variables:
        return {}
    pattern = re.compile(r"\$\{[^}]*?\b(" + "|".join(map(re.escape, variables)) + r")\b")
    found: dict[ObjectId, str] = {}
    for rendition in known.renditions.values():
        for each in rendition.objects:
            if match := pattern.search(json.dumps(each.value, default=str)):
                found[each.id] = variables[match[1]]
    return found


def _with_default(rendition: Rendition) -> Iterable[ObjectId]:
    """Objects in which a variable has its default; they may have got their namespace since."""
    named = {(each.group, each.kind, each.name) for each in rendition.by_default}
    return (each.id for each in rendition.objects if (each.id.group, each.id.kind, each.id.name) in named)


def _spread(known: ClusterFacts, parts: dict[Part, str], objects: Mapping[ObjectId, str]) -> None:
    """What an owner in doubt makes is in doubt: a chart that got a variable as a value may do anything with it."""
    is_more = True
    while is_more:
        is_more = False
        doubtful = {**objects}
        for part, why in parts.items():
            rendition = known.renditions.get(part)
            doubtful |= {each.id: why for each in rendition.objects} if rendition is not None else {}
        for component in known.components:
            part = (component.name, Side.GITOPS)
            reason = next((doubtful[each] for each in _declared(component) if each in doubtful), None)
            if part not in parts and reason is not None:
                parts[part] = reason
                is_more = True


def _declared(component: Component) -> Iterable[ObjectId]:
    """The objects that declare a component."""
    for origin in cluster_facts.origins(component, Side.GITOPS):
        if origin.form in _GROUPS:
            yield ObjectId(_GROUPS[origin.form], origin.form.value, origin.namespace, origin.name)


def _optional(known: ClusterFacts) -> Iterable[str]:
    """Kustomizations with variables in a Secret that need not be there and that Git does not have.

    They are rendered as if it were not there. If it is, what differs is a secret.
    """
    there = {
        (each.id.namespace, each.id.name)
        for rendition in known.renditions.values()
        for each in rendition.objects
        if each.id.kind in _HOLDERS
    }
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is None:
            continue
        for each in sequence(origin.definition, "spec", "postBuild", "substituteFrom"):
            is_secret = text(each, "kind") == "Secret" and at(each, "optional") is True
            if is_secret and (origin.namespace, text(each, "name")) not in there:
                yield component.name
