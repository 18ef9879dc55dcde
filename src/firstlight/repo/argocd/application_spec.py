"""The sources of an Application as they are written, one or many."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.argocd import definitions
from firstlight.repo.argocd.argocd_settings import IN_CLUSTER, IN_CLUSTER_SERVER, Registered
from firstlight.repo.argocd.definitions import Definition, Steps, mapping

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
