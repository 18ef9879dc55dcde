"""ApplicationSets: the Applications that they make, and what is kept of those that only a run would tell."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model import argocd_names
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.repo.argocd import definitions, set_generators
from firstlight.repo.argocd.definitions import Definition, items, mapping, text
from firstlight.repo.argocd.read_scope import MAX_APPLICATIONS, GeneratorFailed, GeneratorNotKnown, ReadScope
from firstlight.repo.argocd.set_templates import SetTemplates

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedApplication:
    """One Application of a set."""

    definition: Definition
    is_template: bool = False
    """Whether it stands for any number of them, since the set cannot be made without running something."""


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedApplications:
    """What a set makes."""

    applications: tuple[GeneratedApplication, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def applications(one: Definition, scope: ReadScope) -> GeneratedApplications:
    """The Applications of a set; at least one stands for what is not known."""
    found: dict[str, GeneratedApplication] = {}
    diagnostics: list[Diagnostic] = []
    for number, entry in enumerate(items(one.spec.get("generators"))):
        for made in _of_entry(one, mapping(entry), number, scope):
            if isinstance(made, Diagnostic):
                diagnostics.append(made)
                continue
            name = made.definition.name
            if name in found and not made.is_template:
                diagnostics.append(
                    Diagnostic.error(
                        "name-of-two-owners",
                        f"the ApplicationSet makes two Applications named {name}",
                        at=one.place,
                    )
                )
            found.setdefault(name, made)
            if len(found) > MAX_APPLICATIONS:
                message = f"the ApplicationSet makes more than {MAX_APPLICATIONS} Applications; the rest is left out"
                return GeneratedApplications(
                    tuple(found.values()),
                    (*diagnostics, Diagnostic.error("argocd-too-many-applications", message, at=one.place)),
                )
    return GeneratedApplications(tuple(found.values()), tuple(diagnostics))


def template(one: Definition, reason: str) -> GeneratedApplication:
    """What stands for the Applications of a set: its template, with the set's name where its own is not known."""
    value = _application(one, mapping(one.spec.get("template")))
    if "{{" in text(value["metadata"].get("name")) or not value["metadata"].get("name"):
        value["metadata"]["name"] = one.name
    return GeneratedApplication(_definition(one, value, doubt=reason), is_template=True)


def _of_entry(
    one: Definition, entry: Mapping[str, Any], number: int, scope: ReadScope
) -> Iterator[GeneratedApplication | Diagnostic]:
    templates = SetTemplates(
        is_go=one.spec.get("goTemplate") is True,
        options=items(one.spec.get("goTemplateOptions")),
        budget=scope.budget,
    )
    found = set_generators.kinds(entry)
    if not found:
        yield Diagnostic.error(
            "argocd-generator-missing", "there is no generator in this entry", at=one.at("spec", "generators", number)
        )
    for kind in found:
        place = one.at("spec", "generators", number, kind)
        try:
            given = set_generators.parameters(kind, entry, templates, scope)
        except GeneratorFailed as error:
            yield Diagnostic(
                code="argocd-applications-unknown",
                severity=_grade(error),
                message=f"the Applications of {one.name} are not known: {error}",
                places=(place,),
            )
            yield template(one, f"which Applications there are is not known: {error}")
            continue
        if not given.sets:
            message = f"the generator {kind} of {one.name} finds nothing, so it makes no Application"
            yield Diagnostic.warning("argocd-generator-finds-nothing", message, at=place)
        merged = definitions.mergo_fill(
            mapping(mapping(entry[kind]).get("template")), mapping(one.spec.get("template"))
        )
        yield from _all_filled_in(one, merged, given, templates)


def _grade(error: GeneratorFailed) -> Severity:
    return Severity.UNKNOWN if isinstance(error, GeneratorNotKnown) else Severity.ERROR


def _all_filled_in(
    one: Definition, merged: Mapping[str, Any], given: set_generators.GeneratedParameters, templates: SetTemplates
) -> Iterator[GeneratedApplication | Diagnostic]:
    """The Application of each set of parameters; what goes wrong with many of them is said once."""
    said: set[Diagnostic] = set()
    bad_names: list[str] = []
    for params in given.sets:
        try:
            made = _filled_in(one, merged, params, templates, given.doubt)
        except GeneratorFailed as error:
            wrong = Diagnostic(
                code="argocd-set-template-wrong",
                severity=_grade(error),
                message=f"the template of {one.name} cannot be filled in: {error}",
                places=(one.at("spec", "template"),),
            )
            if wrong not in said:
                yield wrong
                yield template(one, f"its template cannot be filled in: {error}")
            said.add(wrong)
            continue
        if not _NAME.fullmatch(made.name) and "{{" not in made.name:
            bad_names.append(made.name)
        yield GeneratedApplication(made)
    if bad_names:
        more = f" and {len(bad_names) - 1} more like it" if len(bad_names) > 1 else ""
        message = (
            f"the ApplicationSet makes an Application named {bad_names[0]!r}{more}, which Kubernetes does not take"
        )
        yield Diagnostic.error(
            "argocd-application-name-wrong", message, at=one.at("spec", "template", "metadata", "name")
        )


def _filled_in(
    one: Definition, merged: Mapping[str, Any], params: Mapping[str, Any], templates: SetTemplates, doubt: str
) -> Definition:
    """The Application of one set of parameters."""
    written = _application(one, merged)
    value = templates.value(written, params) if params else written
    patch = one.spec.get("templatePatch")
    if isinstance(patch, str) and patch.strip():
        value = _patched(value, templates.text(patch, params))
    value["metadata"]["namespace"] = one.namespace
    return _definition(one, value, doubt=doubt)


def _patched(value: Mapping[str, Any], patch: str) -> dict[str, Any]:
    contents = yaml_reader.read(patch.encode(errors="replace"), "")
    wrong = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    if wrong:
        raise GeneratorFailed(f"templatePatch is no YAML: {wrong.message}")
    read = contents.documents[0].value if contents.documents else {}
    if not isinstance(read, Mapping):
        raise GeneratorFailed("templatePatch is no mapping")
    patched: dict[str, Any] = definitions.strategic_merge_patch(value, read)
    project = {"project": value["spec"]["project"]} if "project" in mapping(value.get("spec")) else {}
    patched["spec"] = {**mapping(patched.get("spec")), **project}
    patched["metadata"] = dict(mapping(patched.get("metadata")))
    return patched


def _application(one: Definition, written: Mapping[str, Any]) -> dict[str, Any]:
    """A template as the Application that it will be."""
    metadata = dict(mapping(written.get("metadata")))
    if one.namespace:
        metadata["namespace"] = one.namespace
    api = text(one.value.get("apiVersion"))
    return {
        "apiVersion": api,
        "kind": argocd_names.APPLICATION,
        "metadata": metadata,
        "spec": mapping(written.get("spec")),
    }


def _definition(one: Definition, value: Mapping[str, Any], *, doubt: str) -> Definition:
    """An Application whose lines are those of the template."""
    doubt = " and ".join(each for each in (one.doubt, doubt) if each)
    return dataclasses.replace(one, value=value, steps=(*one.steps, "spec", "template"), doubt=doubt)
