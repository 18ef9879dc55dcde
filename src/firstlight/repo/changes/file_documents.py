"""The documents that a file holds: YAML, JSON, TOML, or what a template says whatever its variables are."""

import dataclasses
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import toml_reader, yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.changes.compare_fields import Steps
from firstlight.repo.go_template import unknown_values
from firstlight.repo.go_template.unknown_values import Unknown
from firstlight.repo.kustomize import kustomize_patches
from firstlight.repo.talos import config_files, machine_templates
from firstlight.repo.talos.template_tags import JinjaError
from firstlight.repo.work_tree import WorkTree

_YAML = {"Kustomization", "talosconfig"}


def documents_of_file(
    tree: WorkTree, path: str, *, is_yaml: bool = False
) -> tuple[tuple[YamlDocument, ...] | None, Diagnostic | None]:
    """The documents of a file; None where it has none, with what is wrong if it should."""
    name = posixpath.basename(path)
    if name.endswith(".toml"):
        return _toml(tree, path)
    is_yaml = is_yaml or name.endswith((*work_tree.YAML, ".json", ".talosconfig")) or name in _YAML
    if not is_yaml:
        return None, None
    contents = tree.contents(path)
    wrong = next((each for each in contents.diagnostics if each.severity is Severity.ERROR), None)
    return (contents.documents, None) if wrong is None else (None, wrong)


def documents_of_template(tree: WorkTree, path: str) -> tuple[YamlDocument, ...] | None:
    """What a template says whatever its variables are; None where that is no YAML."""
    if path.endswith(config_files.JINJA):
        found = config_files.read_talos_file(tree, path)
        documents, unknowns = found.documents, found.unknowns
        is_broken = any(each.code == "talos-template-not-yaml" for each in found.diagnostics)
    else:
        try:
            skeleton = machine_templates.read_go_template(unknown_values.remove_marks(tree.text(path) or ""), {})
        except JinjaError:
            return None
        contents = yaml_reader.read_text(skeleton.text, path)
        documents, unknowns = contents.documents, skeleton.unknowns
        is_broken = any(each.severity is Severity.ERROR for each in contents.diagnostics)
    if is_broken or not documents:
        return None
    return tuple(dataclasses.replace(each, value=_restored(each.value, unknowns)) for each in documents)


def _restored(value: Any, unknowns: Sequence[Unknown]) -> Any:
    """A value with the expressions of a template back in it."""
    if isinstance(value, str):
        return unknown_values.restore(value, unknowns) if unknown_values.has_mark(value) else value
    if isinstance(value, Mapping):
        return {unknown_values.restore(str(key), unknowns): _restored(each, unknowns) for key, each in value.items()}
    return [_restored(each, unknowns) for each in value] if isinstance(value, list) else value


def _toml(tree: WorkTree, path: str) -> tuple[tuple[YamlDocument, ...] | None, Diagnostic | None]:
    try:
        value = toml_reader.read(tree.text(path) or "")
    except toml_reader.TomlUnreadable as error:
        return None, Diagnostic.error("toml-wrong", str(error)[:200], at=Place(path, error.line))
    return (YamlDocument(path, 1, 0, value, ""),), None


# Texts in a document that are documents themselves: values of charts, patches, manifests; and where values stand.
#
# Such a text is compared by what it says: a comment in it is no change.


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
    flux_names.HELM_RELEASE, argocd_names.APPLICATION, argocd_names.APPLICATION_SET,
    flux_names.HELM_CHART, "HelmChartConfig", "Release", "HelmChartProxy",
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
    contents = yaml_reader.read_text(text, "")
    if any(each.severity is Severity.ERROR for each in contents.diagnostics):
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


# Operations of a JSON patch as the fields that they change, so that they can be told by their ways.


REMOVED = "$remove"
"""What stands in the place of a value that an operation takes away."""


def is_json_patch(value: Sequence[Any]) -> bool:
    """Whether a list has operations and nothing else."""
    return bool(value) and all(
        isinstance(each, Mapping) and isinstance(each.get("path"), str) and isinstance(each.get("op"), str)
        for each in value
    )


def read_json_patch(operations: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """A mapping with what operations set, and the number of each by the way to it."""
    made: dict[str, Any] = {}
    ways: dict[tuple[str, ...], int] = {}
    for number, each in enumerate(operations):
        steps = tuple(_step(part) for part in kustomize_patches.parts(str(each["path"]))) or ("",)
        while steps in ways:  # two items that are appended to one list
            steps = (*steps[:-1], f"{steps[-1]}+")
        ways[steps] = number
        _put(made, steps, each.get("value") if each["op"] in ("add", "replace", "test") else {REMOVED: each["op"]})
    return made, ways


def _step(name: str) -> str:
    return f"[{name}]" if name.isdigit() or name == "-" else name


def _put(into: dict[str, Any], steps: tuple[str, ...], value: Any) -> None:
    for step in steps[:-1]:
        inner = into.get(step)
        if not isinstance(inner, dict):
            inner = into[step] = {} if inner is None else {"": inner}
        into = inner
    known = into.get(steps[-1])
    into[steps[-1]] = {**known, **value} if isinstance(known, dict) and isinstance(value, Mapping) else value
