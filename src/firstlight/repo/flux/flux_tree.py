"""The tree of one cluster, followed from its start as Flux would follow it.

Each Kustomization is built and its variables are replaced; what it brings is sorted, and the Kustomizations among that
are followed in turn. Variables may come from ConfigMaps that are found only later, so the whole is done again until
nothing changes; builds are kept, so that costs little.
"""

import collections
import dataclasses

from firstlight.model import flux_names
from firstlight.model.component import ObjectId, SecretNeed
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import ObjectReference, RemoteSource, Unresolved
from firstlight.repo import kustomize
from firstlight.repo.flux import (
    flux_bootstrap,
    flux_kustomizations,
    flux_objects,
    post_build,
    resource_sets,
    secret_needs,
)
from firstlight.repo.flux.artifact_generators import SourceTree
from firstlight.repo.flux.artifact_tree import ArtifactTree
from firstlight.repo.flux.envsubst import BadSubstitution, SubstitutionBudget, SubstitutionTooLarge
from firstlight.repo.flux.flux_bootstrap import FluxStart
from firstlight.repo.flux.flux_kustomizations import FluxSource, FluxSources, OwnSources
from firstlight.repo.flux.flux_objects import called, spec, text
from firstlight.repo.flux.flux_scan import FluxScan
from firstlight.repo.flux.post_build import VariableHolders, Variables
from firstlight.repo.flux.source_trees import SourceTrees
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

KUSTOMIZATIONS = 5000
"""Kustomizations of one cluster; the largest known platform has a few hundred."""
OBJECTS = 100_000
"""Objects of one cluster, however often they are multiplied."""
_PASSES = 5
"""How often ConfigMaps of variables may lead to further ones; once is normal."""


@dataclasses.dataclass
class Visited:
    """A Kustomization that was followed."""

    manifest: Manifest
    parent: str
    path: str = ""
    remote: RemoteSource | Unresolved | None = None
    doubt: str = ""
    tree: WorkTree | None = None
    """Where its directory is, if that is not the repo itself but an artifact of it."""
    variables: Variables = dataclasses.field(default_factory=Variables)
    objects: list[ObjectId] = dataclasses.field(default_factory=list)
    stated: list[Manifest] = dataclasses.field(default_factory=list)
    secrets: list[SecretNeed] = dataclasses.field(default_factory=list)
    unset: dict[str, Place] = dataclasses.field(default_factory=dict)
    """Variables without a value or a default, and where each is used first."""

    @property
    def id(self) -> str:
        """The id of its origin."""
        return flux_kustomizations.id_of(self.manifest.id.namespace, self.manifest.id.name)


@dataclasses.dataclass
class Reached:
    """What the tree of a cluster leads to."""

    sources: FluxSources
    holders: VariableHolders
    trees: SourceTrees
    kustomizations: dict[str, Visited] = dataclasses.field(default_factory=dict)
    helm_releases: dict[str, tuple[Manifest, str]] = dataclasses.field(default_factory=dict)
    """Each with the id of the Kustomization that brings it."""
    instances: dict[str, tuple[Manifest, str]] = dataclasses.field(default_factory=dict)
    engine: list[Manifest] = dataclasses.field(default_factory=list)
    engine_parent: str = ""
    resource_sets: list[tuple[Manifest, Visited]] = dataclasses.field(default_factory=list)
    providers: list[Manifest] = dataclasses.field(default_factory=list)
    """What gives ResourceSets their inputs."""
    pools: list[Manifest] = dataclasses.field(default_factory=list)
    """Objects that say which addresses load balancers get."""
    owners: dict[ObjectId, tuple[str, Place]] = dataclasses.field(default_factory=dict)
    shared: dict[tuple[str, str], list[ObjectId]] = dataclasses.field(default_factory=dict)
    """Objects that two Kustomizations apply, by their ids."""
    files: set[str] = dataclasses.field(default_factory=set)
    places: set[Place] = dataclasses.field(default_factory=set)
    """Where the objects that were reached are written."""
    diagnostics: dict[Diagnostic, None] = dataclasses.field(default_factory=dict)


def follow(tree: WorkTree, scan: FluxScan, start: FluxStart) -> Reached:
    """Follow the tree of a cluster."""
    holders = VariableHolders()
    for _ in range(_PASSES):
        reached = _Follower(tree, scan, start, holders).run()
        if all(_is_settled(each, reached.holders) for each in reached.kustomizations.values()):
            return reached
        reached.holders.before = None
        holders = reached.holders
    message = "variables lead to ConfigMaps with further variables, again and again; the last ones are left as they are"
    reached.diagnostics[Diagnostic.unknown("flux-variables-unsettled", message, at=start.place)] = None
    return reached


def _is_settled(visited: Visited, holders: VariableHolders) -> bool:
    """Whether everything that is known now was known when a Kustomization was built."""
    return all(holders.find(reference) == held for reference, held in visited.variables.used)


class _Follower:
    """One pass through a cluster."""

    def __init__(self, tree: WorkTree, scan: FluxScan, start: FluxStart, known: VariableHolders) -> None:
        self._tree = tree
        self._start = start
        self._budget = SubstitutionBudget()
        # What the pass before has found serves for variables that this one has not met yet.
        self._first = VariableHolders(before=known)
        self._own = OwnSources(tree, start)
        sources = FluxSources(scan.sources)
        self._trees = SourceTrees(tree, sources, self._own, scan.generators)
        self._reached = Reached(sources, VariableHolders(before=self._first), self._trees)
        self._waiting: collections.deque[tuple[Manifest, str]] = collections.deque()
        self._later: list[tuple[Manifest, str]] = []
        """Kustomizations of artifacts that nothing has made so far."""

    def run(self) -> Reached:
        if self._start.source is not None:
            self._reached.sources.note(self._start.source)
        for manifest in self._start.manifests:
            self._add(self._as_applied(manifest), "")
        while self._waiting or self._late():
            manifest, parent = self._waiting.popleft()
            if self._trees.is_awaited(self._source(manifest)):
                self._later.append((manifest, parent))
            else:
                self._visit(manifest, parent)
        for manifest, parent in self._later:
            self._visit(manifest, parent)
        self._reached.diagnostics.update(self._trees.diagnostics)
        self._note_unset()
        return self._reached

    def _note_unset(self) -> None:
        """Say which variables have neither a value nor a default: Flux refuses them since 2.9."""
        unset = [each for each in self._reached.kustomizations.values() if each.unset]
        strict = flux_bootstrap.is_strict(self._start, self._reached.engine, self._reached.instances) if unset else None
        for visited in unset:
            names = ", ".join(f"${{{name}}}" for name in [*visited.unset][:5])
            more = f" and {len(visited.unset) - 5} more" if len(visited.unset) > 5 else ""
            what = "Flux refuses to build it" if strict else "nothing stands in their place"
            since = "" if strict else "; Flux 2.9 and later refuse to build it"
            message = f"{called(visited.manifest)}: {names[:300]}{more} without a value or a default: {what}{since}"
            say = Diagnostic.error if strict else Diagnostic.warning
            fix = "set the variable, give it a default, or write $${ where it is not meant for Flux"
            self._note(say("flux-variable-unset", message, at=next(iter(visited.unset.values())), fix=fix))

    def _late(self) -> bool:
        """Take up what had to wait for objects that are reached by now; tell whether there is more to follow."""
        waiting, self._reached.resource_sets = self._reached.resource_sets, []
        for manifest, visited in waiting:
            made = resource_sets.evaluate(manifest, self._reached.providers)
            self._reached.diagnostics.update(dict.fromkeys(made.diagnostics))
            for each in made.manifests:
                self._sort(each, visited)
        ready = [each for each in self._later if not self._trees.is_awaited(self._source(each[0]))]
        self._later = [each for each in self._later if each not in ready]
        self._waiting += ready
        return bool(self._waiting)

    def _as_applied(self, manifest: Manifest) -> Manifest:
        """The first Kustomization as its own tree applies it: a patch beside gotk-sync.yaml may have changed it."""
        path = flux_objects.normal_path(text(spec(manifest).get("path")))
        files = self._trees.of(self._source(manifest))
        tree = files.tree if files is not None and files.tree is not None else self._tree
        if path is None or not tree.is_dir(path):
            return manifest
        build = kustomize.build(tree, path, over=flux_kustomizations.overlay(manifest, tree, path), generate=True)
        for each in build.manifests:
            # Its source, and the ConfigMaps of its own variables, are found in the tree that it is about to apply.
            if flux_objects.is_source(each):
                self._reached.sources.note(each)
            self._first.note(each)
        same = [
            each for each in build.manifests if flux_objects.is_kustomization(each) and each.place == manifest.place
        ]
        named = [each for each in build.manifests if flux_objects.is_kustomization(each) and each.id == manifest.id]
        return next(iter([*same, *named]), manifest)

    def _note(self, diagnostic: Diagnostic) -> None:
        self._reached.diagnostics[diagnostic] = None

    def _add(self, manifest: Manifest, parent: str) -> None:
        visited = Visited(manifest, parent)
        known = self._reached.kustomizations.get(visited.id)
        if known is not None:
            self._repeated(manifest, known.manifest, parent, known.parent)
        elif len(self._reached.kustomizations) >= KUSTOMIZATIONS:
            message = f"a cluster has more than {KUSTOMIZATIONS} Kustomizations"
            self._note(Diagnostic.error("flux-cluster-too-large", message, at=manifest.place))
        else:
            self._reached.kustomizations[visited.id] = visited
            self._waiting.append((manifest, parent))

    def _repeated(self, again: Manifest, first: Manifest, parent: str, first_parent: str) -> None:
        """Two of one name: the same object that comes twice, or two that fight each other."""
        what = f"{again.id.kind} {called(again)}"
        if again.place != first.place:
            message = f"there is another {what} at {first.place}, and the one that is applied last counts"
            places = again.place, first.place
            fix = (
                "Give each its own name. If one comes with the directory of another cluster, give the Kustomization "
                "that brings it the path of this one."
            )
            self._note(Diagnostic.error("name-of-two-owners", message, at=places, fix=fix))
        elif first_parent and parent != first_parent:
            self._share(first_parent, parent, again.id)

    def _share(self, first: str, second: str, what: ObjectId) -> None:
        self._reached.shared.setdefault((first, second), []).append(what)

    def _visit(self, manifest: Manifest, parent: str) -> None:
        visited = self._reached.kustomizations[flux_kustomizations.id_of(manifest.id.namespace, manifest.id.name)]
        visited.secrets += secret_needs.of_kustomization(manifest)
        visited.doubt = flux_kustomizations.elsewhere(manifest)
        if visited.doubt:
            message = f"{called(manifest)}: {visited.doubt}"
            self._note(Diagnostic.unknown("flux-cluster-elsewhere", message, at=manifest.at("spec", "kubeConfig")))
        visited.variables = post_build.resolve_variables(spec(manifest), manifest.id.namespace, self._reached.holders)
        path = self._path(visited)
        if path is None:
            return
        tree = visited.tree or self._tree
        overlay = flux_kustomizations.overlay(manifest, tree, path)
        build = kustomize.build(tree, path, over=overlay, generate=True)
        if isinstance(tree, ArtifactTree):
            build = self._from_artifact(visited, tree, path, build)
        else:
            visited.path = path
        self._reached.diagnostics.update(dict.fromkeys(build.diagnostics))
        self._reached.files |= build.files
        if build.charts:
            place = build.charts[0].origin or manifest.place
            message = "Flux does not inflate helmCharts"
            self._note(Diagnostic.error("flux-helm-charts", message, at=place, fix="write a HelmRelease instead"))
        if tree.real(path) != path:
            message = "the path is a link, and Flux does not fetch links"
            self._note(Diagnostic.warning("flux-path-is-link", message, at=manifest.at("spec", "path")))
        unknown = post_build.Substituted(None)
        for each in build.manifests:
            if len(self._reached.owners) > OBJECTS:
                message = f"a cluster has more than {OBJECTS} objects"
                self._note(Diagnostic.error("flux-cluster-too-large", message, at=manifest.place))
                break
            self._sort(self._substituted(each, visited, unknown), visited)
        self._note_variables(visited, unknown)

    def _path(self, visited: Visited) -> str | None:
        """The directory of a Kustomization; None where it is not in this repo, and that is said."""
        manifest = visited.manifest
        written = text(spec(manifest).get("path"))
        visited.path = flux_objects.normal_path(written) or written
        found = self._source(manifest)
        files = self._trees.of(found)
        if files is not None:
            return self._path_in(files, visited, found)
        elsewhere = self._own.elsewhere(found, visited.path)
        if elsewhere:
            visited.remote = (
                RemoteSource(url=found.url, revision=found.revision, path=visited.path) if found.url else None
            )
            visited.remote = visited.remote or Unresolved(text=str(found.reference), reason=elsewhere)
            message = f"not followed: {elsewhere}"
            self._note(Diagnostic.unknown("flux-source-elsewhere", message, at=manifest.at("spec", "sourceRef")))
            return None
        doubt = self._own.doubt(found)
        if doubt:
            visited.doubt = "; ".join(each for each in (visited.doubt, doubt) if each)
            self._note(Diagnostic.warning("flux-source-assumed", doubt, at=manifest.at("spec", "sourceRef")))
        if not visited.parent:
            visited.secrets += secret_needs.of_source(found.manifest)
        if flux_objects.normal_path(written) is not None and self._tree.is_dir(visited.path):
            return visited.path
        place = manifest.at("spec", "path")
        if flux_objects.normal_path(written) is None:
            message = f"the path {written[:120]} leads out of the repo"
            self._note(Diagnostic.error("flux-path-outside", message, at=place))
        elif found.reference.kind in (flux_names.OCI_REPOSITORY, flux_names.BUCKET):
            message = f"not followed: nothing says from which directory {found.reference} is filled"
            self._note(Diagnostic.unknown("flux-artifact-not-followed", message, at=place))
        elif "${" in written:
            message = f"not followed: the path {written[:120]} has a variable that is not known"
            self._note(Diagnostic.unknown("flux-path-variable-unknown", message, at=place))
        else:
            near = flux_objects.path_near(self._tree, visited.path)
            what = "is a file" if self._tree.is_file(visited.path) else "does not exist"
            hint = f"perhaps ./{near} is meant" if near else ""
            self._note(Diagnostic.error("flux-path-missing", f"the path {written[:120]} {what}", at=place, fix=hint))
        return None

    def _path_in(self, files: SourceTree, visited: Visited, source: FluxSource) -> str | None:
        """The directory of a Kustomization in an artifact that is made of files of this repo."""
        manifest = visited.manifest
        if files.tree is None:
            visited.remote = Unresolved(text=str(source.reference), reason=files.reason)
            message = f"not followed: {files.reason}"
            self._note(Diagnostic.unknown("flux-source-elsewhere", message, at=manifest.at("spec", "sourceRef")))
            return None
        if files.reason:
            visited.doubt = "; ".join(each for each in (visited.doubt, files.reason) if each)
            self._note(Diagnostic.warning("flux-source-assumed", files.reason, at=manifest.at("spec", "sourceRef")))
        if not visited.parent:
            visited.secrets += secret_needs.of_source(source.manifest)
        written = text(spec(manifest).get("path"))
        path = flux_objects.normal_path(written)
        if path is not None and files.tree.is_dir(path):
            visited.tree = files.tree
            return path
        visited.remote = Unresolved(text=written, reason=f"{source.reference} has no such directory")
        place = manifest.at("spec", "path")
        if files.unread or "${" in written:
            why = files.unread or "it has a variable that is not known"
            message = f"not followed: the path {written[:120]} may be in {source.reference}: {why}"
            self._note(Diagnostic.unknown("flux-path-variable-unknown", message, at=place))
        else:
            message = f"the path {written[:120]} does not exist in {source.reference}"
            near = flux_objects.path_near(files.tree, visited.path) if path is not None else ""
            hint = f"perhaps ./{near} is meant" if near else ""
            is_certain = files.is_certain and source.reference.kind == flux_names.EXTERNAL_ARTIFACT
            say = Diagnostic.error if is_certain else Diagnostic.warning
            self._note(say("flux-path-missing", message, at=place, fix=hint))
        return None

    def _from_artifact(
        self, visited: Visited, tree: ArtifactTree, path: str, build: kustomize.KustomizeBuild
    ) -> kustomize.KustomizeBuild:
        """A build with the files of the repo in the place of those of the artifact."""
        if tree.keeps_layout(build.files, path):
            visited.path = tree.repo_path(path)
        else:
            reason = f"its files are in {flux_kustomizations.source_reference(visited.manifest)} as nowhere in the repo"
            visited.remote = Unresolved(text=text(spec(visited.manifest).get("path")), reason=reason)
        files = frozenset(tree.repo_path(each) or each for each in build.files)
        source = flux_kustomizations.source_reference(visited.manifest)
        return dataclasses.replace(
            build, files=files, diagnostics=tuple(tree.in_repo(each, source) for each in build.diagnostics)
        )

    def _source(self, manifest: Manifest) -> FluxSource:
        reference: ObjectReference = flux_kustomizations.source_reference(manifest)
        return self._reached.sources.find(reference.kind, reference.name, reference.namespace)

    def _substituted(self, manifest: Manifest, visited: Visited, unknown: post_build.Substituted) -> Manifest:
        own = spec(visited.manifest)
        if own.get("postBuild") and visited.variables.is_active:
            try:
                done = post_build.substitute(manifest.value, visited.variables.lookup, self._budget)
            except SubstitutionTooLarge as error:
                message = f"variables in {manifest.id.kind} {called(manifest)} are left as they are: {error}"
                fix = "look for a variable that is used very often"
                self._note(Diagnostic.unknown("flux-substitution-too-large", message, at=manifest.place, fix=fix))
            except BadSubstitution as error:
                message = f"Flux refuses to substitute variables in {manifest.id.kind} {called(manifest)}: {error}"
                fix = "write $${ for a brace that is none of Flux's"
                self._note(Diagnostic.error("flux-substitution-wrong", message, at=manifest.place, fix=fix))
            else:
                unknown.unknown.update(done.unknown)
                unknown.assumed.update(done.assumed)
                for name in done.empty:
                    if name not in visited.variables.values:
                        visited.unset.setdefault(name, manifest.place)
                if done.value is not manifest.value:
                    manifest = Manifest(done.value, manifest.place, manifest.document, manifest.steps)
        return flux_kustomizations.with_common_metadata(manifest, own)

    def _note_variables(self, visited: Visited, unknown: post_build.Substituted) -> None:
        if not (visited.variables.invalid or unknown.unknown or unknown.assumed):
            return
        place = visited.manifest.at("spec", "postBuild")
        if visited.variables.invalid:
            names = ", ".join(sorted(visited.variables.invalid)[:5])
            message = f"Flux refuses the names of variables: {names[:120]}"
            fix = "use letters, digits and _"
            self._note(Diagnostic.error("flux-variable-name-wrong", message, at=place, fix=fix))
        for code, names_of, what in (
            ("flux-variable-unknown", unknown.unknown, "left as they are"),
            ("flux-variable-by-default", unknown.assumed, "taken by their defaults"),
        ):
            by_source: dict[str, list[str]] = {}
            for name in names_of:
                by_source.setdefault(visited.variables.origin(name), []).append(name)
            for come_from, several in by_source.items():
                listed = ", ".join(f"${{{name}}}" for name in sorted(several)[:10])
                more = f" and {len(several) - 10} more" if len(several) > 10 else ""
                message = f"{what}: {listed[:400]}{more}, which {come_from[:200]}"
                self._note(Diagnostic.unknown(code, message, at=place))

    def _sort(self, manifest: Manifest, visited: Visited) -> None:
        reached = self._reached
        reached.places.add(manifest.place)
        visited.stated.append(manifest)
        if flux_objects.is_kustomization(manifest):
            self._check_namespace(manifest)
            self._add(manifest, visited.id)
        elif flux_objects.is_helm_release(manifest):
            self._check_namespace(manifest)
            self._once(reached.helm_releases, manifest, visited.id)
        elif flux_objects.is_source(manifest):
            reached.sources.note(manifest)
            self._own_object(manifest, visited, is_listed=False)
        elif flux_objects.is_instance(manifest):
            self._once(reached.instances, manifest, visited.id)
        elif flux_objects.is_artifact_generator(manifest):
            self._trees.note(manifest)
            self._own_object(manifest, visited)
        elif flux_bootstrap.is_flux_component(manifest):
            visited.secrets += secret_needs.of_object(manifest)
            if not reached.engine_parent or reached.engine_parent == visited.id:
                reached.engine_parent = visited.id
                reached.engine.append(manifest)
        else:
            self._plain(manifest, visited)

    def _plain(self, manifest: Manifest, visited: Visited) -> None:
        reached = self._reached
        reached.holders.note(manifest)
        visited.secrets += secret_needs.of_object(manifest)
        if manifest.id.kind in ("CiliumLoadBalancerIPPool", "IPAddressPool"):
            reached.pools.append(manifest)
        if flux_objects.is_resource_set(manifest):
            reached.resource_sets.append((manifest, visited))
        elif flux_objects.is_input_provider(manifest):
            reached.providers.append(manifest)
        self._own_object(manifest, visited)

    def _own_object(self, manifest: Manifest, visited: Visited, *, is_listed: bool = True) -> None:
        owner, _ = self._reached.owners.setdefault(manifest.id, (visited.id, manifest.place))
        if owner != visited.id:
            self._share(owner, visited.id, manifest.id)
        if is_listed:
            visited.objects.append(manifest.id)

    def _once(self, known: dict[str, tuple[Manifest, str]], manifest: Manifest, parent: str) -> None:
        key = called(manifest)
        if key in known:
            first, first_parent = known[key]
            self._repeated(manifest, first, parent, first_parent)
        else:
            known[key] = (manifest, parent)

    def _check_namespace(self, manifest: Manifest) -> None:
        if not manifest.id.namespace:
            message = f"{manifest.id.kind} {manifest.id.name} has no namespace, and nothing gives it one"
            fix = "write metadata.namespace, or a targetNamespace"
            self._note(Diagnostic.error("flux-namespace-missing", message, at=manifest.place, fix=fix))
