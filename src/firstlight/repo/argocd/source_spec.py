"""The sources of an Application as they are written, one or many."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.argocd import definition
from firstlight.repo.argocd.definition import Definition, Steps, mapping, text

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
        return text(self.value.get("repoURL")).strip()

    @property
    def chart(self) -> str:
        """The chart, of a Helm repository."""
        return text(self.value.get("chart"))

    @property
    def revision(self) -> str:
        """A branch, tag, commit, or the version of a chart; as it is written."""
        return text(self.value.get("targetRevision"))

    @property
    def ref(self) -> str:
        """The name by which other sources take files of it."""
        return text(self.value.get("ref"))

    @property
    def written_path(self) -> str:
        """The path as it is written; empty if there is none."""
        return text(self.value.get("path"))

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
            "ARGOCD_APP_NAMESPACE": text(mapping(spec.get("destination")).get("namespace")),
            "ARGOCD_APP_PROJECT_NAME": text(spec.get("project")) or "default",
            "ARGOCD_APP_SOURCE_REPO_URL": self.url,
            "ARGOCD_APP_SOURCE_PATH": self.written_path,
            "ARGOCD_APP_SOURCE_TARGET_REVISION": self.revision,
        }


def of(app: Definition) -> list[SourceSpec]:
    """The sources of an Application; ``sources`` wins over ``source``, and a hydrated one has a dry source."""
    spec = app.spec
    base: Steps = ("spec",)
    hydrator = mapping(spec.get("sourceHydrator"))
    if hydrator:
        return [SourceSpec(app, mapping(hydrator.get("drySource")), (*base, "sourceHydrator", "drySource"))]
    many = definition.items(spec.get("sources"))
    if many:
        return [SourceSpec(app, mapping(each), (*base, "sources", number)) for number, each in enumerate(many)]
    if isinstance(spec.get("source"), Mapping):
        return [SourceSpec(app, spec["source"], (*base, "source"))]
    return []


def has_placeholder(text: str) -> bool:
    """Whether something is still to be filled in: ``{{ x }}`` or ``<X>``."""
    return bool(_PLACEHOLDER.search(text))


_PLACEHOLDER = re.compile(r"\{\{[^}]*\}\}|\{%[^%]*%\}|<[A-Za-z][A-Za-z0-9_. -]*>|\[\[[^\]]*\]\]|@@[A-Za-z_]+@@")
