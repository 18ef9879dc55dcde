"""The spec of an Application: its sources, its destination, and whether its AppProject allows them."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.argocd import definitions, globs
from firstlight.repo.argocd.argocd_settings import IN_CLUSTER, IN_CLUSTER_SERVER, Registered
from firstlight.repo.argocd.definitions import Definition, Steps, items, mapping, text

_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_][A-Za-z0-9_]*)|\{([^}]*)\})")
_LATER = ("ARGOCD_APP_REVISION", "ARGOCD_APP_REVISION_SHORT", "ARGOCD_APP_REVISION_SHORT_8")


@dataclasses.dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source."""

    app: Definition
    value: Mapping[str, Any] = dataclasses.field(repr=False)
    steps: Steps

    def at(self, *steps: str | int) -> Place:
        """Where something of it stands."""
        return self.app.at(*self.steps, *steps)

    def with_value(self, value: Mapping[str, Any]) -> "SourceSpec":
        """The same source with another content."""
        return dataclasses.replace(self, value=value)

    @property
    def url(self) -> str:
        """The repository."""
        return definitions.text(self.value.get("repoURL")).strip()

    @property
    def chart(self) -> str:
        """The chart, of a Helm repository."""
        return definitions.text(self.value.get("chart"))

    @property
    def revision(self) -> str:
        """A branch, tag, commit, or the version of a chart; as it is written."""
        return definitions.text(self.value.get("targetRevision"))

    @property
    def ref(self) -> str:
        """The name by which other sources take files of it."""
        return definitions.text(self.value.get("ref"))

    @property
    def written_path(self) -> str:
        """The path as it is written; empty if there is none."""
        return definitions.text(self.value.get("path"))

    @property
    def path(self) -> str | None:
        """The path from the repository's root; None where it leads out of it."""
        path = self.written_path or "."
        if path.startswith("/"):
            return None
        path = posixpath.normpath(path)
        return None if path == ".." or path.startswith("../") else path

    @property
    def helm(self) -> Mapping[str, Any]:
        """What is said for Helm."""
        return mapping(self.value.get("helm"))

    def tools(self) -> list[str]:
        """The tools that are named, of which there may be one; empty sections name none."""
        named = [each for each in ("kustomize", "helm", "directory") if any(mapping(self.value.get(each)).values())]
        return [*named, "plugin"] if self.value.get("plugin") is not None else named

    def substituted(self, text: str) -> tuple[str, str]:
        """A text with Argo CD's variables in it, and the one that is only known when Argo CD runs."""
        known = self._environment()
        later = ""

        def value(match: re.Match[str]) -> str:
            nonlocal later
            name = match[1] or match[2] or "$"
            if name in _LATER:
                later = name
                return match[0]
            return "$" if name == "$" else known.get(name, "")

        return _VARIABLE.sub(value, text), later

    def _environment(self) -> dict[str, str]:
        spec = self.app.spec
        return {
            "ARGOCD_APP_NAME": self.app.name,
            "ARGOCD_APP_NAMESPACE": definitions.text(mapping(spec.get("destination")).get("namespace")),
            "ARGOCD_APP_PROJECT_NAME": definitions.text(spec.get("project")) or "default",
            "ARGOCD_APP_SOURCE_REPO_URL": self.url,
            "ARGOCD_APP_SOURCE_PATH": self.written_path,
            "ARGOCD_APP_SOURCE_TARGET_REVISION": self.revision,
        }


def source_specs(app: Definition) -> list[SourceSpec]:
    """The sources of an Application; ``sources`` wins over ``source``, and a hydrated one has a dry source."""
    spec = app.spec
    base: Steps = ("spec",)
    hydrator = mapping(spec.get("sourceHydrator"))
    if hydrator:
        return [SourceSpec(app, mapping(hydrator.get("drySource")), (*base, "sourceHydrator", "drySource"))]
    many = definitions.items(spec.get("sources"))
    if many:
        return [SourceSpec(app, mapping(each), (*base, "sources", number)) for number, each in enumerate(many)]
    if isinstance(spec.get("source"), Mapping):
        return [SourceSpec(app, spec["source"], (*base, "source"))]
    return []


def has_placeholder(text: str) -> bool:
    """Whether something is still to be filled in: ``{{ x }}`` or ``<X>``."""
    return bool(_PLACEHOLDER.search(text))


_PLACEHOLDER = re.compile(r"\{\{[^}]*\}\}|\{%[^%]*%\}|<[A-Za-z][A-Za-z0-9_. -]*>|\[\[[^\]]*\]\]|@@[A-Za-z_]+@@")


# Which cluster an Application deploys to.
#
# The cluster where Argo CD runs has no name in a repo, so it is the empty one; whoever joins readers knows what it is
# called. Others have the name by which Argo CD knows them. One that is only an address has the address for its name.


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """Where the objects of an Application go."""

    cluster: str
    """Empty: the cluster where Argo CD runs."""
    server: str = ""
    """Its address, where it is known."""
    namespace: str = ""
    diagnostic: Diagnostic | None = None


def read_destination(app: Definition, registered: Registered) -> Destination:
    """Where an Application deploys to."""
    written = mapping(app.spec.get("destination"))
    server, name = definitions.text(written.get("server")).rstrip("/"), definitions.text(written.get("name"))
    namespace = definitions.text(written.get("namespace"))
    if has_placeholder(server) or has_placeholder(name):
        return Destination("", "", namespace)  # a set that only a run can tell; it is in doubt anyhow
    if server and name:
        message = "the destination has a server and a name, and Argo CD takes one of them"
        diagnostic = Diagnostic.error("argocd-destination-ambiguous", message, at=app.at("spec", "destination"))
        return dataclasses.replace(_of(server, "", namespace, app, registered), diagnostic=diagnostic)
    return _of(server, name, namespace, app, registered)


def _of(server: str, name: str, namespace: str, app: Definition, registered: Registered) -> Destination:
    if name == IN_CLUSTER or server == IN_CLUSTER_SERVER:
        return Destination("", IN_CLUSTER_SERVER, namespace)
    if name:
        known = next((each.server for each in registered.clusters if each.name == name), "")
        return Destination(name, known, namespace)
    if not server:
        diagnostic = Diagnostic.error(
            "argocd-destination-missing",
            "the destination has neither a server nor a name",
            at=app.at("spec", "destination"),
        )
        return Destination("", "", namespace, diagnostic)
    found = next((each.name for each in registered.clusters if each.server.rstrip("/") == server), "")
    if found:
        return Destination("" if found == IN_CLUSTER else found, server, namespace)
    message = f"no cluster of this repo is known to have the address {server}"
    hint = "Use the cluster's name as Argo CD knows it, or keep its Secret in the repo."
    return Destination(
        server,
        server,
        namespace,
        Diagnostic.unknown("argocd-destination-unknown", message, at=app.at("spec", "destination"), fix=hint),
    )


# AppProjects: whether they allow what their Applications do.


DEFAULT = "default"
Pair = tuple[Definition, Destination]


def check_projects(applications: Sequence[Pair], projects: Iterable[Definition]) -> list[Diagnostic]:
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
    for spec in source_specs(app):
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
