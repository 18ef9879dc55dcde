"""AppProjects: whether they allow what their Applications do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.argocd import application_spec, globs
from firstlight.repo.argocd.application_spec import Destination, has_placeholder
from firstlight.repo.argocd.argocd_settings import IN_CLUSTER
from firstlight.repo.argocd.definitions import Definition, items, mapping, text

DEFAULT = "default"
Pair = tuple[Definition, Destination]


def check(applications: Sequence[Pair], projects: Iterable[Definition]) -> list[Diagnostic]:
    """What is wrong between Applications and their projects."""
    known: dict[str, list[Definition]] = {}
    for each in projects:
        known.setdefault(each.name, []).append(each)
    diagnostics: list[Diagnostic] = []
    missing: dict[str, list[Place]] = {}
    for app, destination in applications:
        name = text(app.spec.get("project")) or DEFAULT
        if has_placeholder(name):
            continue
        if name in known:
            # Of several with one name, in several clusters, nobody knows which is meant; one that allows it is enough.
            refusals = [list(_refused(app, destination, project)) for project in known[name]]
            fewest: list[Diagnostic] = min(refusals, key=len)
            diagnostics += fewest
        elif name != DEFAULT:
            missing.setdefault(name, []).append(app.at("spec", "project"))
    grade = Severity.WARNING if known else Severity.UNKNOWN
    for name, places in missing.items():
        others = f" and {len(places) - 1} more" if len(places) > 1 else ""
        message = f"project {name} is not in this repo, and without it Argo CD refuses this Application{others}"
        diagnostics.append(
            Diagnostic(code="argocd-project-missing", severity=grade, message=message, places=(places[0],))
        )
    used = {text(app.spec.get("project")) or DEFAULT for app, _ in applications}
    for name, found in known.items():
        if name not in used and name != DEFAULT:
            diagnostics.append(
                Diagnostic.unknown(
                    "argocd-project-unused", f"no Application of this repo uses project {name}", at=found[0].place
                )
            )
    return diagnostics


def _refused(app: Definition, destination: Destination, project: Definition) -> Iterator[Diagnostic]:
    name = project.name
    where = destination.cluster or IN_CLUSTER
    if not _allows_destination(project, destination) and not has_placeholder(destination.namespace):
        message = f"project {name} does not allow the destination {where}, namespace {destination.namespace or 'none'}"
        yield Diagnostic.warning(
            "argocd-destination-not-allowed",
            message,
            at=app.at("spec", "destination"),
            fix=f"Allow it in {project.place}.",
        )
    for spec in application_spec.source_specs(app):
        if spec.url and not has_placeholder(spec.url) and not allows_source(project, spec.url):
            message = f"project {name} does not allow the source {spec.url}"
            yield Diagnostic.warning(
                "argocd-source-not-allowed", message, at=spec.at("repoURL"), fix=f"Allow it in {project.place}."
            )
    if project.namespace and app.namespace and app.namespace != project.namespace:
        allowed = [text(each) for each in items(project.spec.get("sourceNamespaces"))]
        if not any(_matches(each, app.namespace) for each in allowed):
            message = f"project {name} does not allow Applications in namespace {app.namespace}"
            yield Diagnostic.warning(
                "argocd-namespace-not-allowed",
                message,
                at=app.at("metadata", "namespace"),
                fix=f"Allow it in {project.place}.",
            )


def allows_source(project: Definition, url: str) -> bool:
    """Whether a project takes sources from a repository; one pattern that begins with ``!`` and fits forbids it."""
    is_allowed = False
    for each in items(project.spec.get("sourceRepos")):
        pattern = text(each)
        if _matches(_lowered(pattern), _lowered(url), separated=True):
            is_allowed = True
        elif pattern.startswith("!"):
            return False
    return is_allowed


def _allows_destination(project: Definition, destination: Destination) -> bool:
    is_allowed = False
    for each in items(project.spec.get("destinations")):
        verdict = _verdict(mapping(each), destination)
        if verdict is False:
            return False
        is_allowed = is_allowed or verdict is True
    return is_allowed


def _verdict(item: Mapping[str, Any], destination: Destination) -> bool | None:
    """What one entry of a project says: allowed, forbidden, or nothing."""
    name, server, namespace = (text(item.get(each)) for each in ("name", "server", "namespace"))
    fits_name = _matches(name, destination.cluster or IN_CLUSTER)
    fits_server = bool(destination.server) and _matches(server, destination.server)
    fits_namespace = _matches(namespace, destination.namespace)
    if (fits_name or fits_server) and fits_namespace:
        return True
    if (not fits_name and name.startswith("!")) or (
        not fits_server and server.startswith("!") and destination.server and fits_namespace
    ):
        return False
    return False if not fits_namespace and namespace.startswith("!") and fits_server else None


def _matches(pattern: str, value: str, *, separated: bool = False) -> bool:
    """A glob of a project; ``!`` before it turns it around."""
    try:
        if pattern.startswith("!"):
            return not globs.gobwas_match(pattern[1:], value, separated=separated)
        return pattern == "*" or globs.gobwas_match(pattern, value, separated=separated)
    except globs.BadPattern:
        return False


def _lowered(url: str) -> str:
    """An address as Argo CD compares it: in lower case, without the suffix of Git, and in one form for SSH."""
    is_denied = url.startswith("!")
    plain = url.removeprefix("!").strip().lower().removesuffix(".git").removeprefix("ssh://")
    if "://" not in plain and "@" in plain:
        plain = plain.replace(":", "/", 1)
    return f"!{plain}" if is_denied else plain
