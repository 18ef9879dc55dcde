"""What ResourceSets of the flux-operator make, where their inputs are written in the repo.

Go templates with ``<<`` and ``>>``, filled once for each set of inputs. Inputs are known where the ResourceSet has them
itself, or a provider of type Static; what other providers yield is known in the cluster only.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from firstlight.document import yaml_reader
from firstlight.model import flux_names
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.repo import go_template
from firstlight.repo.flux import flux_kustomizations, flux_objects
from firstlight.repo.flux.flux_objects import called, entries, mapping, text
from firstlight.repo.go_template import GoTemplateError, MissingKey, NotKnownBeforeRun, TemplateFunction, Unknown
from firstlight.repo.go_template.sprig_data import to_yaml
from firstlight.repo.kustomize import DIALECT
from firstlight.repo.manifest import Manifest

INPUT_SETS = 1000
"""Sets of inputs of one ResourceSet; the operator's own limit is ten times that."""
_BRACES = ("<<", ">>")
_SLUG = 63


@dataclasses.dataclass(frozen=True)
class ResourceSetObjects:
    """What a ResourceSet makes, and what is not known of it."""

    manifests: tuple[Manifest, ...] = dataclasses.field(default=(), repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Inputs:
    sets: tuple[Mapping[str, Any] | None, ...]
    open: tuple[str, ...] = ()
    """Why there may be more of them."""


def evaluate(resource_set: Manifest, providers: Sequence[Manifest]) -> ResourceSetObjects:
    """Make the objects of a ResourceSet.

    Args:
        resource_set: The ResourceSet, as it is applied.
        providers: The ResourceSetInputProviders of the cluster.
    """
    inputs = _inputs(resource_set, providers)
    made: dict[ObjectId, Manifest] = {}
    reasons = dict.fromkeys(inputs.open)
    wrong: list[str] = []
    for one in inputs.sets:
        for template in _templates(resource_set):
            try:
                for manifest in _filled(resource_set, template, one):
                    if not _is_left_out(manifest):
                        made.setdefault(manifest.id, manifest)
            except NotKnownBeforeRun as error:
                reasons[f"{error.name or 'a value'}: {error.reason}"] = None
            except (GoTemplateError, yaml.YAMLError) as error:
                wrong.append(str(error))
    spec = flux_objects.spec(resource_set)
    manifests = tuple(flux_kustomizations.with_common_metadata(each, spec) for each in made.values())
    return ResourceSetObjects(manifests, tuple(_said(resource_set, [*reasons], wrong)))


def _said(resource_set: Manifest, reasons: Sequence[str], wrong: Sequence[str]) -> Iterator[Diagnostic]:
    name = called(resource_set)
    if reasons:
        listed = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
        message = f"what ResourceSet {name} makes is not fully known: {listed[:400]}"
        yield Diagnostic.unknown("flux-resource-set-not-followed", message, at=resource_set.place)
    if wrong:
        message = f"the templates of ResourceSet {name} cannot be filled: {wrong[0][:300]}"
        place = resource_set.at("spec")
        yield Diagnostic(code="flux-resource-set-wrong", severity=Severity.WARNING, message=message, places=(place,))


# Inputs


def _inputs(resource_set: Manifest, providers: Sequence[Manifest]) -> _Inputs:
    spec = flux_objects.spec(resource_set)
    own = [dict(each) for each in map(mapping, entries(spec.get("inputs")))]
    references = [mapping(each) for each in entries(spec.get("inputsFrom"))]
    if not own and not references:
        return _Inputs((None,))
    known: list[Manifest] = []
    reasons: list[str] = []
    for reference in references:
        found = _selected(reference, resource_set, providers)
        if not found:
            reasons.append(f"{_named(reference)} is not in the cluster's tree")
        for provider in found:
            kind = text(flux_objects.spec(provider).get("type"))
            if kind == "Static":
                known.append(provider)
            else:
                reasons.append(f"ResourceSetInputProvider {called(provider)} is of type {kind[:60]}")
    known = sorted({each.id: each for each in known}.values(), key=lambda each: (each.id.namespace, each.id.name))
    own = [{**each, "provider": _identity(resource_set)} for each in own]
    given = [(each, [_exported(each)]) for each in known]
    if text(mapping(spec.get("inputStrategy")).get("name")) == "Permute":
        if reasons:
            return _Inputs((), tuple(reasons))
        return _permuted([(resource_set, own)] * bool(own) + given)
    sets = [*own, *(one for _, several in given for one in several)]
    if len(sets) > INPUT_SETS:
        reasons.append(f"it has more than {INPUT_SETS} sets of inputs")
    return _Inputs(tuple(sets[:INPUT_SETS]), tuple(reasons))


def _named(reference: Mapping[str, Any]) -> str:
    name = text(reference.get("name"))
    return f"ResourceSetInputProvider {name}" if name else "a ResourceSetInputProvider with these labels"


def _selected(reference: Mapping[str, Any], by: Manifest, providers: Sequence[Manifest]) -> list[Manifest]:
    beside = [each for each in providers if each.id.namespace == by.id.namespace]
    if text(reference.get("name")):
        return [each for each in beside if each.id.name == text(reference["name"])]
    selector = mapping(reference.get("selector"))
    return [each for each in beside if selector and _is_selected(each, selector)]


def _is_selected(provider: Manifest, selector: Mapping[str, Any]) -> bool:
    labels = mapping(mapping(provider.value.get("metadata")).get("labels"))
    if any(text(labels.get(name)) != text(value) for name, value in mapping(selector.get("matchLabels")).items()):
        return False
    return all(_holds(mapping(each), labels) for each in entries(selector.get("matchExpressions")))


def _holds(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, values = text(expression.get("key")), [text(each) for each in entries(expression.get("values"))]
    match text(expression.get("operator")):
        case "In":
            return key in labels and text(labels[key]) in values
        case "NotIn":
            return key not in labels or text(labels[key]) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def _identity(manifest: Manifest) -> dict[str, str]:
    return {
        "apiVersion": text(manifest.value.get("apiVersion")),
        "kind": manifest.id.kind,
        "name": manifest.id.name,
        "namespace": manifest.id.namespace,
    }


def _exported(provider: Manifest) -> dict[str, Any]:
    values = dict(mapping(flux_objects.spec(provider).get("defaultValues")))
    identity = Unknown("inputs.id", "the operator makes it of the UID of the provider", name="inputs.id")
    return {**values, "id": identity, "provider": _identity(provider)}


def _permuted(given: Sequence[tuple[Manifest, Sequence[Mapping[str, Any]]]]) -> _Inputs:
    names = [re.sub(r"[^a-z0-9]", "_", each.id.name.lower()) for each, _ in given]
    identity = Unknown("inputs.id", "the operator makes it of the names of the providers", name="inputs.id")
    product = itertools.product(*(several for _, several in given))
    sets = [{**dict(zip(names, one, strict=True)), "id": identity} for one in itertools.islice(product, INPUT_SETS + 1)]
    too_many = (f"it has more than {INPUT_SETS} sets of inputs",) if len(sets) > INPUT_SETS else ()
    return _Inputs(tuple(sets[:INPUT_SETS]), too_many)


# Templates


@dataclasses.dataclass(frozen=True)
class _Template:
    text: str
    steps: tuple[str | int, ...]
    is_object: bool
    """Whether it is one object, and not a text with documents."""


class _Dumper(yaml.CSafeDumper):
    """Writes texts of several lines as Go does, so that what a template puts in keeps its lines."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represented(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _represented)


def _templates(resource_set: Manifest) -> Iterator[_Template]:
    spec = flux_objects.spec(resource_set)
    yield from _templates_of(spec, ("spec",))
    for number, step in enumerate(entries(spec.get("steps"))):
        yield from _templates_of(mapping(step), ("spec", "steps", number))


def _templates_of(holder: Mapping[str, Any], steps: tuple[str | int, ...]) -> Iterator[_Template]:
    for number, value in enumerate(entries(holder.get("resources"))):
        if isinstance(value, dict):
            written = yaml.dump(
                value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=True, width=2**30
            )
            yield _Template(written, (*steps, "resources", number), is_object=True)
    if text(holder.get("resourcesTemplate")):
        yield _Template(text(holder["resourcesTemplate"]), (*steps, "resourcesTemplate"), is_object=False)


def _filled(resource_set: Manifest, template: _Template, inputs: Mapping[str, Any] | None) -> Iterator[Manifest]:
    place = resource_set.at(*template.steps)
    if _BRACES[0] not in template.text:
        filled = template.text
    else:
        functions = {
            "inputs": TemplateFunction("", lambda: inputs),
            "slugify": TemplateFunction("s", _slug),
            "mustToYaml": TemplateFunction("a", to_yaml),
        }
        filled = go_template.render(
            template.text, {}, functions=functions, missing_key=MissingKey.ERROR, braces=_BRACES
        )
    if template.is_object and filled == template.text:
        value = _at(resource_set.value, template.steps)
        if isinstance(value, dict):
            yield Manifest(value, place, resource_set.document, (*resource_set.steps, *template.steps))
        return
    contents = yaml_reader.read(filled.encode(), place.path, dialect=DIALECT)
    for each in contents.diagnostics:
        if each.severity == Severity.ERROR:
            raise yaml.YAMLError(each.message)
    for document in contents.documents:
        if document.value is None:
            continue
        if not isinstance(document.value, dict) or not document.value.get("kind"):
            raise yaml.YAMLError(f"document {document.index + 1} is not an object")
        yield Manifest(document.value, place)


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def _is_left_out(manifest: Manifest) -> bool:
    annotations = mapping(mapping(manifest.value.get("metadata")).get("annotations"))
    return text(annotations.get(flux_names.OPERATOR_RECONCILE_ANNOTATION)).lower() == "disabled"


def _slug(written: str) -> str:
    """A text as part of a name: words whole, as many as fit."""
    if not written.isascii():
        raise NotKnownBeforeRun("letters beyond ASCII are written differently", name="slugify")
    words = re.findall(r"[a-z0-9_]+", written.lower())
    found = ""
    for word in words:
        longer = f"{found}-{word}" if found else word
        if len(longer) > _SLUG:
            break
        found = longer
    return found or "-".join(words)[:_SLUG]
