"""Applications as origins, and the clusters that they are for."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from firstlight.model import argocd_names
from firstlight.model.cluster import Cluster, Engine, Network
from firstlight.model.component import Certainty, ComponentNeed, ObjectId, Origin, SecretNeed, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, SeveralSources, Source
from firstlight.repo.argocd import application_spec, definitions, git_urls
from firstlight.repo.argocd.application_sources import HEADS
from firstlight.repo.argocd.application_tree import ApplicationNode
from firstlight.repo.argocd.definitions import mapping
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.manifest import Manifest


def origin(
    node: ApplicationNode,
    scope: ReadScope,
    *,
    cluster: str,
    is_leaf: bool,
    needs: tuple[ComponentNeed, ...] = (),
    wave: int | None = None,
) -> Origin:
    """An Application as an origin.

    Args:
        node: The Application.
        scope: The tree.
        cluster: Where its objects go.
        is_leaf: Whether it brings no other Application.
        needs: What it waits for.
        wave: Its sync wave.
    """
    app = node.definition
    doubts = [app.doubt, node.made.doubt, _variables(node)]
    is_guessed = node.is_template or app.is_guessed or bool(_variables(node))
    is_alone = node.parent is None and is_leaf and not node.is_inline
    if is_alone and not any(doubts):
        what = "its ApplicationSet" if node.app_set else "it"
        applied = f"the kustomization in {node.group}" if node.group else "it"
        doubts.append(f"no Application of this repo brings {what}, so {applied} is applied by hand or by bootstrap")
    return Origin(
        form=SourceForm.APPLICATION,
        side=Side.GITOPS,
        place=app.place,
        name=app.name,
        namespace=node.namespace,
        cluster=cluster,
        source=node.made.source,
        version=node.made.version,
        needs=needs,
        parent=node.parent.id if node.parent else "",
        certainty=Certainty.GUESSED if is_guessed else Certainty.DECLARED,
        doubt="; ".join(dict.fromkeys(each for each in doubts if each)),
        wave=wave,
        suspended=_is_suspended(node),
        objects=_objects(node, scope),
        secrets=_secrets(node, scope),
        definition=app.value,
        maker=node.app_set.value if node.app_set else {},
        stated=tuple(Manifest(each.value, each.place, each.document, each.steps) for each in node.made.definitions),
    )


def _secrets(node: ApplicationNode, scope: ReadScope) -> tuple[SecretNeed, ...]:
    """The credentials of its repositories, where this repo has the Secret."""
    found: dict[str, SecretNeed] = {}
    for spec in application_spec.source_specs(node.definition):
        namespace, _, name = scope.registered.credentials(spec.url).partition("/")
        if name:
            why = f"credentials of {git_urls.without_password(spec.url)}"
            found.setdefault(name, SecretNeed(name=name, namespace=namespace, place=spec.at("repoURL"), why=why))
    return tuple(found.values())


def _variables(node: ApplicationNode) -> str:
    """Shell variables in what says where it comes from: somebody fills them in before it is applied."""
    sources = [mapping(node.definition.spec.get("source")), *definitions.items(node.definition.spec.get("sources"))]
    written = [definitions.text(mapping(each).get(field)) for each in sources for field in ("repoURL", "path", "chart")]
    found = next((each for each in [node.definition.name, *written] if "${" in each), "")
    return f"something fills in {found} before it is applied" if found else ""


def _is_suspended(node: ApplicationNode) -> bool:
    automated = mapping(mapping(node.definition.spec.get("syncPolicy")).get("automated"))
    return (
        node.definition.annotation(argocd_names.SKIP_RECONCILE_ANNOTATION) == "true"
        or automated.get("enabled") is False
    )


def _objects(node: ApplicationNode, scope: ReadScope) -> tuple[ObjectId, ...]:
    """What it applies itself, without the Applications that it brings; asked once for what many apply."""
    key = ("objects", id(node.made.definitions))
    if key not in scope.kept:
        own = [each for each in node.made.definitions if not definitions.is_one(each.value)]
        scope.kept[key] = tuple(sorted({Manifest(each.value, each.place).id for each in own}))
    found: tuple[ObjectId, ...] = scope.kept[key]
    return found


def clusters(
    nodes: Sequence[ApplicationNode], instances: Mapping[ApplicationNode, str], scope: ReadScope
) -> tuple[Cluster, ...]:
    """The clusters with Argo CD, and those that it deploys to; the one without a name is where it runs."""
    found: dict[str, Cluster] = {}
    parents = {node.parent for node in nodes if node.parent}
    for name in sorted(set(instances.values())):
        roots = [node for node in nodes if node.parent is None and instances[node] == name]
        sizes = Counter(node.root for node in nodes)
        chief = max(roots, key=lambda root: (not root.destination.cluster, sizes[root]))
        made = _cluster(name, chief.definition.place, scope)
        url, branch = _followed(chief, scope)
        path = _start(chief) if chief in parents and not chief.destination.cluster else ""
        found[name] = dataclasses.replace(made, path=path, url=url, branch=branch)
    for node in nodes:
        name, server = node.destination.cluster, node.destination.server
        if name and name not in found:
            known = next((each.place for each in scope.registered.clusters if each.name == name), None)
            place = known or node.definition.at("spec", "destination")
            made = _cluster(name, place, scope)
            starts = [_start(each) for each in nodes if each.destination.cluster == name and each in parents]
            found[name] = dataclasses.replace(
                made,
                path=next((path for path in starts if path), ""),
                network=Network(endpoint=server),
                said={**made.said, "network.endpoint": place} if server else made.said,
            )
    return tuple(found.values())


def _followed(root: ApplicationNode, scope: ReadScope) -> tuple[str, str]:
    """The repository and the branch as a root has them, or else as most have them."""
    for spec in application_spec.source_specs(root.definition):
        if scope.own.has(spec.url):
            branch = scope.own.revision if spec.revision in HEADS else spec.revision
            return git_urls.without_password(spec.url), branch
    return scope.own.written, scope.own.revision


def _cluster(name: str, place: Place, scope: ReadScope) -> Cluster:
    own = scope.own
    said = {"url": own.place, "branch": own.place} if own.place else {}
    return Cluster(
        name=name, place=place, engine=Engine.ARGOCD, url=own.written, branch=own.revision,
        said={field: at for field, at in said.items() if at},
    )  # fmt: skip


def _start(root: ApplicationNode) -> str:
    """The directory of this repo that an Application reads first."""
    sources = root.made.source.each if isinstance(root.made.source, SeveralSources) else (root.made.source,)
    paths = [each.path if isinstance(each, DirectorySource) else _local_path(each) for each in sources]
    return next((each for each in paths if each), "")


def _local_path(source: Source) -> str:
    return source.name if isinstance(source, ChartSource) and not source.repository else ""
