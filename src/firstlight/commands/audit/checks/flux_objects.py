"""Sources of Flux: that nothing uses, or that follow another branch than the engine."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import go_regex
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import flux_names
from firstlight.model.component import SourceForm, Stated
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.source import DirectorySource
from firstlight.repo import gitops_tree
from firstlight.repo.platform_view import AppliedObject, PlatformView

_KINDS = (flux_names.GIT_REPOSITORY, flux_names.OCI_REPOSITORY, flux_names.HELM_REPOSITORY, flux_names.BUCKET)
_REFERENCES = ("sourceRef", "chartRef")


def sources_unused(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Sources that nothing refers to; one finding a directory."""
    used = _used(scene)
    if used is None:
        return
    found: dict[tuple[str, str], list[AppliedObject]] = defaultdict(list)
    for item in scene.of_kind(*(f"{flux_names.SOURCE_GROUP}/{each}" for each in _KINDS)):
        if (item.object.id.kind, item.object.id.name) not in used and "$" not in item.object.id.name:
            found[item.cluster, item.object.place.path.rpartition("/")[0]].append(item)
    for (cluster, directory), items in found.items():
        names = sorted({f"{each.object.id.kind} {each.object.id.name}" for each in items})
        yield rule.finding(
            f"nothing uses {wording.listed_names(names)}",
            at=items[0].object.place,
            clusters=(cluster,),
            evidence=tuple(Evidence(str(each.object.id), each.object.place) for each in items),
            key=f"unused sources in {directory}",
        )


def _used(scene: PlatformView) -> frozenset[tuple[str, str]] | None:
    """Kinds and names of sources that anything refers to; None where that cannot be known."""
    found: set[tuple[str, str]] = set()
    for item in scene.items:
        if item.object.id.kind in (flux_names.RESOURCE_SET, flux_names.ARTIFACT_GENERATOR):
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
                yield flux_names.GIT_REPOSITORY, text(inner, "name")
            elif depth and key != "values":
                yield from _referred(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for each in value:
            yield from _referred(each, depth - 1)


def source_branches(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """GitRepositories of the very repo that the engine follows, with another branch."""
    for cluster in scene.clusters:
        if not cluster.url or not cluster.branch:
            continue
        for item in scene.of_cluster(cluster.name, flux_names.GIT_REPOSITORY_GROUP_KIND):
            branch = text(item.value, "spec", "ref", "branch")
            if not branch or branch == cluster.branch or "$" in branch:
                continue
            if _plain(text(item.value, "spec", "url")) == _plain(cluster.url):
                yield rule.finding(
                    f"GitRepository {item.object.id.name} follows {branch}, and the engine {cluster.branch}",
                    at=item.object.at("spec", "ref", "branch"),
                    clusters=(cluster.name,),
                    evidence=(Evidence(f"the engine follows {cluster.branch}", cluster.said.get("branch")),),
                )


def source_intervals(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Flux's objects without the interval that the API asks for."""
    kinds = (flux_names.GIT_REPOSITORY, flux_names.OCI_REPOSITORY, flux_names.BUCKET)
    wanted = (*(f"{flux_names.SOURCE_GROUP}/{each}" for each in kinds), flux_names.KUSTOMIZATION_GROUP_KIND)
    for item in scene.of_kind(*wanted, flux_names.HELM_RELEASE_GROUP_KIND):
        if at(item.value, "spec", "interval") is None and mapping(item.value, "spec"):
            yield rule.finding(
                f"{item.object.id} has no interval, and the API refuses it",
                at=item.object.at("spec"),
                clusters=(item.cluster,),
                subject=item.component.name,
                severity=Severity.ERROR,
            )


def _plain(url: str) -> str:
    """A URL without what differs between two ways to one repository."""
    bare = url.partition("://")[2] or url.replace(":", "/", 1)
    return bare.rpartition("@")[2].removesuffix("/").removesuffix(".git").lower()


# Patches of Kustomizations that find nothing to patch: kustomize passes over them without a word.


def patches_without_objects(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Patches of Flux's Kustomizations for an object that, by its name before variables are put in, is not there."""
    for component in scene.platform.components:
        for origin in component.origins:
            if (
                origin.form is not SourceForm.KUSTOMIZATION
                or not origin.stated
                or not isinstance(origin.source, DirectorySource)
            ):
                continue
            if not sequence(origin.definition, "spec", "patches"):
                continue
            declaring = scene.declaring(origin)
            written = origin.definition if declaring is None else _raw(scene, declaring)
            own = [mapping(each, "target") for each in sequence(written, "spec", "patches")]
            has_all = not _has_remote(scene, origin.source.path)
            for number, patch in enumerate(sequence(origin.definition, "spec", "patches")):
                target = mapping(patch, "target")
                kind, name = text(target, "kind"), text(target, "name")
                same = [each for each in origin.stated if each.id.kind == kind]
                if not kind or not name or any(_is_found(scene, each, name) for each in same):
                    continue
                late = next((each for each in same if go_regex.fullmatch(name, each.id.name)), None)
                # What the one above patches into all that it brings is not for each of them.
                if late is None and (not has_all or target not in own):
                    continue
                why = ": its name is a variable still when patches are applied" if late else ""
                place = declaring.at("spec", "patches", number, "target") if declaring else origin.place
                yield rule.finding(
                    f"a patch of {origin.name} is for {kind} {name}, and finds none{why}",
                    at=place,
                    clusters=(component.cluster,),
                    subject=component.name,
                    evidence=(Evidence(f"{late.id} is written as {_written(scene, late)}", late.place),)
                    if late
                    else (),
                    fix=_named_late(scene, late, is_only=len(same) == 1) if late else "",
                )


def _named_late(scene: PlatformView, late: Stated, *, is_only: bool) -> str:
    """Return how a patch can be for an object whose name is a variable: a target's name is an expression itself."""
    steps = "name and namespace" if "$" in text(_raw(scene, late), "metadata", "namespace") else "name"
    whole = f"Write the {steps} of {late.id.kind} {_written(scene, late)} out"
    return f"Leave name and namespace out of the target, or w{whole[1:]}." if is_only else f"{whole}."


def _is_found(scene: PlatformView, stated: Stated, name: str) -> bool:
    written = _written(scene, stated)
    try:
        return go_regex.fullmatch(name, written or stated.id.name)
    except ValueError:
        return True  # what Go may understand is taken for found


def _written(scene: PlatformView, stated: Stated) -> str:
    """Its name as it stands in its file; empty where something made it."""
    return text(_raw(scene, stated), "metadata", "name")


def _raw(scene: PlatformView, stated: Stated) -> Any:
    """An object as it stands in its file; None where something made it."""
    if stated.way is None:
        return None
    index, steps = stated.way
    documents = [each for each in scene.files.documents(stated.place.path) if each.index == index]
    return at(documents[0].value, *steps) if documents else None


def _has_remote(scene: PlatformView, directory: str) -> bool:
    """Whether a directory takes something from elsewhere, which may be what is patched."""
    remote = {each.place.path for each in scene.platform.diagnostics if each.code == "kustomize-resource-remote"}
    return bool(remote and remote & gitops_tree.reached_files(scene.files, [directory]))
