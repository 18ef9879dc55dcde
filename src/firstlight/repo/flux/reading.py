"""A repo as Flux would read it: its clusters, what each applies, and what no cluster leads to."""

import collections
from collections.abc import Iterator, Sequence

from firstlight.model.cluster import Cluster, Engine, Network
from firstlight.model.component import Origin
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo import kustomize
from firstlight.repo.flux import (
    cycles,
    engine,
    following,
    helm_releases,
    ignoring,
    kinds,
    kustomizations,
    naming,
    networks,
    roots,
    scanning,
    unreached,
    variables,
)
from firstlight.repo.flux.following import Reached
from firstlight.repo.flux.own import Own
from firstlight.repo.flux.scanning import Scan
from firstlight.repo.flux.sources import Source, ref
from firstlight.repo.flux.start import Root, Start
from firstlight.repo.found import Found
from firstlight.repo.work_tree import WorkTree


def read(tree: WorkTree, *, roots: Sequence[Root] = ()) -> Found:
    """Read a repo.

    Args:
        tree: The repo.
        roots: Where clusters begin, as far as somebody else knows.
    """
    scan = scanning.scan(tree)
    followed = _followed(tree, scan, roots)
    found = _Found(tree)
    for start, reached in followed:
        found.add(start, reached)
    places = {place for _, reached in followed for place in reached.places}
    places |= {manifest.place for start, _ in followed for manifest in start.manifests}
    files = {file for _, reached in followed for file in reached.files}
    left = unreached.origins(tree, scan, places=places, files=files)
    return Found(
        clusters=tuple(found.clusters),
        origins=tuple(found.origins),
        unreached=tuple(sorted(left, key=lambda each: (each.place, each.id))),
        remarks=tuple(dict.fromkeys(found.remarks)),
    )


def _followed(tree: WorkTree, scan: Scan, given: Sequence[Root]) -> list[tuple[Start, Reached]]:
    """The trees of all clusters, the certain ones first."""
    done = [(start, following.follow(tree, scan, start)) for start in roots.said(tree, scan, given)]
    for start in roots.self_containing(tree, scan):
        known = {place for _, reached in done for place in reached.places}
        if start.place not in known and all(start.path != each.path for each, _ in done):
            done.append((start, following.follow(tree, scan, start)))
    if not done:
        done = [(start, following.follow(tree, scan, start)) for start in roots.guessed(tree, scan)]
    return done


class _Found:
    """What the clusters come to, collected."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.clusters: list[Cluster] = []
        self.origins: list[Origin] = []
        self.remarks: list[Remark] = []

    def add(self, start: Start, reached: Reached) -> None:
        settings, said = _settings(reached)
        taken = {each.name for each in self.clusters}
        name = start.cluster or naming.name(start.path, settings, repo=self._tree.root.name, taken=taken)
        origins = list(self._origins(start, reached, name))
        self.remarks += [*reached.remarks, *_shared(reached), *cycles.remarks(origins)]
        self.remarks += ignoring.remarks(self._tree, _source(start, reached).manifest, reached.files)
        if start.is_inferred:
            message = f"the cluster {name} is inferred: {start.why}"
            self.remarks.append(Remark(start.place, Grade.WARNING, message, "declare its path in firstlight.yaml"))
        self.origins += origins
        self.clusters.append(self._cluster(start, reached, name, settings, said))

    def _origins(self, start: Start, reached: Reached, cluster: str) -> Iterator[Origin]:
        own = Own(self._tree, start)
        own.know(_source(start, reached))
        for visited in reached.kustomizations.values():
            yield kustomizations.origin(
                visited.manifest,
                cluster=cluster,
                parent=visited.parent,
                path=visited.path,
                remote=visited.remote,
                objects=visited.objects,
                stated=visited.stated,
                secrets=visited.secrets,
                doubt=visited.doubt,
            )
        for manifest, parent in reached.helm_releases.values():
            origin, remarks = helm_releases.origin(
                manifest,
                cluster=cluster,
                parent=parent,
                sources=reached.sources,
                holders=reached.holders,
                is_own=own.is_own,
            )
            self.remarks += remarks
            yield origin
        for manifest, parent in reached.instances.values():
            yield engine.instance(manifest, cluster=cluster, parent=parent)
        if reached.engine:
            parent = reached.engine_parent
            maker = reached.kustomizations[parent].manifest
            yield engine.components(reached.engine, cluster=cluster, parent=parent, maker=maker)
        elif start.components:
            beside = kustomize.objects_of(self._tree, start.components)
            if beside:
                yield engine.components(beside, cluster=cluster)

    def _cluster(
        self, start: Start, reached: Reached, name: str, settings: dict[str, str], said: dict[str, Place]
    ) -> Cluster:
        source = _source(start, reached)
        addresses = networks.load_balancers(reached.pools)
        said |= {"path": start.place}
        if source.manifest is not None:
            said["url"] = source.manifest.place
        if addresses:
            said["network.load_balancers"] = reached.pools[0].place
        written = ref(source.manifest)
        branch = kinds.text(written.get("branch")) or kinds.text(written.get("name")).removeprefix("refs/heads/")
        if branch and source.manifest is not None:
            said["branch"] = source.manifest.place
        return Cluster(
            name=name,
            place=start.place,
            engine=Engine.FLUX,
            url=source.url,
            branch=branch,
            path=start.path,
            network=Network(load_balancers=addresses),
            settings=settings,
            said=said,
        )


def _source(start: Start, reached: Reached) -> Source:
    reference = kustomizations.source_reference(start.manifests[0])
    return reached.sources.find(reference.kind, reference.name, reference.namespace)


def _settings(reached: Reached) -> tuple[dict[str, str], dict[str, Place]]:
    """The variables that most of a cluster shares, and where they are said."""
    users: collections.Counter[tuple[str, str]] = collections.Counter()
    first: set[tuple[str, str]] = set()
    total = 0
    for visited in reached.kustomizations.values():
        named = [
            (each.namespace, each.name)
            for each in variables.references(kinds.spec(visited.manifest), visited.manifest.id.namespace)
            if each.kind == "ConfigMap"
        ]
        users.update(named)
        total += bool(named)
        if not visited.parent:
            first |= set(named)
    settings: dict[str, str] = {}
    said: dict[str, Place] = {}
    for key, number in users.items():
        held = reached.holders.config_maps.get(key)
        if held is not None and not variables.is_encrypted(held) and (key in first or number * 2 >= total):
            data = kinds.mapping(held.value.get("data"))
            settings |= {str(name): kinds.text(value) for name, value in data.items()}
            said.setdefault("settings", held.place)
    return settings, said


def _shared(reached: Reached) -> Iterator[Remark]:
    """What to say of objects that two Kustomizations apply."""
    for (first, second), objects in reached.shared.items():
        example = objects[0]
        named = f"{example.kind} {example.namespace}/{example.name}".replace(" /", " ")
        more = f" and {len(objects) - 1} more" if len(objects) > 1 else ""
        message = f"{second} applies what {first} applies too: {named}{more}"
        place = reached.kustomizations[second].manifest.place
        yield Remark(place, Grade.WARNING, message, "let one of them own each object")
