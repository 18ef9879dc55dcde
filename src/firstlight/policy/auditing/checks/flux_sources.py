"""Sources of Flux: that nothing uses, or that follow another branch than the engine."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from firstlight.document.within import at, mapping, text
from firstlight.model.finding import Evidence, Severity
from firstlight.policy.auditing import listing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene

_GROUP = "source.toolkit.fluxcd.io"
_KINDS = ("GitRepository", "OCIRepository", "HelmRepository", "Bucket")
_REFERENCES = ("sourceRef", "chartRef")


def unused(scene: Scene) -> Iterator[Hit]:
    """Sources that nothing refers to; one finding a directory."""
    used = _used(scene)
    if used is None:
        return
    found: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in scene.of_kind(*(f"{_GROUP}/{each}" for each in _KINDS)):
        if (item.object.id.kind, item.object.id.name) not in used and "$" not in item.object.id.name:
            found[item.cluster, item.object.place.path.rpartition("/")[0]].append(item)
    for (cluster, directory), items in found.items():
        names = sorted({f"{each.object.id.kind} {each.object.id.name}" for each in items})
        yield Hit(
            message=f"nothing uses {listing.listed(names)}",
            place=items[0].object.place,
            clusters=(cluster,),
            evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in items),
            key=f"unused sources in {directory}",
        )


def _used(scene: Scene) -> frozenset[tuple[str, str]] | None:
    """Kinds and names of sources that anything refers to; None where that cannot be known."""
    found: set[tuple[str, str]] = set()
    for item in scene.items:
        if item.object.id.kind in ("ResourceSet", "ArtifactGenerator"):
            return None
        found |= set(_referred(item.value))
    for origin in (*scene.platform.unreached, *(each for part in scene.platform.components for each in part.origins)):
        found |= set(_referred(origin.definition))
    return frozenset(found)


def _referred(value: object, depth: int = 6) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _REFERENCES:
                yield text(inner, "kind"), text(inner, "name")
            elif key == "repository" and isinstance(inner, Mapping):  # what a GitRepository includes
                yield "GitRepository", text(inner, "name")
            elif depth and key != "values":
                yield from _referred(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for each in value:
            yield from _referred(each, depth - 1)


def branches(scene: Scene) -> Iterator[Hit]:
    """GitRepositories of the very repo that the engine follows, with another branch."""
    for cluster in scene.clusters:
        if not cluster.url or not cluster.branch:
            continue
        for item in scene.of_cluster(cluster.name, f"{_GROUP}/GitRepository"):
            branch = text(item.value, "spec", "ref", "branch")
            if not branch or branch == cluster.branch or "$" in branch:
                continue
            if _plain(text(item.value, "spec", "url")) == _plain(cluster.url):
                yield Hit(
                    message=f"GitRepository {item.object.id.name} follows {branch}, and the engine {cluster.branch}",
                    place=item.object.at("spec", "ref", "branch"),
                    clusters=(cluster.name,),
                    evidence=(Evidence(f"the engine follows {cluster.branch}", cluster.said.get("branch")),),
                )


def intervals(scene: Scene) -> Iterator[Hit]:
    """Flux's objects without the interval that the API asks for."""
    kinds = ("GitRepository", "OCIRepository", "Bucket")
    wanted = (*(f"{_GROUP}/{each}" for each in kinds), "kustomize.toolkit.fluxcd.io/Kustomization")
    for item in scene.of_kind(*wanted, "helm.toolkit.fluxcd.io/HelmRelease"):
        if at(item.value, "spec", "interval") is None and mapping(item.value, "spec"):
            yield Hit(
                message=f"{item.object.id} has no interval, and the API refuses it",
                place=item.object.at("spec"),
                clusters=(item.cluster,),
                component=item.component.name,
                severity=Severity.ERROR,
            )


def _plain(url: str) -> str:
    """A URL without what differs between two ways to one repository."""
    bare = url.partition("://")[2] or url.replace(":", "/", 1)
    return bare.rpartition("@")[2].removesuffix("/").removesuffix(".git").lower()
