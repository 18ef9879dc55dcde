"""What firstlight.yaml changes in what was inferred: names of clusters, phases, owners, needs and reasons."""

import dataclasses
import difflib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import UNSET

from firstlight.model.cluster import Cluster, ConfigBase, Engine, Machine, MachineRole, Network
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret
from firstlight.model.source import DirectorySource, Embedded, RemoteSource, SeveralSources
from firstlight.repo import well_known_components
from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.declaration.declaration_file import Declaration
from firstlight.repo.join import declared_sources
from firstlight.repo.work_tree import WorkTree

_SAID = ("path", "talos", "kubernetes")
_PHASES = list(Phase)
_BOOTSTRAP = {Phase.INLINE, Phase.CRDS, Phase.CORE, Phase.ENGINE}
_PREFERRED = [
    SourceForm.HELM_RELEASE,
    SourceForm.APPLICATION,
    SourceForm.HELMFILE,
    SourceForm.HELM_COMMAND,
    SourceForm.TOFU,
    SourceForm.KUSTOMIZATION,
    SourceForm.KUSTOMIZE_COMMAND,
    SourceForm.KUBECTL_COMMAND,
]


def clusters(declaration: Declaration) -> Iterator[Cluster]:
    """The declared clusters; they come first, so that they are believed and everything else is held against them."""
    gitops = declaration.platform.gitops
    for name, each in declaration.platform.clusters.items():
        network = {field: getattr(each.network, field) for field in each.network.__struct_fields__}
        said = {
            f"network.{field}": declaration.place("clusters", name, "network", _camel(field))
            for field, value in network.items()
            if value not in (None, "", ())
        }
        yield Cluster(
            name=name,
            place=declaration.place("clusters", name),
            role=each.role,
            engine=Engine(gitops.engine) if gitops.engine is not UNSET else None,
            url=gitops.url,
            branch=gitops.branch,
            path=_clean(each.path),
            machines=tuple(_machines(declaration, name, each)),
            # Without patches of their own, somebody else may make the configs of machines that are only listed.
            base=ConfigBase.GENERATED if any(listed for _, listed in _patch_files(each)) else ConfigBase.UNKNOWN,
            files=tuple(Place(_clean(path)) for _, listed in _patch_files(each) for path in listed),
            network=Network(**network),
            talos=each.talos,
            kubernetes=each.kubernetes,
            talos_secrets=each.talos_secrets or "",
            talosconfig=each.talosconfig or "",
            talos_contract=each.talos_contract,
            schedules_on_control_planes=each.schedules_on_control_planes
            if each.schedules_on_control_planes is not UNSET
            else None,
            said=said
            | {field: declaration.place("clusters", name, field) for field in _SAID if getattr(each, field)}
            | (
                {"schedules_on_control_planes": declaration.place("clusters", name, "schedulesOnControlPlanes")}
                if each.schedules_on_control_planes is not UNSET
                else {}
            ),
        )


def _machines(declaration: Declaration, name: str, cluster: declaration_form.ClusterSection) -> Iterator[Machine]:
    if isinstance(cluster.machines, str):
        return
    for index, each in enumerate(cluster.machines):
        place = declaration.place("clusters", name, "machines", index)
        yield Machine(
            name=each.name, role=MachineRole(each.role), place=place, address=each.address, install_disk=each.disk,
            schematic=each.schematic, patches=tuple(Place(_clean(path)) for path in each.patches),
        )  # fmt: skip


def aliases(declaration: Declaration, found: Sequence[Cluster]) -> dict[tuple[str, str], str]:
    """Which of the readers' clusters a declared one is: by the path that Git owns, or the file of its machines.

    Returns:
        The declared name by the reader's name and place.
    """
    names: dict[tuple[str, str], str] = {}
    for name, each in declaration.platform.clusters.items():
        machines = _clean(each.machines) if isinstance(each.machines, str) else ""
        path = _clean(each.path)
        for cluster in found:
            places = [place.path for place in (cluster.place, *cluster.files)]
            has_machines = machines and any(_is_below(place, machines) for place in places)
            if has_machines or (path and cluster.path == path):
                names[cluster.name, str(cluster.place)] = name
    return names


def problems(declaration: Declaration, tree: WorkTree, known: Sequence[Cluster]) -> Iterator[Diagnostic]:
    """Yield an error for each path and cluster that does not exist.

    Args:
        declaration: firstlight.yaml.
        tree: The repo.
        known: All clusters, the inferred ones too.
    """
    clusters = {each.name for each in known}
    platform = declaration.platform
    for name, each in platform.clusters.items():
        fields = {"path": each.path, "machines": each.machines if isinstance(each.machines, str) else ""}
        for field, path in fields.items():
            yield from _missing(declaration, tree, path, "clusters", name, field)
        for steps, listed in _patch_files(each):
            for index, path in enumerate(listed):
                yield from _missing(declaration, tree, path, "clusters", name, *steps, "patches", index)
    yield from declaration_file.gate_problems(declaration)
    yield from declaration_file.hook_problems(declaration)
    for name, component in platform.components.items():
        yield from _missing(declaration, tree, component.from_, "components", name, "from")
        yield from _digest_problems(declaration, tree, name)
        for index, cluster in enumerate(component.clusters):
            if cluster not in clusters:
                place = declaration.place("components", name, "clusters", index)
                yield Diagnostic.error(
                    "declared-cluster-missing",
                    f"there is no cluster {cluster}",
                    at=place,
                    fix=_near(cluster, clusters),
                )


def _patch_files(cluster: declaration_form.ClusterSection) -> Iterator[tuple[tuple[str | int, ...], tuple[str, ...]]]:
    """The files of Talos patches, and the way to each list of them."""
    yield (), cluster.patches
    yield ("controlPlane",), cluster.control_plane.patches
    yield ("worker",), cluster.worker.patches
    for index, each in enumerate(() if isinstance(cluster.machines, str) else cluster.machines):
        yield ("machines", index), each.patches


def _clean(path: str) -> str:
    """A path as files of the repo are called; a URL is left as it is."""
    return path if declared_sources.is_url(path) else path.strip("/").removeprefix("./")


def _missing(declaration: Declaration, tree: WorkTree, path: str, *steps: str | int) -> Iterator[Diagnostic]:
    clean = _clean(path)
    if path and not declared_sources.is_url(clean) and not tree.is_file(clean) and not tree.is_dir(clean):
        hint = _near(clean, tree.files) or "Write a path from the top of the repo."
        yield Diagnostic.error(
            "declared-path-missing", f"there is no {clean} in the repo", at=declaration.place(*steps), fix=hint
        )


def meant_clusters(
    declaration: Declaration, inferred: Mapping[str, Sequence[Component]], fallback: Collection[str]
) -> dict[str, Collection[str]]:
    """Return the clusters that each declared component is about; all of them where the entry has no ``from``.

    An entry with ``from`` is about the clusters that it names. Without names it is about those that deploy this path,
    and those with an inline manifest of that name, which does not say what it is made from; else about those with a
    component of that name.

    Args:
        declaration: firstlight.yaml.
        inferred: The components of each cluster, as the readers found them.
        fallback: The clusters for which something new is meant.
    """
    meant: dict[str, Collection[str]] = {}
    for name, wish in declaration.platform.components.items():
        if wish.clusters or not wish.from_:
            meant[name] = wish.clusters or inferred.keys()
            continue
        named = {
            each: found[index] for each, found in inferred.items() if (index := _index_of(found, name)) is not None
        }
        deploying = {each for each, found in inferred.items() if _index(found, name, wish) is not None}
        inline = {each for each, component in named.items() if _is_only_inline(component)}
        meant[name] = deploying | inline or named.keys() or fallback
    return meant


def _is_only_inline(component: Component) -> bool:
    return all(isinstance(origin.source, Embedded) for origin in component.origins)


def _digest_problems(declaration: Declaration, tree: WorkTree, name: str) -> Iterator[Diagnostic]:
    """A URL without a digest, and a digest that a file of the repo does not have."""
    wish = declaration.platform.components[name]
    path = _clean(wish.from_)
    if declared_sources.is_url(path) and not wish.digest:
        yield Diagnostic.error(
            "declared-digest-missing",
            f"nothing says which content {path} must have",
            at=declaration.place("components", name, "from"),
            fix=f"Write digest: sha256:…, as curl -fsSL {path} | sha256sum prints it.",
        )
    elif not _is_what_it_was(tree, wish):
        made = _digest(tree, path) or "not a file of the repo"
        yield Diagnostic.error(
            "declared-digest-differs",
            f"{path or name} is {made}, and not what digest says",
            at=declaration.place("components", name, "digest"),
            fix="Look at what changed in the file, and write its digest, or leave digest out.",
        )


def _is_what_it_was(tree: WorkTree, wish: declaration_form.ComponentSection) -> bool:
    """Whether a file of the repo has the digest that is declared; one of the web is asked when it is fetched."""
    path = _clean(wish.from_)
    return not wish.digest or declared_sources.is_url(path) or _digest(tree, path) == wish.digest


def _digest(tree: WorkTree, path: str) -> str:
    content = tree.bytes(path) if tree.is_file(path) else None
    return "" if content is None else f"sha256:{hashlib.sha256(content).hexdigest()}"


def components(
    declaration: Declaration,
    tree: WorkTree,
    cluster: str,
    inferred: Sequence[Component],
    *,
    meant: Mapping[str, Collection[str]],
) -> tuple[list[Component], list[Diagnostic]]:
    """Return the components of a cluster, with what is declared of them.

    Args:
        declaration: firstlight.yaml.
        tree: The repo.
        cluster: The name of the cluster.
        inferred: Its components, as the readers found them.
        meant: The clusters that each declared component is about.
    """
    found = list(inferred)
    diagnostics: list[Diagnostic] = []
    for name, wish in declaration.platform.components.items():
        if cluster not in meant[name] or not _is_what_it_was(tree, wish):
            continue
        if (index := _index(found, name, wish)) is not None:
            others = [each for each in found if each.name == name and each is not found[index]]
            if any(not _is_other_half(each, found[index]) for each in others):
                message = f"{found[index].name} cannot be called {name}: another component has that name in {cluster}"
                place = declaration.place("components", name)
                diagnostics.append(Diagnostic.error("declared-name-taken", message, at=place))
                continue
            found = _renamed(found, found[index].name, name)
            found, index = _as_one(found, name)
        elif wish.from_:
            found, said = _brought(declaration, tree, cluster, found, name)
            diagnostics += said
            index = _index_of(found, name)
        if index is None:
            continue
        declared = _declared(declaration, _pinned(found[index], _clean(wish.from_), wish.digest), wish)
        gates, hooks = (
            declaration_file.gates_of(declaration, name),
            declaration_file.hooks_of(declaration, name),
        )
        found[index] = dataclasses.replace(declared, gates=gates, hooks=hooks)
        diagnostics += declaration_file.useless_hooks(declaration, found[index])
    names = {each.name for each in found}
    for name, wish in declaration.platform.components.items():
        if cluster not in meant[name]:
            continue
        for number, need in enumerate(wish.needs):
            if name in names and need not in names:
                place = declaration.place("components", name, "needs", number)
                message = f"{name} needs {need}, which nothing deploys in {cluster}"
                diagnostics.append(Diagnostic.error("missing-need", message, at=place, fix=_near(need, names)))
    met = [dataclasses.replace(each, needs=tuple(need for need in each.needs if need in names)) for each in found]
    return met, diagnostics


def undeployed(declaration: Declaration, inferred: Sequence[Component]) -> Iterator[Diagnostic]:
    """Declared components that nothing in the repo deploys anywhere."""
    names = {each.name for each in inferred}
    for name, wish in declaration.platform.components.items():
        if name not in names and not wish.from_:
            hint = _near(name, names) or "Write from: with the directory that has it."
            message = f"nothing in the repo deploys {name}"
            yield Diagnostic.error(
                "declared-component-not-deployed", message, at=declaration.place("components", name), fix=hint
            )


def secrets(declaration: Declaration | None, inferred: Sequence[FoundationSecret]) -> tuple[FoundationSecret, ...]:
    """The foundation: what must exist before an operator can fetch the rest, as declared, else as inferred."""
    if declaration is None:
        return tuple(inferred)
    declared = tuple(
        FoundationSecret(
            name=each.name,
            namespace=each.namespace,
            data=each.data,
            place=declaration.place("secrets", index),
            places={key: declaration.place("secrets", index, "data", key) for key in each.data},
        )
        for index, each in enumerate(declaration.platform.secrets)
    )
    names = {(each.namespace, each.name) for each in declared}
    return (*declared, *(each for each in inferred if (each.namespace, each.name) not in names))


def _index_of(found: Sequence[Component], name: str) -> int | None:
    return next((index for index, each in enumerate(found) if each.name == name), None)


def _is_other_half(one: Component, other: Component) -> bool:
    """Whether one is bootstrap's and the other GitOps', so that they may be two halves of one component."""
    return {one.side, other.side} == {Side.BOOTSTRAP, Side.GITOPS}


def _as_one(found: list[Component], name: str) -> tuple[list[Component], int]:
    """Join components that have the same name by now: the inline manifest, and what Git will apply in its place."""
    same = [each for each in found if each.name == name]
    index = found.index(same[0])
    if len(same) == 1:
        return found, index
    first = min(same, key=lambda each: _PHASES.index(each.phase))
    owned = next((each for each in same if each.owner == Owner.GITOPS), first)
    joined = dataclasses.replace(
        first,
        side=Side.HYBRID if len({origin.side for each in same for origin in each.origins}) > 1 else first.side,
        owner=owned.owner,
        version=owned.version or first.version,
        parent=owned.parent,
        needs=tuple(dict.fromkeys(need for each in same for need in each.needs if need != name)),
        missing=tuple(dict.fromkeys(need for each in same for need in each.missing)),
        origins=tuple(origin for each in same for origin in each.origins),
    )
    return [joined if each is same[0] else each for each in found if each is same[0] or each not in same], index


def _brought(
    declaration: Declaration, tree: WorkTree, cluster: str, found: list[Component], name: str
) -> tuple[list[Component], list[Diagnostic]]:
    """Add what ``from`` holds, where nothing in the repo deploys it: to the component of that name, or as a new one."""
    wish = declaration.platform.components[name]
    index = _index_of(found, name)
    beside = None if index is None else found[index]
    known = well_known_components.recognised([name])
    path = _clean(wish.from_)
    phase = beside.phase if beside else Phase(wish.phase) if wish.phase is not UNSET else _phase(path, name)
    place = declaration.place("components", name, "from")
    if declared_sources.is_url(path) and not wish.digest:
        return found, []
    origin = declared_sources.origin(
        tree, path, name=name, place=place, cluster=cluster, phase=phase, beside=beside, digest=wish.digest
    )
    if origin is None:
        is_there = tree.is_file(path) or tree.is_dir(path) or declared_sources.is_url(path)
        message = f"{path} holds neither a chart, a kustomization nor manifests, and nothing in the repo deploys it"
        fix = "Name the directory with the Chart.yaml, the kustomization.yaml or the manifests, or a file of manifests."
        return found, [Diagnostic.error("declared-source-unusable", message, at=place, fix=fix)] if is_there else []
    if index is not None and beside is not None:
        changed = dataclasses.replace(
            beside, origins=(origin, *beside.origins), version=beside.version or origin.version
        )
        return [*found[:index], changed, *found[index + 1 :]], []
    made = Component(
        name=name, cluster=cluster, phase=phase, side=Side.BOOTSTRAP, owner=Owner.BOOTSTRAP,
        role=known.role if known else "", why=known.why if known else "", is_why_only_form=known is None,
        version=origin.version, origins=(origin,),
    )  # fmt: skip
    return [*found, made], []


def _phase(path: str, name: str) -> Phase:
    """When something new is applied, as far as its name and its source tell."""
    known = well_known_components.recognised([name])
    if known and known.role == "crds":
        return Phase.CRDS
    return well_known_components.phase_of([path] if declared_sources.is_url(path) else [], names=[name])


def _index(found: Sequence[Component], name: str, wish: declaration_form.ComponentSection) -> int | None:
    """Return the component that is meant: by where it comes from, else by its name."""
    if path := _clean(wish.from_):
        places = [
            (not _is_called(each, name), not _applies(origin, path), _PREFERRED.index(origin.form), index)
            for index, each in enumerate(found)
            for origin in each.origins
            if origin.form in _PREFERRED and (_applies(origin, path) or _is_below(origin.place.path, path))
        ]
        return min(places)[-1] if places else None
    if (exact := _index_of(found, name)) is not None:
        return exact
    # Since it was declared, something else may have got the same name, and both a longer one.
    alike = [index for index, each in enumerate(found) if _is_called(each, name)]
    meant = [index for index in alike if wish.phase is UNSET or found[index].phase == wish.phase]
    return meant[0] if len(meant) == 1 else None


def _is_called(component: Component, name: str) -> bool:
    """Whether a component has a name, its namespace aside."""
    return component.name == name or component.name.rpartition("/")[2] == name


def _applies(origin: Origin, path: str) -> bool:
    """Whether a directory of the repo, or a file of the web, is among what an origin applies."""
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    return any(
        (isinstance(each, DirectorySource) and each.path == path)
        or (isinstance(each, RemoteSource) and each.url == path)
        for each in sources
    )


def _pinned(component: Component, url: str, digest: str) -> Component:
    """A component that fetches a file only if it has this digest."""
    origins = tuple(
        dataclasses.replace(each, source=dataclasses.replace(each.source, digest=digest))
        if isinstance(each.source, RemoteSource) and each.source.url == url
        else each
        for each in component.origins
    )
    return dataclasses.replace(component, origins=origins)


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _declared(declaration: Declaration, component: Component, wish: declaration_form.ComponentSection) -> Component:
    phase = Phase(wish.phase) if wish.phase is not UNSET else component.phase
    origins = component.origins
    if phase in _BOOTSTRAP and all(each.side == Side.GITOPS for each in origins):
        # Bootstrap applies what Git holds: nothing is written twice.
        first = origins[0]
        place = declaration.place("components", component.name)
        own = Origin(
            form=SourceForm.DECLARED, side=Side.BOOTSTRAP, place=place, name=component.name, cluster=component.cluster,
            phase=phase, source=first.source, version=first.version,
        )  # fmt: skip
        origins = (own, *origins)
    sides = {each.side for each in origins}
    about = well_known_components.recognised([component.name])
    is_moved = phase in _BOOTSTRAP and component.phase not in _BOOTSTRAP
    owner = Owner(wish.owner) if wish.owner is not UNSET else component.owner
    return dataclasses.replace(
        component,
        phase=phase,
        side=Side.HYBRID if len(sides) > 1 else component.side,
        owner=owner,
        why=wish.why or (about.why if about and is_moved else component.why),
        is_why_declared=bool(wish.why),
        is_why_only_form=component.is_why_only_form and not wish.why and not (about and is_moved),
        needs=tuple(dict.fromkeys([*component.needs, *wish.needs])),
        origins=origins,
    )


def _renamed(components: Sequence[Component], old: str, new: str) -> list[Component]:
    if old == new:
        return list(components)

    def name(each: str) -> str:
        return new if each == old else each

    return [
        dataclasses.replace(
            each,
            name=name(each.name),
            needs=tuple(map(name, each.needs)),
            parent=name(each.parent),
            part_of=name(each.part_of),
        )
        for each in components
    ]


def _near(name: str, options: Sequence[str] | set[str] | dict[str, declaration_form.ClusterSection]) -> str:
    near = difflib.get_close_matches(name, list(options), n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else ""


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(each.title() for each in rest)
