"""Manifests that nothing applies: somebody thinks that they are in the cluster."""

import dataclasses
import itertools
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import stated_edits, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import mapping, text
from firstlight.engines import engine_directives
from firstlight.model import flux_names, talos_names
from firstlight.model.component import ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, Unresolved
from firstlight.plan import cluster_facts
from firstlight.repo import gitops_tree
from firstlight.repo.platform_view import AppliedObject, PlatformView

_YAML = (".yaml", ".yml")
_ASIDE = re.compile(
    r"(templates?|examples?|samples?|archived?|disabled|deprecated|old|unused|docs?|documentation|tests?|testdata|"
    r"testing|fixtures|hack|scripts?|ci|tools|schemas?|crossplane|terraform|ansible|packer|charts|components|talos|omni|vendor)"
)
"""Names of directories that show something, were put aside, are libraries, or belong to other tools."""
_SHOWS = re.compile(r"(^|[-_.])(examples?|samples?|templates?|disabled|tests?)([-_.]|$)")
"""Names of files that do."""
_SCRIPTS = re.compile(r"(.*\.(sh|just|mk|toml|gotmpl|tf|py)|justfile|makefile|.*taskfile.*|helmfile.*)", re.IGNORECASE)
_TASKS = re.compile(r"\.?(taskfiles?|tasks|just|scripts|github|helmfile\.d)")
_LEFT_OUT = re.compile(
    r"\b(?:by hand|manual(?:ly)?|intentionally|on purpose|deliberately|excluded|unused|disabled|(?:for )?reference only"
    r"|not (?:applied|deployed|included|in use)|do(?:es)? not apply)\b",
    re.IGNORECASE,
)
"""What a file says of itself that nothing is to apply."""
_OFF = re.compile(r"\s*#\s*-\s+[\"']?(?P<path>[\w./-]+)[\"']?\s*(?:[#(].*)?$")
_REMARK = re.compile(r"(?:^|\s)#(?P<remark>.*)")
_PATH = re.compile(r"[\w./-]*[\w-](?:\.ya?ml|/)")
_NO_OBJECTS = ("kustomize.config.k8s.io", talos_names.DOMAIN, talos_names.OMNI_DOMAIN)
_LEADS_ANYWHERE = {"argocd-applications-unknown", "flux-path-variable-unknown", "flux-resource-set-not-followed"}
"""What may apply any directory of the repo."""
_FILLED_LATER = re.compile(r"op://|ref\+[a-z]+://|(?:vault|bws|infisical|doppler):|\{\{|\$\{|\$\(|<[^<>]+>")
_SHOWN = 10

Found = tuple[ObjectId, Place]


def applied_by_nothing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Directories, or files of them, that no Kustomization or Application reaches; one finding a directory."""
    living = frozenset(above for path in _used(scene, _origins(scene)) for above in _above(path))
    groups: dict[str, dict[str, list[Found]]] = defaultdict(dict)
    copies = {each.path for each in _copies(scene)}
    for path, objects in _unapplied(scene):
        if path not in copies:  # named in the kustomization they would be there twice
            groups[_highest(path, living)][path] = objects
    off = _turned_off(scene) | _set_aside(scene, groups) if groups else frozenset()
    is_sure = not _leads_anywhere(scene)
    for directory, found in sorted(groups.items()):
        is_meant = off.issuperset(found)
        is_whole = directory not in living
        yield _finding(rule, directory, found, is_whole=is_whole, is_sure=is_sure, is_meant=is_meant)


def _origins(scene: PlatformView) -> list[Origin]:
    return [each for component in scene.platform.components for each in component.origins]


def _unapplied(scene: PlatformView) -> Iterator[tuple[str, list[Found]]]:
    """Yield the files that nothing applies although they lie among those that something does, with their objects."""
    origins = _origins(scene)
    used = _used(scene, origins)
    tops = {
        each.place.path.partition("/")[0] for each in origins if each.side is Side.GITOPS and "/" in each.place.path
    }
    tops |= {
        path.partition("/")[0] for origin in origins for path in _directories(origin) if origin.side is Side.GITOPS
    }
    scripts, followed = ("", frozenset()) if not tops else (_scripts(scene), _followed(scene, origins))
    for path in scene.files.files:
        if path in used or not path.endswith(_YAML) or path.partition("/")[0] not in tops or _is_aside(path):
            continue
        objects = [*_objects(scene, path)]
        if objects and not _is_named(path, scripts, followed):
            yield path, objects


def _leads_anywhere(scene: PlatformView) -> bool:
    """Whether something may apply any directory of the repo."""
    return any(each.code in _LEADS_ANYWHERE for each in scene.platform.diagnostics if each.severity is Severity.UNKNOWN)


def copies_beside(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Files that nothing applies with objects that another file of the same tree has, and that are applied."""
    is_sure = not _leads_anywhere(scene)
    for copy in _copies(scene):
        names = wording.first_name(str(each.object.id) for each in copy.twins)
        twin = copy.twins[0]
        yield rule.finding(
            f"nothing applies this copy of {names}; the one in {twin.object.place.path} is applied",
            at=copy.place,
            clusters=copy.clusters,
            subject=twin.component.name,
            evidence=tuple(
                Evidence(f"{each.object.id} is applied from here", each.object.place) for each in copy.twins[:_SHOWN]
            ),
            key=f"{copy.path} is a copy",
            severity=None if is_sure else Severity.NOTE,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Copy:
    """A file that nothing applies, all of whose objects are applied from a file beside it."""

    path: str
    place: Place
    twins: tuple[AppliedObject, ...]
    """What is applied instead, in the order of the file."""
    clusters: tuple[str, ...]


def _copies(scene: PlatformView) -> Iterator[_Copy]:
    applied: dict[ObjectId, list[AppliedObject]] = defaultdict(list)
    for item in scene.items:
        if item.origin.side is Side.GITOPS and item.object.id.name and "$" not in str(item.object.id):
            applied[item.object.id].append(item)
    off = _turned_off(scene)
    for path, objects in _unapplied(scene):
        found = [] if path in off else [_twin(path, applied.get(each, [])) for each, _ in objects]
        twins = tuple(each for each in found if each is not None)
        if twins and len(twins) == len(objects):
            first, place = objects[0]
            yield _Copy(path, place, twins, tuple({each.cluster for each in applied[first]}))


def _twin(path: str, items: list[AppliedObject]) -> AppliedObject | None:
    """Return the applied object whose file lies beside a copy of it; None where it may be for another cluster."""
    for item in items:
        other = item.object.place.path
        # A namespace that the file does not write is whatever its kustomization would say.
        if other == path or not item.object.id.namespace:
            continue
        ours, theirs = posixpath.dirname(path), posixpath.dirname(other)
        if theirs == ours or posixpath.dirname(theirs) == ours or posixpath.dirname(ours) == theirs:
            return item
    return None


def _used(scene: PlatformView, origins: list[Origin]) -> frozenset[str]:
    """Files that something applies, reads or is declared in."""
    by_hand = [each for each in scene.platform.unreached if each.side is Side.BOOTSTRAP]
    starts = [path for origin in (*origins, *by_hand) for path in _directories(origin)]
    for origin in origins:
        starts += _kustomized_with(scene, origin)
    found = set(gitops_tree.reached_files(scene.files, starts))
    found.update(*(_below(scene, each) for origin in origins for each in _unread_directories(origin)))
    found |= {each.object.place.path for each in scene.items}
    found |= {each.place.path for each in origins}
    found |= {each.path for cluster in scene.clusters for each in (cluster.place, *cluster.files)}
    return frozenset(found)


def _kustomized_with(scene: PlatformView, origin: Origin) -> list[str]:
    """The kustomization with which people apply a root: it brings what else it names, such as the root's project."""
    directory = posixpath.dirname(origin.place.path)
    if origin.form is not SourceForm.APPLICATION or origin.parent:
        return []
    if not gitops_tree.kustomization_file(frozenset(scene.files.files), directory or "."):
        return []
    return [directory] if origin.place.path in gitops_tree.reached_files(scene.files, [directory]) else []


def _unread_directories(origin: Origin) -> Iterator[str]:
    """Directories of which something that is not known is made, such as by a plugin: a kustomization may not count."""
    for source in cluster_facts.sources(origin):
        if isinstance(source, Unresolved) and source.text:
            yield posixpath.normpath(source.text.lstrip("/"))


def _below(scene: PlatformView, directory: str) -> frozenset[str]:
    """A file, or all files in a directory and below."""
    above = "" if directory == "." else f"{directory}/"
    return frozenset(each for each in scene.files.files if each == directory or each.startswith(above))


def _directories(origin: Origin) -> Iterator[str]:
    """Directories and files of the repo that an origin reads."""
    for source in cluster_facts.sources(origin):
        if isinstance(source, DirectorySource):
            yield source.path
            yield from (posixpath.join(source.path, each) for each in source.components)
        elif isinstance(source, ChartSource):
            if not source.repository and source.name:
                yield source.name
            yield from (each.file for each in source.values if each.file)


def _is_aside(path: str) -> bool:
    parts = path.split("/")[:-1]
    name = posixpath.basename(path).rpartition(".")[0].lower()
    if name.startswith(".") or _SHOWS.search(name):
        return True
    return any(each.startswith(".") or _ASIDE.fullmatch(each.strip("_").lower()) for each in parts)


def _objects(scene: PlatformView, path: str) -> Iterator[Found]:
    """The Kubernetes objects of a file; none where it is something else."""
    if posixpath.basename(path) in gitops_tree.KUSTOMIZATION_FILES:
        return
    for document in scene.files.documents(path):
        value = document.value
        if not isinstance(value, Mapping) or not isinstance(value.get("metadata"), Mapping):
            continue
        found = ObjectId.of(value)
        if found.is_secret and _is_filled_later(value):
            continue
        if found.kind and found.name and value.get("apiVersion") and found.group not in _NO_OBJECTS:
            yield found, document.place()


def _is_filled_later(secret: Mapping[str, Any]) -> bool:
    """Whether a Secret holds references or placeholders, which a program of bootstrap fills before it applies them."""
    given = [str(each) for key in ("stringData", "data") for each in mapping(secret, key).values()]
    return bool(given) and all(_FILLED_LATER.search(each) for each in given)


def _scripts(scene: PlatformView) -> str:
    """The text of everything that people run, and of what machines are made from."""
    machines = {each.path for cluster in scene.clusters for each in cluster.files}
    return "\n".join(
        scene.files.text(path) or ""
        for path in scene.files.files
        if path in machines
        or _SCRIPTS.fullmatch(posixpath.basename(path))
        or any(_TASKS.fullmatch(each) for each in path.split("/")[:-1])
    )


def _followed(scene: PlatformView, origins: list[Origin]) -> frozenset[str]:
    """Directories with a kustomization that the engine reads: a script that names one points the engine at it."""
    known = frozenset(scene.files.files)
    read = {posixpath.normpath(path) for each in origins if each.side is Side.GITOPS for path in _directories(each)}
    return frozenset(each for each in read if gitops_tree.kustomization_file(known, each))


def _is_named(path: str, scripts: str, followed: frozenset[str]) -> bool:
    """Whether a script names a file, or one of the directories that it is in."""
    if "/".join(path.split("/")[-2:]) in scripts:
        return True
    own, *_ = _above(path)
    above = [each for each in _above(path) if "/" in each and each in scripts and (each == own or each not in followed)]
    return any(re.search(rf"{re.escape(each)}/?(?=[\s\"']|$)", scripts) for each in above)


def _turned_off(scene: PlatformView) -> frozenset[str]:
    """What somebody has turned off, and knows: files that kustomizations name in comments, and what those lead to."""
    named = _commented(scene)
    directories = tuple(f"{_whole(each)}/" for each in named)
    off = {path for path in scene.files.files if path in named or path.startswith(directories)}
    starts = [posixpath.dirname(path) for path in off if posixpath.basename(path) in gitops_tree.KUSTOMIZATION_FILES]
    return gitops_tree.reached_files(scene.files, starts) | off


def _set_aside(scene: PlatformView, groups: Mapping[str, Mapping[str, object]]) -> frozenset[str]:
    """Files that say themselves, in the remark that they begin with, that nothing is to apply them."""
    paths = (path for found in groups.values() for path in found)
    return frozenset(path for path in paths if _LEFT_OUT.search(_first_remark(scene.files.text(path) or "")))


def _first_remark(text: str) -> str:
    lines = itertools.takewhile(lambda line: line.startswith(("#", "---")) or not line.strip(), text.splitlines())
    return " ".join(line.lstrip("# ") for line in lines)


def _commented(scene: PlatformView) -> frozenset[str]:
    """What kustomizations name in comments."""
    found: set[str] = set()
    for path in scene.files.files:
        if posixpath.basename(path) in gitops_tree.KUSTOMIZATION_FILES:
            base = posixpath.dirname(path)
            for line in (scene.files.text(path) or "").splitlines():
                if match := _OFF.match(line):
                    found.add(posixpath.normpath(posixpath.join(base, match["path"])))
                elif match := _REMARK.search(line):
                    # A remark that speaks of a file explains why it is not named.
                    words = {each.rstrip("/.,;:)") for each in _PATH.findall(match["remark"])}
                    found |= {posixpath.normpath(posixpath.join(base, each)) for each in words}
    return frozenset(found)


def _whole(named: str) -> str:
    """The directory that is meant: ``app/ks.yaml`` stands for the whole of ``app``."""
    return posixpath.dirname(named) if posixpath.basename(named).removesuffix(".yaml") == "ks" else named


def _above(path: str) -> Iterator[str]:
    """The directories that a file is in, from below."""
    while path := posixpath.dirname(path):
        yield path


def _highest(path: str, living: frozenset[str]) -> str:
    """The highest directory above a file in which nothing is used; its own where there is none."""
    own, *others = _above(path)
    for each in (own, *others):
        if each in living:
            break
        own = each
    return own


def _finding(
    rule: AuditRule, directory: str, found: Mapping[str, list[Found]], *, is_whole: bool, is_sure: bool, is_meant: bool
) -> Finding:
    objects = [each for several in found.values() for each in several]
    # What brings other things says most about what is missing.
    objects.sort(
        key=lambda each: each[0].kind not in (SourceForm.KUSTOMIZATION, SourceForm.HELM_RELEASE, SourceForm.APPLICATION)
    )
    _, place = objects[0]
    files = wording.listed_names(sorted(posixpath.basename(each) for each in found))
    where = directory if is_whole else f"{files} in {directory}"
    return rule.finding(
        f"nothing applies {where}: {wording.first_name(str(each) for each, _ in objects)}",
        at=place,
        evidence=tuple(Evidence(str(each), there) for each, there in objects[:_SHOWN]),
        key=f"nothing applies {directory}",
        severity=None if is_sure and not is_meant else Severity.NOTE,
        fix="A remark beside it says that it is left out; delete it once nobody needs it." if is_meant else "",
    )


# What two things of one engine apply at once, so that neither knows whose it is.


_TWO_OWNERS_SHOWN = 5


def objects_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """One object that two Kustomizations or two Applications apply; one finding a pair."""
    for cluster in scene.clusters:
        pairs: dict[tuple[str, str], list[tuple[AppliedObject, AppliedObject]]] = defaultdict(list)
        for first, second in _shared(scene, cluster.name):
            # What the other one brings comes second, whichever was met first.
            if first.origin.parent == second.origin.id:
                first, second = second, first
            pairs[first.origin.id, second.origin.id].append((first, second))
        for found in pairs.values():
            yield _pair(rule, scene, found)


def _shared(scene: PlatformView, cluster: str) -> Iterator[tuple[AppliedObject, AppliedObject]]:
    owners: dict[object, AppliedObject] = {}
    for item in scene.items:
        if item.cluster != cluster or item.origin.side is not Side.GITOPS or not item.object.id.name:
            continue
        if item.origin.form not in (SourceForm.KUSTOMIZATION, SourceForm.APPLICATION) or "${" in str(item.object.id):
            continue
        if text(item.value, "metadata", "annotations", flux_names.SSA_ANNOTATION):
            continue
        first = owners.setdefault((item.origin.form, item.object.id), item)
        if first.origin.id != item.origin.id:
            yield first, item


def _pair(rule: AuditRule, scene: PlatformView, found: list[tuple[AppliedObject, AppliedObject]]) -> Finding:
    first, second = found[0]
    stated = stated_edits.declaring_object(scene, second.origin)
    place = second.object.place
    if stated is not None and any(one.object.place == other.object.place for one, other in found):
        place = stated.at("spec", "path" if second.origin.form is SourceForm.KUSTOMIZATION else "source")
    shared = wording.first_name(str(one.object.id) for one, _ in found)
    evidence = [
        Evidence(f"{each.object.id} of {each.origin.name}", each.object.place)
        for pair in found[:_TWO_OWNERS_SHOWN]
        for each in pair
    ]
    return rule.finding(
        f"{first.origin.name} and {second.origin.name} both apply {shared}",
        at=place,
        clusters=(first.cluster,),
        subject=second.component.name,
        evidence=tuple(dict.fromkeys(evidence)),
        fix=_let_go(scene, first, second),
        # One cause, however many objects come to it.
        key=f"{first.origin.name} and {second.origin.name}",
    )


def _let_go(scene: PlatformView, first: AppliedObject, second: AppliedObject) -> str:
    """Return how one of two owners lets an object go without deleting it."""
    cluster = scene.platform.cluster(first.cluster)
    guard = engine_directives.prune_guard(cluster.engine if cluster else None)
    is_child = second.origin.parent == first.origin.id
    # Of one directory that both lead to, the child is the one that says in which order and what it waits for.
    is_one_directory = is_child and first.object.place == second.object.place
    which = (
        f"what {first.origin.name} applies" if is_one_directory else second.origin.name if is_child else "one of them"
    )
    order = f" {first.origin.name} must not depend on {second.origin.name}, which it creates." if is_child else ""
    return (
        f"Annotate it with {guard.name}: {guard.value} in both, since the one that lets it go deletes it until the "
        f"other applies it again; one commit later take it out of {which}.{order}"
    )


def names_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Two Kustomizations, HelmReleases or Applications of one name, and two HelmReleases of one Helm release."""
    for diagnostic in scene.platform.diagnostics:
        if diagnostic.code == "name-of-two-owners":
            said = diagnostic.message.replace(", and ", ": ")
            paths = [each.path for each in diagnostic.places]
            yield rule.finding(said, at=diagnostic.place, clusters=_clusters(scene, paths))
    for cluster in scene.clusters:
        releases: dict[tuple[str, str], tuple[str, Evidence]] = {}
        for component in scene.platform.components_of(cluster.name):
            for origin in cluster_facts.origins(component, Side.GITOPS):
                chart = origin.source
                if (
                    origin.form is not SourceForm.HELM_RELEASE
                    or not isinstance(chart, ChartSource)
                    or "$" in chart.release
                ):
                    continue
                here = Evidence(f"HelmRelease {origin.namespace}/{origin.name}", origin.place)
                key = chart.storage_namespace or chart.namespace, chart.release
                other, there = releases.setdefault(key, (origin.id, here))
                if all(key) and other != origin.id:
                    yield rule.finding(
                        f"two HelmReleases upgrade the Helm release {key[0]}/{key[1]}: "
                        f"{there.text.split()[1]} and {here.text.split()[1]}",
                        at=origin.place,
                        clusters=(cluster.name,),
                        subject=component.name,
                        evidence=(there, here),
                    )


def _clusters(scene: PlatformView, paths: list[str]) -> tuple[str, ...]:
    """The clusters that all of these files belong to."""
    used: dict[str, set[str]] = defaultdict(set)
    for component in scene.platform.components:
        for origin in component.origins:
            used[component.cluster] |= {origin.place.path, *(each.place.path for each in origin.stated)}
    return tuple(cluster for cluster, files in used.items() if files.issuperset(paths))
