"""A repo as it is, read into a platform."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Certainty, Component, Origin
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.remark import Grade, Remark
from firstlight.repo import argocd, collecting, flux, helmfile, scripts, talos
from firstlight.repo.declaration import form
from firstlight.repo.declaration import reading as declarations
from firstlight.repo.declaration.reading import Declaration
from firstlight.repo.found import Found
from firstlight.repo.join import clusters as cluster_join
from firstlight.repo.join import components as component_join
from firstlight.repo.join import declared, foundation
from firstlight.repo.talos import plain
from firstlight.repo.work_tree import WorkTree


def read(root: Path) -> Platform:
    """Everything that a repo describes, with what is wrong or was not understood.

    Raises:
        errors.UsageError: There is no such directory.
    """
    return read_tree(WorkTree(root))


def read_tree(tree: WorkTree) -> Platform:
    """The same of a work tree that is there already, such as one in which files are others than on the disk."""
    with collecting.seldom():
        return _read(tree)


def _read(tree: WorkTree) -> Platform:
    declaration, problems = declarations.read(tree)
    found = _found(tree, declaration)
    joined = _clusters(tree, declaration, found)
    components, remarks = _components(joined, declaration, found)
    if declaration:
        problems += (*declared.problems(declaration, tree), *declared.undeployed(declaration, components))
    said = [*tree.remarks, *problems, *joined.remarks, *remarks, *(remark for each in found for remark in each.remarks)]
    engines = [each.engine for each in joined.clusters if each.engine]
    return Platform(
        name=declaration.platform.metadata.name if declaration else tree.root.name,
        root=tree.root,
        engine=max(set(engines), key=engines.count) if engines else None,
        clusters=joined.clusters,
        components=components,
        secrets=declared.secrets(declaration) if declaration else foundation.inferred(components),
        unreached=tuple(sorted((each for part in found for each in part.unreached), key=lambda each: each.place)),
        remarks=tuple(sorted(_unanswered(said, joined.clusters))),
        declared=declaration.place() if declaration else None,
        is_misdeclared=declaration is None and form.FILE in tree.listing("."),
    )


def _unanswered(remarks: Sequence[Remark], clusters: Sequence[Cluster]) -> set[Remark]:
    """Remarks without those that another reader answers: machines may be named elsewhere than in their configs."""
    answered = {place.path for each in clusters if each.machines for place in each.files}
    return {each for each in remarks if each.message != plain.NO_MACHINES or each.place.path not in answered}


def _found(tree: WorkTree, declaration: Declaration | None) -> list[Found]:
    """What each reader finds; scripts come before Flux, since they may say where it starts."""
    own = Found(clusters=tuple(declared.clusters(declaration)) if declaration else ())
    shell, machines, releases = scripts.read(tree), talos.read(tree), helmfile.read(tree)
    applications = argocd.read(tree, urls=[each.url for each in own.clusters if each.url])
    taken = {each.path for each in applications.clusters}
    starts = [
        flux.Root(path=each.path, cluster=each.name, place=each.place)
        for part in (own, shell)
        for each in part.clusters
        if each.path and each.engine != Engine.ARGOCD and each.path not in taken
    ]
    return [own, flux.read(tree, roots=starts), applications, machines, releases, shell]


def _clusters(tree: WorkTree, declaration: Declaration | None, found: Sequence[Found]) -> cluster_join.Joined:
    everything = [each for part in found for each in part.clusters]
    renamed = declared.aliases(declaration, everything) if declaration else {}
    known = [
        dataclasses.replace(each, name=renamed.get((each.name, str(each.place)), each.name)) for each in everything
    ]
    environments: dict[str, Place] = {}
    for origin in (origin for part in found for origin in part.origins):
        name = next((new for (old, _), new in renamed.items() if old == origin.cluster), origin.cluster)
        environments.setdefault(name, origin.place)
    joined = cluster_join.join(known, fallback=tree.root.name, environments=environments)
    others = {old: new for (old, _), new in renamed.items() if old != new}
    return dataclasses.replace(joined, aliases={**others, **joined.aliases})


def _components(
    joined: cluster_join.Joined, declaration: Declaration | None, found: Sequence[Found]
) -> tuple[tuple[Component, ...], list[Remark]]:
    components: list[Component] = []
    remarks: list[Remark] = []
    origins = [each for part in found for each in part.origins]
    for cluster in joined.clusters:
        mine = component_join.join(cluster.name, [*_of(cluster, origins, joined)])
        if declaration:
            changed, said = declared.components(declaration, cluster.name, mine)
            mine, remarks = tuple(changed), [*remarks, *said]
        components += mine
        remarks += [
            Remark(need.place, Grade.ERROR, f"{each.name} needs {need.id}, which nothing deploys in {cluster.name}")
            for each in mine
            for need in each.missing
        ]
    return tuple(components), remarks


def _of(cluster: Cluster, origins: Sequence[Origin], joined: cluster_join.Joined) -> list[Origin]:
    """What is deployed in a cluster; what names none is for each that has machines, if any has, and not certain."""
    mine = []
    is_meant = bool(cluster.machines) or not any(each.machines for each in joined.clusters)
    for origin in origins:
        name = joined.aliases.get(origin.cluster, origin.cluster)
        if name == cluster.name:
            mine.append(dataclasses.replace(origin, cluster=name))
        elif not name and is_meant:
            doubt = origin.doubt or "nothing says for which cluster"
            mine.append(dataclasses.replace(origin, cluster=cluster.name, certainty=Certainty.GUESSED, doubt=doubt))
    return mine
