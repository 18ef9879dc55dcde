"""What components are called: as short as it is clear.

A release or an application is called by its name. A Kustomization that has the same name as what it brings steps
back to ``kustomization/NAME``, what is there in two namespaces has its namespace before it, and the CRDs of a chart
that are installed before it are ``NAME-crds``. Every name can stand in firstlight.yaml, and does not depend on the
order of files.
"""

import dataclasses
import itertools
import posixpath
import re
from collections.abc import Container, Iterator, Mapping, Sequence

from firstlight.model import flux_names
from firstlight.model.component import Component, ComponentNeed, ObjectId, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, SeveralSources, Source
from firstlight.repo import well_known_components

_RELEASES = [
    SourceForm.HELM_RELEASE,
    SourceForm.APPLICATION,
    SourceForm.HELMFILE,
    SourceForm.HELM_COMMAND,
    SourceForm.TOFU,
]
_CHIEFS = [*_RELEASES, SourceForm.KUSTOMIZATION, SourceForm.INLINE_MANIFEST]
"""Whose name a component bears, the first of them first."""
_ENGINE = {SourceForm.FLUX_COMMAND, SourceForm.FLUX_COMPONENTS, SourceForm.FLUX_INSTANCE}


def named_groups(groups: Sequence[Sequence[Origin]]) -> dict[str, tuple[Origin, ...]]:
    """Groups by their names."""
    wishes = [(_chief(group), tuple(group)) for group in groups]
    taken: dict[str, list[tuple[Origin, tuple[Origin, ...]]]] = {}
    for chief, group in wishes:
        taken.setdefault(_bare(chief, group), []).append((chief, group))
    named: dict[str, tuple[Origin, ...]] = {}
    for bare, rivals in taken.items():
        releases = [each for each in rivals if each[0].form in _RELEASES]
        for chief, group in sorted(rivals, key=lambda each: (each[0].place, each[0].id)):
            name = bare
            if len(rivals) > 1 and (chief.form not in _RELEASES or len(releases) > 1):
                name = _longer(chief, bare, [each for each, _ in rivals])
            named[_free(_declarable(name), named)] = group
    return named


def _free(name: str, taken: Container[str]) -> str:
    """The name, with a number if another component has it."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in names if each not in taken)


def _declarable(name: str) -> str:
    """A name as firstlight.yaml allows it."""
    parts = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.") for part in name.split("/")]
    return "/".join([part for part in parts if part][-3:]) or "component"


def _chief(group: Sequence[Origin]) -> Origin:
    """The origin whose name a component bears."""
    return min(group, key=lambda each: (_CHIEFS.index(each.form) if each.form in _CHIEFS else 99, each.place))


def _bare(chief: Origin, group: Sequence[Origin]) -> str:
    if all(each.form in _ENGINE for each in group):
        return "flux"
    bare = chief.name or chief.form.value
    if chief.form in _RELEASES and all(each.phase == Phase.CRDS for each in group):
        return f"{bare.removesuffix('-crds')}-crds"
    return bare


def _longer(chief: Origin, bare: str, rivals: Sequence[Origin]) -> str:
    """A name that tells it from its rivals."""
    if chief.form not in _RELEASES:
        form = chief.form.value.lower().replace(" ", "-")
        same = [each for each in rivals if each.form == chief.form]
        return f"{form}/{bare}" if len(same) == 1 else f"{form}/{_namespace(chief)}/{bare}"
    return f"{_namespace(chief)}/{bare}"


def _namespace(origin: Origin) -> str:
    return (
        (origin.source.namespace if isinstance(origin.source, ChartSource) else "") or origin.namespace or origin.form
    )


# Origins of one cluster, made components: what deploys the same thing is one, whichever side it is on.


Key = tuple[str, ...]
Loose = tuple[str, str, str]
_ORDERED = {
    SourceForm.HELM_COMMAND,
    SourceForm.KUBECTL_COMMAND,
    SourceForm.KUSTOMIZE_COMMAND,
    SourceForm.FLUX_COMMAND,
    SourceForm.HELMFILE,
    SourceForm.HOOK,
}
_INSTALLS = {SourceForm.HELM_RELEASE, SourceForm.HELMFILE, SourceForm.HELM_COMMAND, SourceForm.TOFU}
_FILES = {SourceForm.KUBECTL_COMMAND, SourceForm.KUSTOMIZE_COMMAND, SourceForm.HOOK, SourceForm.TOFU}
_PHASES = list(Phase)


def join(cluster: str, origins: Sequence[Origin]) -> tuple[Component, ...]:
    """The components of a cluster, in the order of phases and then of names."""
    groups = _grouped(origins)
    named = named_groups(groups)
    by_id = {origin.id: name for name, group in named.items() for origin in group}
    components = {name: _component(cluster, name, group, by_id) for name, group in named.items()}
    components |= _configured(components)
    components |= _definitions(components)
    return tuple(sorted(components.values(), key=lambda each: (_PHASES.index(each.phase), each.name)))


def _grouped(origins: Sequence[Origin]) -> list[tuple[Origin, ...]]:
    """Origins that deploy the same thing."""
    groups: dict[Key, list[Origin]] = {}
    homes = _homes(origins)
    installed = {_key(each) for each in origins if each.side == Side.BOOTSTRAP}
    late: list[Origin] = []
    for origin in origins:
        key = _key(origin)
        if origin.form == SourceForm.APPLICATION:
            # Argo CD's application of a chart is the release that bootstrap installs under the same name.
            shared = [each for each in dict.fromkeys(_releases(origin)) if each in installed]
            key = shared[0] if len(shared) == 1 else key
        elif origin.form in _FILES and (home := _home(origin, homes)):
            key = _key(home)
        elif origin.form == SourceForm.INLINE_MANIFEST:
            late.append(origin)
            continue
        groups.setdefault(key, []).append(origin)
    for origin in late:
        groups.setdefault(_inline(origin, groups, homes), []).append(origin)
    return [tuple(group) for group in groups.values()]


def _key(origin: Origin) -> Key:
    """What an origin is, so that another one can be the same."""
    is_chart = isinstance(origin.source, ChartSource)
    if origin.form in _ENGINE or (origin.form is SourceForm.TOFU and origin.name == "flux" and not is_chart):
        return ("engine",)
    if origin.form in _INSTALLS and isinstance(origin.source, ChartSource):
        # The CRDs of a chart may be installed before it, from the same chart under the same name.
        is_apart = origin.phase == Phase.CRDS and not _is_of_crds(origin.source)
        stage = "crds" if is_apart else "release"
        return (stage, origin.source.namespace, origin.source.release or origin.name)
    return ("origin", origin.id)


def _is_of_crds(chart: ChartSource) -> bool:
    """Whether a chart has nothing but CRDs, so that its first half is all of it."""
    known = well_known_components.recognised([chart.name])
    return known.role == "crds" if known else chart.name.endswith("-crds")


def _sources(source: Source | SeveralSources) -> tuple[Source, ...]:
    return source.each if isinstance(source, SeveralSources) else (source,)


def _releases(origin: Origin) -> Iterator[Key]:
    for source in _sources(origin.source):
        if isinstance(source, ChartSource) and origin.phase != Phase.CRDS:
            yield ("release", source.namespace, source.release or origin.name)


def _homes(origins: Sequence[Origin]) -> list[tuple[Origin, set[Loose]]]:
    """What applies objects from Git, with everything that it applies: its objects, and those that declare children."""
    children: dict[str, set[Loose]] = {}
    for each in origins:
        group, _, _ = str(each.definition.get("apiVersion", "")).rpartition("/")
        # What nobody brings, the root, brings itself.
        children.setdefault(each.parent or each.id, set()).add((group, each.form.value, each.name))
    return [
        (each, {*map(_loose, each.objects), *children.get(each.id, ())})
        for each in origins
        if each.form in {SourceForm.KUSTOMIZATION, SourceForm.APPLICATION}
    ]


def _home(origin: Origin, homes: Sequence[tuple[Origin, set[Loose]]]) -> Origin | None:
    """What applies in the end what a script applies first: the same directory, or most of the same objects."""
    sources_only = bool(origin.objects) and all(each.group == flux_names.SOURCE_GROUP for each in origin.objects)
    if isinstance(origin.source, DirectorySource):
        for home, _ in homes:
            # Sources are not among the objects of a Kustomization, so that their file must tell.
            above = [origin.source.path, *(posixpath.dirname(origin.source.path) for _ in range(sources_only))]
            if isinstance(home.source, DirectorySource) and home.source.path in above:
                return home
    mine = {_loose(each) for each in origin.objects if each.kind != "Namespace"} or set(map(_loose, origin.objects))
    shared = [(len(mine & theirs), -number) for number, (_, theirs) in enumerate(homes)]
    most, number = max(shared, default=(0, 0))
    return homes[-number][0] if most else None


def _loose(each: ObjectId) -> Loose:
    """An object without its namespace, which a kustomization may set and a file leave out."""
    return (each.group, each.kind, each.name)


def _inline(origin: Origin, groups: Mapping[Key, Sequence[Origin]], homes: Sequence[tuple[Origin, set[Loose]]]) -> Key:
    """The component whose first half an inline manifest is."""
    mine = well_known_components.recognised([origin.name])
    for key, group in groups.items():
        labels = {label for each in group for label in _labels(each)}
        if origin.name in labels and any(each.form != SourceForm.INLINE_MANIFEST for each in group):
            return key
    if (home := _taking_over(origin, homes)) and (taken := [key for key, group in groups.items() if home in group]):
        return taken[0]
    for recognised in (_known, _fetched) if mine is not None else ():
        alike = [key for key, group in groups.items() if any(recognised(each) == mine for each in group)]
        if len(alike) == 1:
            return alike[0]
    return ("origin", origin.id)


def _labels(origin: Origin) -> Iterator[str]:
    """What an inline manifest of it may be called: its name, its release, its chart in the repo."""
    yield origin.name
    for source in _sources(origin.source):
        if isinstance(source, ChartSource) and origin.phase != Phase.CRDS:
            yield source.release or origin.name
            if not source.repository:
                yield posixpath.basename(source.name)


def _taking_over(origin: Origin, homes: Sequence[tuple[Origin, set[Loose]]]) -> Origin | None:
    """What applies from Git the greater part of what an inline manifest has, or is for the greater part in it."""
    mine = {_loose(each) for each in origin.objects if each.kind != "Namespace"}
    shared = []
    for number, (home, _) in enumerate(homes):
        theirs = {_loose(each) for each in home.objects if each.kind != "Namespace"}
        both = len(mine & theirs)
        if 2 * both > min(len(mine), len(theirs)):
            shared.append((both, -number))
    return homes[-max(shared)[1]][0] if shared else None


def _known(origin: Origin) -> well_known_components.WellKnownComponent | None:
    charts = [source.name for source in _sources(origin.source) if isinstance(source, ChartSource)]
    return well_known_components.recognised([origin.name, *charts])


def _fetched(origin: Origin) -> well_known_components.WellKnownComponent | None:
    """What a kustomization fetches from the repository of its makers, such as github.com/argoproj/argo-cd."""
    urls = [source.url for source in _sources(origin.source) if isinstance(source, RemoteSource)]
    return well_known_components.recognised(posixpath.basename(url).removesuffix(".git") for url in urls)


def _component(cluster: str, name: str, group: Sequence[Origin], by_id: Mapping[str, str]) -> Component:
    sides = {each.side for each in group}
    side = Side.HYBRID if len(sides) > 1 else next(iter(sides))
    first = min(group, key=lambda each: (_PHASES.index(_phase(each)), each.side != Side.GITOPS, each.place))
    # A version that Git holds counts more than one that a script repeats.
    versions = sorted((each for each in group if each.version), key=lambda each: each.side != Side.GITOPS)
    needs = _needs(group)
    parent = next((by_id[each.parent] for each in group if each.parent in by_id), "")
    about = next((found for each in group if (found := _known(each))), None)
    why = _why(first, side, about)
    return Component(
        name=name,
        cluster=cluster,
        phase=_phase(first),
        side=side,
        owner=Owner.GITOPS if Side.GITOPS in sides else Owner.BOOTSTRAP,
        role="engine" if any(each.form in _ENGINE for each in group) else about.role if about else "",
        why=why or f"{first.form} in {first.place.path}",
        is_why_only_form=not why,
        version=versions[0].version if versions else "",
        needs=tuple(dict.fromkeys(by_id[each.id] for each in needs if by_id.get(each.id, name) != name)),
        missing=_unmet(needs, by_id),
        parent=parent if parent != name else "",
        origins=tuple(group),
    )


def _needs(group: Sequence[Origin]) -> list[ComponentNeed]:
    """What a group needs; of several commands of a script only the first one's place in the order counts.

    The others come later only because a script does one thing after the other, and what stands between two commands
    for the same component cannot both need it and be needed.
    """
    needs: list[ComponentNeed] = []
    is_ordered = False
    for each in group:
        ordered = [need for need in each.needs if need.is_order]
        needs += [need for need in each.needs if not need.is_order]
        if each.form in _ORDERED and not is_ordered:
            needs += ordered
            is_ordered = True
    return needs


def _unmet(needs: Sequence[ComponentNeed], by_id: Mapping[str, str]) -> tuple[ComponentNeed, ...]:
    return tuple({each.id: each for each in needs if each.id not in by_id}.values())


def _phase(origin: Origin) -> Phase:
    if origin.phase is not None:
        return origin.phase
    return Phase.GITOPS if origin.side == Side.GITOPS else Phase.CORE


def _why(first: Origin, side: Side, about: well_known_components.WellKnownComponent | None) -> str:
    if side != Side.GITOPS and _phase(first) == Phase.CRDS:
        return "kinds must be served before anything uses them"
    return about.why if about and (side != Side.GITOPS or _phase(first) != Phase.GITOPS) else ""


def _configured(components: Mapping[str, Component]) -> dict[str, Component]:
    """GitOps components that only configure what bootstrap installs: the other half of a hybrid."""
    changed: dict[str, Component] = {}
    hosts = {
        found.key: each
        for each in components.values()
        if each.side != Side.GITOPS
        and each.phase != Phase.CRDS
        and (found := well_known_components.recognised([each.name]))
    }
    for component in components.values():
        if component.side != Side.GITOPS:
            continue
        groups = {each.group for origin in component.origins for each in origin.objects if each.kind != "Namespace"}
        owners = {found.key if (found := well_known_components.by_group().get(group)) else "" for group in groups}
        if len(owners) == 1 and (host := hosts.get(next(iter(owners)))) and host.name != component.name:
            changed[component.name] = dataclasses.replace(component, part_of=host.name)
            changed[host.name] = dataclasses.replace(changed.get(host.name, host), side=Side.HYBRID)
    return changed


def _definitions(components: Mapping[str, Component]) -> dict[str, Component]:
    """CRDs that are installed first belong in the end to whom the component belongs that they are for."""
    hosts = [each for each in components.values() if each.phase != Phase.CRDS]
    owners = {found.key: each.owner for each in hosts if (found := well_known_components.recognised([each.name]))}
    owners |= {each.name: each.owner for each in hosts}
    changed = {}
    for each in components.values():
        about = well_known_components.recognised([each.name])
        bare = each.name.removesuffix("-crds")
        owner = owners.get(about.key if about and about.role != "crds" else bare, each.owner)
        if each.phase == Phase.CRDS and bare != each.name:
            changed[each.name] = dataclasses.replace(each, owner=owner)
    return changed
