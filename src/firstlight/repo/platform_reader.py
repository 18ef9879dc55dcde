"""A repo as it is, read into a platform."""

import contextlib
import dataclasses
import gc
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight.engines import adapters
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Component, Origin, SecretNeed, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.repo import argocd, flux, helmfile, scripts, secret_sources, talos
from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.declaration.declaration_file import Declaration
from firstlight.repo.join import declared_changes, join_clusters, join_components
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree


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
    components, diagnostics = _components(joined, declaration, found)
    if declaration:
        problems += (
            *declared_changes.problems(declaration, tree),
            *declared_changes.undeployed(declaration, components),
        )
    said = [
        *tree.diagnostics,
        *problems,
        *joined.diagnostics,
        *diagnostics,
        *(diagnostic for each in found for diagnostic in each.diagnostics),
    ]
    engines = [each.engine for each in joined.clusters if each.engine]
    return Platform(
        name=declaration.platform.metadata.name if declaration else tree.root.name,
        root=tree.root,
        # Of engines that are as frequent, the first of the alphabet: the same at every run.
        engine=max(sorted(set(engines)), key=engines.count) if engines else None,
        clusters=joined.clusters,
        components=components,
        secrets=declared_changes.secrets(declaration, inferred_foundation(components, tree)),
        unreached=tuple(sorted((each for part in found for each in part.unreached), key=lambda each: each.place)),
        diagnostics=tuple(sorted(_unanswered(said, joined.clusters))),
        declared=declaration.place() if declaration else None,
        is_misdeclared=declaration is None and declaration_form.FILE in tree.listing("."),
    )


def _unanswered(diagnostics: Sequence[Diagnostic], clusters: Sequence[Cluster]) -> set[Diagnostic]:
    """Diagnostics without those that another reader answers: machines may be named elsewhere than in their configs."""
    answered = {place.path for each in clusters if each.machines for place in each.files}
    return {each for each in diagnostics if each.code != "machines-unnamed" or each.place.path not in answered}


def _found(tree: WorkTree, declaration: Declaration | None) -> list[ReaderResult]:
    """What each reader finds; scripts come before Flux, since they may say where it starts."""
    own = ReaderResult(clusters=tuple(declared_changes.clusters(declaration)) if declaration else ())
    shell, machines, releases = scripts.read(tree), talos.read(tree), helmfile.read(tree)
    applications = argocd.read(tree, urls=[each.url for each in own.clusters if each.url])
    taken = {each.path for each in applications.clusters}
    namespaces = {each.place: each.namespace for each in shell.origins if each.form is SourceForm.FLUX_COMMAND}
    starts = [
        flux.FluxRoot(
            path=each.path,
            cluster=each.name,
            place=each.place,
            namespace=namespaces.get(each.place) or flux_names.FLUX_SYSTEM,
        )
        for part in (own, shell)
        for each in part.clusters
        if each.path and adapters.starts_from_directory(each.engine) and each.path not in taken
    ]
    return [own, flux.read(tree, roots=starts), applications, machines, releases, shell]


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
    joined = join_clusters.join(known, fallback=tree.root.name, environments=environments)
    others = {old: new for (old, _), new in renamed.items() if old != new}
    return dataclasses.replace(joined, aliases={**others, **joined.aliases})


def _components(
    joined: join_clusters.Joined, declaration: Declaration | None, found: Sequence[ReaderResult]
) -> tuple[tuple[Component, ...], list[Diagnostic]]:
    components: list[Component] = []
    diagnostics: list[Diagnostic] = []
    origins = [each for part in found for each in part.origins]
    for cluster in joined.clusters:
        mine = join_components.join(cluster.name, [*_of(cluster, origins, joined)])
        if declaration:
            changed, said = declared_changes.components(declaration, cluster.name, mine)
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


def inferred_foundation(components: Sequence[Component], tree: WorkTree) -> tuple[FoundationSecret, ...]:
    """What must exist before an operator can fetch the rest; where from is for people to say."""
    found: dict[tuple[str, str, str], FoundationSecret] = {}
    sources = secret_sources.SecretSources(tree, components)
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
