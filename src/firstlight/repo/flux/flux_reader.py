"""Circles of dependsOn, in which each waits for the next for ever."""

import collections
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from firstlight.model.cluster import Cluster, Engine, Network
from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import kustomize
from firstlight.repo.flux import (
    flux_bootstrap,
    flux_kustomizations,
    flux_objects,
    flux_scan,
    flux_tree,
    helm_releases,
    post_build,
)
from firstlight.repo.flux.flux_bootstrap import FluxRoot, FluxStart
from firstlight.repo.flux.flux_kustomizations import FluxSource, OwnSources, source_ref
from firstlight.repo.flux.flux_objects import entries, mapping, text
from firstlight.repo.flux.flux_scan import FluxScan
from firstlight.repo.flux.flux_tree import Reached
from firstlight.repo.join import territories
from firstlight.repo.manifest import Manifest
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree


def cycle_diagnostics(origins: Sequence[Origin]) -> Iterator[Diagnostic]:
    """One diagnostic for each circle."""
    needs = {each.id: [(need.id, need.place) for need in each.needs] for each in origins if each.needs}
    state: dict[str, int] = {}
    for start in needs:
        if start in state:
            continue
        way = [start]
        waiting = [iter(needs[start])]
        state[start] = 1
        while waiting:
            step = next(waiting[-1], None)
            if step is None:
                state[way.pop()] = 2
                waiting.pop()
                continue
            other, place = step
            if state.get(other) == 1:
                circle = [*way[way.index(other) :], other]
                message = f"dependsOn leads in a circle: {' › '.join(each.partition('/')[2] for each in circle)}"
                yield Diagnostic.error(
                    "depends-on-circle",
                    message[:400],
                    at=place,
                    fix="none of them ever becomes ready; remove one of the needs",
                )
            elif other in needs and other not in state:
                state[other] = 1
                way.append(other)
                waiting.append(iter(needs[other]))


# What a cluster is called: by its directory, unless that could be anybody's.


_GENERIC = {
    "cluster", "clusters", "flux", "kubernetes", "k8s", "kube", "flux-system", "main", "config", "gitops", "deploy",
    "deployment", "manifests", "fluxcd", "root", "base", "default", "k3s", "talos", "infrastructure", "bootstrap",
    "repo",
}  # fmt: skip
_WEAK = {"apps", "infra", "applications", "platform"}
"""Names of clusters below ``clusters/``, and of nearly everything elsewhere."""
_SETTINGS = ("CLUSTER_NAME", "CLUSTER", "cluster_name", "cluster")


def cluster_name(path: str, settings: Mapping[str, str], *, repo: str, taken: Collection[str], own: str = "") -> str:
    """A name for a cluster.

    Args:
        path: The directory that its tree begins at.
        settings: Its variables.
        repo: What the repo's own directory is called.
        taken: Names of other clusters.
        own: The directory by which its path differs from those of all other clusters.
    """
    parts = [] if path == "." else path.split("/")
    candidates = [
        part
        for number, part in reversed([*enumerate(parts)])
        if part.lower() not in _GENERIC and (part not in _WEAK or (number and parts[number - 1].startswith("cluster")))
    ]
    said = [settings[each] for each in _SETTINGS if settings.get(each) and "$" not in settings[each]]
    first = candidates[:1] if parts and candidates and candidates[0] == parts[-1] else []
    for found in (*first, *said, *candidates, own, repo):
        if found and found not in taken:
            return found
    return "-".join([*parts, repo]) if "-".join([*parts, repo]) not in taken else f"{repo}-{len(taken) + 1}"


# Addresses for load balancers, as Cilium and MetalLB are told them.


def load_balancers(pools: Sequence[Manifest]) -> tuple[str, ...]:
    """The addresses of pools, as they are written: networks, or ranges with a dash."""
    found = [each for pool in pools for each in _addresses(pool)]
    return tuple(dict.fromkeys(each for each in found if each and "$" not in each))


def _addresses(pool: Manifest) -> Iterator[str]:
    spec = flux_objects.spec(pool)
    if spec.get("disabled") is True:
        return
    for each in map(mapping, [*entries(spec.get("blocks")), *entries(spec.get("cidrs"))]):
        start, stop = text(each.get("start")), text(each.get("stop"))
        yield text(each.get("cidr")) or (f"{start}-{stop}" if start and stop else start)
    for each in entries(spec.get("addresses")):
        yield text(each).replace(" ", "")


# Files that a source leaves out of what it fetches: Flux does not have them, whatever the repo holds.


_SIMPLE = re.compile(r"/\*|!/(?P<kept>[\w.-]+)(?:/.*)?|(?:\*\*/)?\*\.(?!ya?ml)\w+")
"""What most repos write: leave everything at the top out, but for some directories; and files that are no YAML."""


def ignored_file_diagnostics(tree: WorkTree, source: Manifest | None, files: Collection[str]) -> list[Diagnostic]:
    """What to say of files that have a part in a cluster's tree, and that its source may leave out."""
    found = []
    for place, written in _written(tree, source):
        lines = [line.strip() for line in written.splitlines()]
        patterns = [line for line in lines if line and not line.startswith("#")]
        simple = [_SIMPLE.fullmatch(line) for line in patterns]
        if any(each is None for each in simple):
            message = "patterns of files that are not fetched are not followed; some that are read here may be missing"
            found.append(Diagnostic.unknown("flux-ignore-not-followed", message, at=place))
        elif "/*" in patterns:
            kept = {each["kept"] for each in simple if each is not None}
            left_out = sorted(each for each in files if each.partition("/")[0] not in kept)
            if left_out:
                message = f"{left_out[0]} is not fetched, but the cluster's tree needs it"
                found.append(
                    Diagnostic.error(
                        "flux-file-ignored", message, at=place, fix=f"add !/{left_out[0].partition('/')[0]}"
                    )
                )
    return found


def _written(tree: WorkTree, source: Manifest | None) -> list[tuple[Place, str]]:
    found = []
    if source is not None and (ignore := flux_objects.text(flux_objects.spec(source).get("ignore"))):
        found.append((source.at("spec", "ignore"), ignore))
    if tree.is_file(".sourceignore"):
        found.append((Place(".sourceignore"), tree.text(".sourceignore") or ""))
    return found


# A repo as Flux would read it: its clusters, what each applies, and what no cluster leads to.


def read(tree: WorkTree, *, roots: Sequence[FluxRoot] = ()) -> ReaderResult:
    """Read a repo.

    Args:
        tree: The repo.
        roots: Where clusters begin, as far as somebody else knows.
    """
    scan = flux_scan.scan(tree)
    followed = _followed(tree, scan, roots)
    found = _Found(tree)
    names = territories.distinct_names(start.path for start, _ in followed)
    for start, reached in followed:
        found.add(start, reached, own=names.get(start.path, ""))
    places = {place for _, reached in followed for place in reached.places}
    places |= {manifest.place for start, _ in followed for manifest in start.manifests}
    files = {file for _, reached in followed for file in reached.files}
    left = flux_scan.unreached_origins(tree, scan, places=places, files=files)
    return ReaderResult(
        clusters=tuple(found.clusters),
        origins=tuple(found.origins),
        unreached=tuple(sorted(left, key=lambda each: (each.place, each.id))),
        diagnostics=tuple(dict.fromkeys(found.diagnostics)),
    )


def _followed(tree: WorkTree, scan: FluxScan, given: Sequence[FluxRoot]) -> list[tuple[FluxStart, Reached]]:
    """The trees of all clusters, the certain ones first."""
    done = [(start, flux_tree.follow(tree, scan, start)) for start in flux_scan.stated_roots(tree, scan, given)]
    for start in flux_scan.self_contained_roots(tree, scan):
        known = {place for _, reached in done for place in reached.places}
        if start.place not in known and all(start.path != each.path for each, _ in done):
            done.append((start, flux_tree.follow(tree, scan, start)))
    if not done:
        done = [(start, flux_tree.follow(tree, scan, start)) for start in flux_scan.guessed_roots(tree, scan)]
    return done


class _Found:
    """What the clusters come to, collected."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.clusters: list[Cluster] = []
        self.origins: list[Origin] = []
        self.diagnostics: list[Diagnostic] = []

    def add(self, start: FluxStart, reached: Reached, *, own: str) -> None:
        settings, said = _settings(reached)
        taken = {each.name for each in self.clusters}
        repo = self._tree.root.name
        name = start.cluster or cluster_name(start.path, settings, repo=repo, taken=taken, own=own)
        origins = list(self._origins(start, reached, name))
        self.diagnostics += [*reached.diagnostics, *_shared(reached), *cycle_diagnostics(origins)]
        self.diagnostics += ignored_file_diagnostics(self._tree, _source(start, reached).manifest, reached.files)
        if start.is_inferred:
            message = f"the cluster {name} is inferred: {start.why}"
            self.diagnostics.append(
                Diagnostic.warning(
                    "flux-cluster-inferred", message, at=start.place, fix="declare its path in firstlight.yaml"
                )
            )
        self.origins += origins
        self.clusters.append(self._cluster(start, reached, name, settings, said))

    def _origins(self, start: FluxStart, reached: Reached, cluster: str) -> Iterator[Origin]:
        own = OwnSources(self._tree, start)
        own.know(_source(start, reached))
        for visited in reached.kustomizations.values():
            yield flux_kustomizations.origin(
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
            origin, diagnostics = helm_releases.origin(
                manifest,
                cluster=cluster,
                parent=parent,
                sources=reached.sources,
                holders=reached.holders,
                is_own=own.is_own,
                trees=reached.trees,
            )
            self.diagnostics += diagnostics
            yield origin
        for manifest, parent in reached.instances.values():
            yield flux_bootstrap.instance_origin(manifest, cluster=cluster, parent=parent)
        if reached.engine:
            parent = reached.engine_parent
            maker = reached.kustomizations[parent].manifest
            yield flux_bootstrap.flux_components(reached.engine, cluster=cluster, parent=parent, maker=maker)
        elif start.components:
            beside = kustomize.objects_of(self._tree, start.components)
            if beside:
                yield flux_bootstrap.flux_components(beside, cluster=cluster)

    def _cluster(
        self, start: FluxStart, reached: Reached, name: str, settings: dict[str, str], said: dict[str, Place]
    ) -> Cluster:
        source = _source(start, reached)
        addresses = load_balancers(reached.pools)
        said |= {"path": start.place}
        if source.manifest is not None:
            said["url"] = source.manifest.place
        if addresses:
            said["network.load_balancers"] = reached.pools[0].place
        written = source_ref(source.manifest)
        branch = flux_objects.text(written.get("branch")) or flux_objects.text(written.get("name")).removeprefix(
            "refs/heads/"
        )
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


def _source(start: FluxStart, reached: Reached) -> FluxSource:
    reference = flux_kustomizations.source_reference(start.manifests[0])
    return reached.sources.find(reference.kind, reference.name, reference.namespace)


def _settings(reached: Reached) -> tuple[dict[str, str], dict[str, Place]]:
    """The variables that most of a cluster shares, and where they are said."""
    users: collections.Counter[tuple[str, str]] = collections.Counter()
    first: set[tuple[str, str]] = set()
    total = 0
    for visited in reached.kustomizations.values():
        named = [
            (each.namespace, each.name)
            for each in post_build.variable_references(
                flux_objects.spec(visited.manifest), visited.manifest.id.namespace
            )
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
        if held is not None and not post_build.is_encrypted(held) and (key in first or number * 2 >= total):
            data = flux_objects.mapping(held.value.get("data"))
            settings |= {str(name): flux_objects.text(value) for name, value in data.items()}
            said.setdefault("settings", held.place)
    return settings, said


def _shared(reached: Reached) -> Iterator[Diagnostic]:
    """What to say of objects that two Kustomizations apply."""
    for (first, second), objects in reached.shared.items():
        example = objects[0]
        named = f"{example.kind} {example.namespace}/{example.name}".replace(" /", " ")
        more = f" and {len(objects) - 1} more" if len(objects) > 1 else ""
        message = f"{second} applies what {first} applies too: {named}{more}"
        place = reached.kustomizations[second].manifest.place
        yield Diagnostic.warning("object-of-two-owners", message, at=place, fix="let one of them own each object")
