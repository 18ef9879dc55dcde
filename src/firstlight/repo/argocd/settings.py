"""How Argo CD itself is set up, as far as the repo says it: what waves, charts and globs depend on.

The settings stand in argocd-cm and argocd-cmd-params-cm, in patches of these, or below ``configs`` in the values of
its chart, at any depth. Their keys are long and belong to nothing else, so they are looked for as text.
"""

import dataclasses
import re

from firstlight.repo.argocd import definition
from firstlight.repo.work_tree import YAML, WorkTree

_HEALTH = "resource.customizations.health.argoproj.io_Application"
_CUSTOMIZATIONS = "resource.customizations"
_APPLICATION = re.compile(r"^[ \t]*[\"']?argoproj\.io/Application[\"']?:", re.MULTILINE)
_RESTS = "skip-reconcile"
"""The end of the annotation, which a check in Lua must ask for."""
_BUILD_OPTIONS = "kustomize.buildOptions"
_GLOBBING = re.compile(r"applicationsetcontroller\.enable\.new\.git\.file\.globbing[\"']?:\s*[\"']?true")


_WORDS = (_CUSTOMIZATIONS, "resourceHealthChecks", _BUILD_OPTIONS, "new.git.file.globbing")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What was found."""

    has_application_health: bool = False
    """Whether a parent waits for the health of its Applications, wave by wave."""
    is_rest_healthy: bool = False
    """Whether that check knows Applications that rest, which have no health of their own."""
    builds_charts: bool = False
    """Whether kustomize may build ``helmCharts``."""
    has_new_globbing: bool = False
    """Whether the Git generator matches files by doublestar instead of by ``git ls-files``."""


def read(tree: WorkTree) -> Settings:
    """Look for the settings in every YAML file."""
    health = charts = globbing = resting = False
    for path in tree.files:
        if not path.endswith(YAML) or not any(definition.mentions(tree, path, each) for each in _WORDS):
            continue
        text = tree.text(path) or ""
        if _CUSTOMIZATIONS in text:
            said = _without_comments(text)
            health |= _HEALTH + ":" in said.replace('"', "").replace("'", "")
            health |= _CUSTOMIZATIONS in said and bool(_APPLICATION.search(said))
            resting |= _RESTS in said
        if "resourceHealthChecks" in text:
            health |= any(_operator_has_health(document.value) for document in tree.documents(path))
            resting |= _RESTS in text
        if _BUILD_OPTIONS in text:
            charts |= _enables_charts(_without_comments(text))
        if "new.git.file.globbing" in text:
            globbing |= bool(_GLOBBING.search(_without_comments(text)))
    return Settings(
        has_application_health=health, is_rest_healthy=resting, builds_charts=charts, has_new_globbing=globbing
    )  # fmt: skip


def _enables_charts(text: str) -> bool:
    """Whether the option stands on the line of the key, or on one of the next as the text of a block."""
    lines = text.splitlines()
    near = [" ".join(lines[n : n + 3]) for n, line in enumerate(lines) if _BUILD_OPTIONS in line]
    return any("--enable-helm" in each for each in near)


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _operator_has_health(value: object) -> bool:
    """Whether the ArgoCD object of its operator sets the check."""
    spec = definition.mapping(definition.mapping(value).get("spec"))
    checks = [definition.mapping(each) for each in definition.items(spec.get("resourceHealthChecks"))]
    return any(each.get("group") == "argoproj.io" and each.get("kind") == "Application" for each in checks)
