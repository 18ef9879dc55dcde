"""A repo as it is, read into a platform."""

import contextlib
import dataclasses
import gc
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from firstlight.engines import adapters
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Component, Origin, SecretNeed, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.source import DirectorySource, SeveralSources
from firstlight.plan import machine_checks
from firstlight.repo import (
    argocd,
    flux,
    helmfile,
    manual_crds,
    put_aside,
    scripts,
    secret_sources,
    talos,
    tofu,
    whole_templates,
)
from firstlight.repo.argocd import engine_installs
from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.declaration.declaration_file import Declaration
from firstlight.repo.join import declared_changes, join_clusters, join_components
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import YAML, WorkTree


def read(root: Path) -> Platform:
    """Everything that a repo describes, with what is wrong or was not understood.

    Raises:
        errors.UsageError: There is no such directory.
    """
    return read_tree(WorkTree(root))


def read_tree(tree: WorkTree) -> Platform:
    """The same of a work tree that is there already, such as one in which files are others than on the disk."""
    with rare_garbage_collection():
        return _read(tree)


def _read(tree: WorkTree) -> Platform:
    declaration, problems = declaration_file.read(tree)
    found = _found(tree, declaration)
    joined = _clusters(tree, declaration, found)
    components, diagnostics = _components(tree, joined, declaration, found)
    joined = dataclasses.replace(joined, clusters=tuple(_with_engine(each, components) for each in joined.clusters))
    if declaration:
        problems += (
            *declared_changes.problems(declaration, tree, joined.clusters),
            *declared_changes.undeployed(declaration, components),
        )
    said = [
        *tree.diagnostics,
        *problems,
        *joined.diagnostics,
        *machine_checks.problems(joined.clusters),
        *diagnostics,
        *(diagnostic for each in found for diagnostic in each.diagnostics),
        *manual_crds.diagnostics(tree, components),
    ]
    templates = whole_templates.find(tree)
    said = [each for each in said if not any(one.holds(each.place.path) for one in templates)]
    said += whole_templates.diagnostics(tree, templates)
    said = _about_what_is_deployed(said, components, tree)
    unreached = tuple(sorted((each for part in found for each in part.unreached), key=lambda each: each.place))
    engines = [each.engine for each in joined.clusters if each.engine]
    return Platform(
        name=declaration.platform.metadata.name if declaration else tree.root.name,
        root=tree.root,
        # Of engines that are as frequent, the first of the alphabet: the same at every run.
        engine=max(sorted(set(engines)), key=engines.count) if engines else None,
        clusters=joined.clusters,
        components=components,
        secrets=declared_changes.secrets(declaration, inferred_foundation(components, tree, unreached)),
        unreached=unreached,
        diagnostics=tuple(sorted(_unanswered(said, joined.clusters))),
        declared=declaration.place() if declaration else None,
        is_misdeclared=declaration is None and declaration_form.FILE in tree.listing("."),
    )


def _with_engine(cluster: Cluster, components: Sequence[Component]) -> Cluster:
    """A cluster with the engine of what its machines apply, where nothing else says which engine it has."""
    if cluster.engine is not None:
        return cluster
    own = {place.path for place in cluster.files}
    forms = {
        origin.form.value
        for component in components
        if component.cluster == cluster.name
        for origin in component.origins
        if origin.side is Side.GITOPS and origin.place.path in own
    }
    engine = next(
        (engine for engine, each in adapters.ADAPTERS.items() for kind in each.kinds if kind.kind in forms), None
    )
    return dataclasses.replace(cluster, engine=engine)


_ALWAYS = {"talos-secrets-in-clear", "file-not-regular", "name-not-printable"}
"""Codes of what is wrong with a file wherever it stands."""


def _about_what_is_deployed(
    diagnostics: Sequence[Diagnostic], components: Sequence[Component], tree: WorkTree
) -> list[Diagnostic]:
    """Diagnostics without those about files that were put aside, unless something leads there."""
    aside = {
        place.path: found
        for each in diagnostics
        for place in each.places
        if (found := put_aside.directory(place.path, tree.is_dir))
    }
    if not aside:
        return list(diagnostics)
    used = {place for component in components for origin in component.origins for place in _read_by(origin)}
    led_to = {each for each in set(aside.values()) if any(_is_below(path, each) for path in used)}
    left_out = {path for path, directory in aside.items() if directory not in led_to}
    return [
        each
        for each in diagnostics
        if each.code in _ALWAYS or not each.places or any(place.path not in left_out for place in each.places)
    ]


def _read_by(origin: Origin) -> Iterator[str]:
    """The file that an origin stands in, and those of what it applies."""
    yield origin.place.path
    yield from (each.place.path for each in origin.stated)
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    yield from (each.path for each in sources if isinstance(each, DirectorySource))


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _unanswered(diagnostics: Sequence[Diagnostic], clusters: Sequence[Cluster]) -> set[Diagnostic]:
    """Diagnostics without those that another reader answers: machines may be named elsewhere than in their configs."""
    answered = {place.path for each in clusters if each.machines for place in each.files}
    return {each for each in diagnostics if each.code != "machines-unnamed" or each.place.path not in answered}


def _found(tree: WorkTree, declaration: Declaration | None) -> list[ReaderResult]:
    """What each reader finds; scripts come before Flux, since they may say where it starts."""
    own = ReaderResult(clusters=tuple(declared_changes.clusters(declaration)) if declaration else ())
    shell, machines, releases = scripts.read(tree), talos.read(tree), helmfile.read(tree)
    applications = argocd.read(tree, urls=[each.url for each in own.clusters if each.url])
    infrastructure = tofu.components(tree)
    taken = {each.path for each in applications.clusters}
    namespaces = {
        each.place: each.namespace
        for each in (*shell.origins, *infrastructure.origins)
        if each.form in (SourceForm.FLUX_COMMAND, SourceForm.TOFU)
    }
    starts = [
        flux.FluxRoot(
            path=each.path,
            cluster=each.name,
            place=each.place,
            namespace=namespaces.get(each.place) or flux_names.FLUX_SYSTEM,
        )
        for part in (own, shell, infrastructure)
        for each in part.clusters
        if each.path and adapters.starts_from_directory(each.engine) and each.path not in taken
    ]
    return [own, flux.read(tree, roots=starts), applications, machines, releases, shell, infrastructure]


def _clusters(tree: WorkTree, declaration: Declaration | None, found: Sequence[ReaderResult]) -> join_clusters.Joined:
    everything = [each for part in found for each in part.clusters]
    renamed = declared_changes.aliases(declaration, everything) if declaration else {}
    known = [
        dataclasses.replace(each, name=renamed.get((each.name, str(each.place)), each.name)) for each in everything
    ]
    environments: dict[str, Place] = {}
    for origin in (origin for part in found for origin in part.origins):
        name = next((new for (old, _), new in renamed.items() if old == origin.cluster), origin.cluster)
        environments.setdefault(name, origin.place)
    joined = join_clusters.join(
        known,
        fallback=tree.root.name,
        environments=environments,
        mentioned=lambda names: _mentioned(tree, names),
    )
    others = {old: new for (old, _), new in renamed.items() if old != new}
    return dataclasses.replace(joined, aliases={**others, **joined.aliases})


def _mentioned(tree: WorkTree, names: Mapping[str, Collection[str]]) -> list[str]:
    """The names that stand in manifests or values, apart from the files that are given with each."""
    patterns = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in names}
    found: dict[str, None] = {}
    for path in tree.files:
        if not path.endswith(YAML) or any(path in own for own in names.values()):
            continue
        data = tree.bytes(path) or b""
        for name, pattern in patterns.items():
            if name not in found and name.encode() in data and pattern.search(tree.text(path) or ""):
                found[name] = None
    return list(found)


def _components(
    tree: WorkTree, joined: join_clusters.Joined, declaration: Declaration | None, found: Sequence[ReaderResult]
) -> tuple[tuple[Component, ...], list[Diagnostic]]:
    components: list[Component] = []
    diagnostics: list[Diagnostic] = []
    origins = [each for part in found for each in part.origins]
    inferred = {
        each.name: join_components.join(each.name, engine_installs.without_repeated(_of(each, origins, joined)))
        for each in joined.clusters
    }
    meant: Mapping[str, Collection[str]] = {}
    if declaration:
        fallback = [each.name for each in joined.clusters if _is_meant(each, joined)]
        meant = declared_changes.meant_clusters(declaration, inferred, fallback)
    for cluster in joined.clusters:
        mine = inferred[cluster.name]
        if declaration:
            changed, said = declared_changes.components(declaration, tree, cluster.name, mine, meant=meant)
            mine, diagnostics = tuple(changed), [*diagnostics, *said]
        components += mine
        diagnostics += [
            Diagnostic.error(
                "missing-need", f"{each.name} needs {need.id}, which nothing deploys in {cluster.name}", at=need.place
            )
            for each in mine
            for need in each.missing
        ]
    return tuple(components), diagnostics


def _of(cluster: Cluster, origins: Sequence[Origin], joined: join_clusters.Joined) -> list[Origin]:
    """What is deployed in a cluster.

    What bootstrap deploys and names no cluster is for that whose directory it stands in. If there is none, it is for
    each cluster that has machines, if any has, and not certain.
    """
    mine = []
    is_meant = _is_meant(cluster, joined)
    for origin in origins:
        name = joined.aliases.get(origin.cluster, origin.cluster) or ""
        home = _home(origin, joined) if not origin.cluster else ""
        if (home or name) == cluster.name:
            found = dataclasses.replace(origin, cluster=cluster.name)
            if joined.doubt and not origin.cluster and not home:
                found = _guessed(found, joined.doubt)
            mine.append(found)
        elif not name and not home and is_meant:
            found = dataclasses.replace(origin, cluster=cluster.name)
            mine.append(_guessed(found, "nothing says for which cluster"))
    return mine


def _is_meant(cluster: Cluster, joined: join_clusters.Joined) -> bool:
    """Whether something of bootstrap that names no cluster is for this one."""
    return bool(cluster.machines) or not any(each.machines for each in joined.clusters)


def _home(origin: Origin, joined: join_clusters.Joined) -> str:
    """The cluster whose machines apply something, in whose directory it stands, or the files are that it applies."""
    shaped = [each.name for each in joined.clusters if any(place.path == origin.place.path for place in each.files)]
    if len(shaped) == 1:
        return shaped[0]
    if origin.side is not Side.BOOTSTRAP:
        return ""
    source = origin.source.path if isinstance(origin.source, DirectorySource) else ""
    return joined.territories.cluster_of(origin.place.path) or joined.territories.cluster_of(source)


def _guessed(origin: Origin, doubt: str) -> Origin:
    return dataclasses.replace(origin, certainty=Certainty.GUESSED, doubt=origin.doubt or doubt)


# Python's own housekeeping, while a repo is read.


_OBJECTS = 200_000
"""After how many new ones Python looks for those that nobody needs."""


@contextlib.contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Reading makes many small objects that stay; to look through them again and again takes a fifth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], _OBJECTS) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


# The secrets foundation: Secrets that something needs and nothing in Git brings.
#
# What an ExternalSecret or an encrypted manifest makes is not among them; what the store logs in with is.


_KEYS = re.compile(r"--from-(?:literal|file)[= ]([A-Za-z0-9._-]+)=")


def inferred_foundation(
    components: Sequence[Component], tree: WorkTree, unreached: Sequence[Origin] = ()
) -> tuple[FoundationSecret, ...]:
    """What must exist before an operator can fetch the rest; where from is for people to say."""
    found: dict[tuple[str, str, str], FoundationSecret] = {}
    sources = secret_sources.SecretSources(tree, components, [each for each in unreached if each.command])
    for cluster, need in _needs(components):
        key = (cluster, need.namespace, need.name)
        if sources.made(*key, by=need.place):
            continue
        before = found.get(key)
        keys = [*(before.data if before else ()), *(need.keys or _usual(need))]
        found[key] = FoundationSecret(
            name=need.name,
            namespace=need.namespace,
            data=dict.fromkeys(keys, ""),
            place=before.place if before else need.place,
            why=before.why if before else need.why,
            cluster=cluster,
        )
    return tuple(_with_source(found[key], sources) for key in sorted(found))


def _with_source(secret: FoundationSecret, sources: secret_sources.SecretSources) -> FoundationSecret:
    """A Secret with what brings it today, and the references that its template has."""
    source = sources.brought(secret.cluster, secret.namespace, secret.name)
    if source is None:
        return secret
    return dataclasses.replace(secret, data={**secret.data, **source.references}, brought=source.place)


def _usual(need: SecretNeed) -> tuple[str, ...]:
    """The keys that such a Secret has everywhere."""
    return ("age.agekey",) if need.is_decryption else ()


def _needs(components: Sequence[Component]) -> Iterator[tuple[str, SecretNeed]]:
    for component in components:
        for origin in component.origins:
            for need in origin.secrets:
                yield component.cluster, need
    for component in components:
        for origin in component.origins:
            if origin.side == Side.BOOTSTRAP:
                # A script that creates a Secret by hand says where the foundation is today.
                for made in origin.objects:
                    if made.kind == "Secret" and origin.form.value.endswith("command"):
                        why = f"created by a {origin.form}"
                        keys = tuple(_KEYS.findall(origin.command))
                        need = SecretNeed(
                            name=made.name, namespace=made.namespace, keys=keys, place=origin.place, why=why
                        )
                        yield component.cluster, need
