"""Texts in a document that are documents themselves: values of charts, patches, manifests; and where values stand.

Such a text is compared by what it says: a comment in it is no change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import reading
from firstlight.model.component import ObjectId
from firstlight.model.remark import Grade
from firstlight.repo.changing.comparing import Steps

Pattern = tuple[str, ...]
"""Keys on the way to something; ``*`` is any key or item."""

_HELM: tuple[Pattern, ...] = tuple(
    (*top, *source, "helm")
    for top in (("spec",), ("spec", "template", "spec"))
    for source in (("source",), ("sources", "*"))
)
_ANY_VALUES: tuple[Pattern, ...] = (
    ("spec", "values"), ("spec", "valuesContent"), ("spec", "forProvider", "values"),
    *((*each, "valuesObject") for each in _HELM), *((*each, "values") for each in _HELM),
)  # fmt: skip
_KINDS = {
    "HelmRelease", "Application", "ApplicationSet", "HelmChart", "HelmChartConfig", "Release", "HelmChartProxy",
}  # fmt: skip
"""Of objects that have values in them."""
_PATCHES: tuple[Pattern, ...] = (
    ("spec", "patches", "*", "patch"),
    ("spec", "postRenderers", "*", "kustomize", "patches", "*", "patch"),
    ("spec", "source", "kustomize", "patches", "*", "patch"),
)

KUSTOMIZATION: tuple[Pattern, ...] = (("patches", "*", "patch"), ("patchesStrategicMerge", "*"))
KUSTOMIZATION_VALUES: tuple[Pattern, ...] = (("helmCharts", "*", "valuesInline"),)
HELMFILE_VALUES: tuple[Pattern, ...] = tuple(
    (top, "*", key, "*") for top in ("releases", "templates") for key in ("values", "valuesTemplate")
)
MACHINES: tuple[Pattern, ...] = (
    ("patches", "*"), ("controlPlane", "patches", "*"), ("worker", "patches", "*"), ("nodes", "*", "patches", "*"),
    ("cluster", "inlineManifests", "*", "contents"), ("inlineManifests", "*", "contents"),
)  # fmt: skip
HOLDER: tuple[Pattern, ...] = (("data", "*"),)
_SETTINGS = {"parameters", "set", "setString", "setTemplate"}
FLAGS = {"--set", "--set-string", "--set-json", "--set-file", "--set-literal"}


def of_object(value: Mapping[str, Any]) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
    """Which texts of an object are documents, and where it has values of a chart."""
    values = _ANY_VALUES if value.get("kind") in _KINDS else ()
    return (*values, *_PATCHES), values


def expanded(value: Any, patterns: Sequence[Pattern]) -> Any:
    """A value with texts replaced by what they say; whatever is no YAML stays a text."""
    for pattern in patterns:
        value = _expanded(value, pattern)
    return value


def _expanded(value: Any, pattern: Pattern) -> Any:
    if not pattern:
        return _parsed(value) if isinstance(value, str) else value
    step, rest = pattern[0], pattern[1:]
    if isinstance(value, Mapping):
        keys = list(value) if step == "*" else [step] if step in value else []
        made = {key: _expanded(value[key], rest) for key in keys}
        return value if all(made[key] is value[key] for key in keys) else {**value, **made}
    if isinstance(value, list) and step == "*":
        items = [_expanded(each, rest) for each in value]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    return value


def _parsed(text: str) -> Any:
    if ":" not in text or text.startswith("@"):
        return text
    contents = reading.read_text(text, "")
    if any(each.grade is Grade.ERROR for each in contents.remarks):
        return text
    found = [each.value for each in contents.documents]
    if not found or not all(isinstance(each, Mapping | list) for each in found):
        return text
    if len(found) == 1 and not is_object(found[0]):
        return found[0]
    return {str(ObjectId.of(each)) if is_object(each) else f"document {at}": each for at, each in enumerate(found, 1)}


def is_object(value: Any) -> bool:
    """Whether it is a Kubernetes object, or a patch of one."""
    if not isinstance(value, Mapping):
        return False
    metadata = value.get("metadata")
    is_named = isinstance(metadata, Mapping) and bool(metadata.get("name") or metadata.get("generateName"))
    return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str) and is_named


def values_at(patterns: Sequence[Pattern], steps: Steps) -> Steps | None:
    """The way inside the values of a chart; None where a field is none of them."""
    for pattern in patterns:
        if len(steps) >= len(pattern) and all(one in ("*", other) for one, other in zip(pattern, steps, strict=False)):
            return steps[len(pattern) :]
    for at in range(len(steps) - 1):
        # One value by its name: of an Application, a helmfile, or of a command.
        if steps[at] in _SETTINGS and steps[at + 1].startswith("[name=") and steps[-1] in ("value", "file"):
            return tuple(steps[at + 1][len("[name=") : -1].split("."))
        if steps[at] in FLAGS:
            return tuple(steps[at + 1].split("."))
    return None


def of_machine(steps: Steps) -> Steps:
    """The way to a field from the top of the machine config that it is in, where that is part of another document."""
    for at, step in enumerate(steps):
        if step in ("machine", "cluster") and at and {"patches", "inline", "configPatches"} & set(steps[:at]):
            return steps[at:]
    return steps


def is_schema(steps: Steps) -> bool:
    """Whether it is the schema of a CRD: of one that comes or goes nobody wants to see every leaf."""
    return steps[-1:] == ("openAPIV3Schema",)
