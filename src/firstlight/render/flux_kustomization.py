"""Kustomizations of Flux: built with what they add, their variables replaced in the text of each object."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model import flux_names
from firstlight.model.component import ObjectId, Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.source import DirectorySource
from firstlight.render import kustomize_build, rendered_objects
from firstlight.render.kustomize_build import KustomizeRequest
from firstlight.render.kustomize_inputs import KustomizeRules
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.rendered_objects import RawObjects
from firstlight.render.renderer_programs import RenderTools
from firstlight.repo.flux import envsubst, flux_kustomizations, flux_objects, post_build
from firstlight.repo.flux.flux_objects import mapping, text
from firstlight.repo.flux.post_build import Variables
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.manifest import Manifest

RULES = KustomizeRules(beyond_directory=True)
"""Flux lets a kustomization use files of the whole repo, and no charts."""


async def render(
    origin: Origin, directory: DirectorySource, questions: RenderQuestions, tools: RenderTools
) -> RawObjects:
    """What a Kustomization applies, its children and their sources among it.

    Raises:
        errors.FirstlightError: kustomize makes nothing of it.
    """
    spec = spec_of(origin, directory)
    declared = Manifest({"metadata": {"namespace": origin.namespace}, "spec": spec}, origin.place)
    added = flux_kustomizations.overlay(declared, questions.tree, directory.path).fields
    extra = spec.get("buildMetadata")
    if isinstance(extra, list) and extra:
        added = {**added, "buildMetadata": extra}
    wish = KustomizeRequest(
        directory=directory.path,
        place=origin.place,
        change=kustomize_build.by_flux(added, origin.place),
        components=tuple(added.get("components", ())),
        generates=True,
        follows_links=False,
        rules=RULES,
    )
    built, diagnostics = await kustomize_build.build(wish, questions, tools)
    diagnostics += _about_images(added, directory.path, origin, questions)
    return await finished(built, spec, origin, questions, said=diagnostics)


async def part(origin: Origin, questions: RenderQuestions, tools: RenderTools) -> RawObjects:
    """The objects of an origin as the Kustomization makes them that applies them among others: patched, or left out.

    Raises:
        errors.FirstlightError: kustomize makes nothing of it.
    """
    maker = Manifest(origin.maker, origin.place)
    whole = dataclasses.replace(origin, definition=maker.value, namespace=maker.id.namespace)
    path = flux_objects.normal_path(text(mapping(maker.value.get("spec")).get("path"))) or "."
    made = await render(whole, DirectorySource(path=path), questions, tools)
    mine = {*origin.objects}
    objects = tuple(each for each in made.objects if each.id in mine)
    # What else is to be said of the Kustomization is said where all of it is rendered.
    by_default = tuple(each for each in made.by_default if each in mine)
    return RawObjects(objects=objects, diagnostics=() if objects else made.diagnostics, by_default=by_default)


async def finished(
    built: str, spec: Mapping[str, Any], origin: Origin, questions: RenderQuestions, *, said: list[Diagnostic]
) -> RawObjects:
    """What Flux does to the text that kustomize wrote: variables, then metadata for all objects."""
    known = await _variables(spec, origin, questions)
    replaced = _substituted(built, known, origin.place, questions.budget) if known.is_active else _Replaced(built)
    objects, wrong = rendered_objects.parse_objects(replaced.text, origin.place, what="what kustomize made")
    common = mapping(spec.get("commonMetadata"))
    if common:
        objects = [
            with_metadata(each, mapping(common.get("labels")), mapping(common.get("annotations"))) for each in objects
        ]
    return RawObjects(
        objects=tuple(objects),
        diagnostics=(*said, *replaced.diagnostics, *wrong),
        by_default=tuple(replaced.by_default),
    )


def left_as_text(diagnostic: Diagnostic) -> str:
    """The variable that a diagnostic says is still in the text of objects; empty if it says something else."""
    return diagnostic.subject if diagnostic.code == "flux-variable-unknown" else ""


def is_of_default(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic says that a variable has its default, in the objects that the rendition names."""
    return diagnostic.code == "flux-variable-by-default"


def spec_of(origin: Origin, directory: DirectorySource) -> Mapping[str, Any]:
    """The spec of a Kustomization; put together from what is known where no object declares it."""
    declared = mapping(origin.definition.get("spec"))
    if declared:
        return declared
    fields = {
        "targetNamespace": directory.target_namespace,
        "namePrefix": directory.name_prefix,
        "nameSuffix": directory.name_suffix,
        "commonMetadata": directory.common_metadata,
        "components": list(directory.components),
        "patches": list(directory.patches),
        "images": list(directory.images),
        "postBuild": {
            "substitute": directory.substitute,
            "substituteFrom": [dataclasses.asdict(each) for each in directory.substitute_from],
        },
    }
    return {name: value for name, value in fields.items() if value}


def with_metadata(obj: Object, labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> Object:
    """An object with more labels and annotations, which win over its own."""
    if not labels and not annotations:
        return obj
    metadata = dict(mapping(obj.value.get("metadata")))
    for name, more in (("labels", labels), ("annotations", annotations)):
        if more:
            metadata[name] = {**mapping(metadata.get(name)), **more}
    return Object({**obj.value, "metadata": metadata})


def _about_images(added: Mapping[str, Any], path: str, origin: Origin, questions: RenderQuestions) -> list[Diagnostic]:
    """Where versions of Flux differ: an image that both name is replaced by older ones, and merged by newer ones."""
    found = kustomization_file.load(questions.tree, questions.tree.real(path)) if added.get("images") else None
    named = {each.get("name"): each for each in found.entries("images") if isinstance(each, dict)} if found else {}
    for image in added.get("images", ()):
        own = named.get(image.get("name"))
        if found and own and set(own) - set(image):
            message = f"the image {image.get('name')} is also set in {found.file}; older Flux drops what it says there"
            return [
                Diagnostic.warning("flux-image-set-twice", message, at=origin.place, fix="say all of it in one place")
            ]
    return []


async def _variables(spec: Mapping[str, Any], origin: Origin, questions: RenderQuestions) -> Variables:
    build = mapping(spec.get("postBuild"))
    if not build:
        return Variables()
    holders = post_build.VariableHolders()
    absent: set[tuple[str, str]] = set()
    for reference in post_build.variable_references(spec, origin.namespace):
        kinds = ("Secret", "ExternalSecret") if reference.kind == "Secret" else (reference.kind,)
        for kind in kinds:
            if found := await questions.object(kind, origin.namespace, reference.name):
                holders.note(Manifest(found, origin.place))
                break
        else:
            # One that may be missing and that nothing deploys is taken to be missing.
            absent |= {(reference.kind, reference.name)} if reference.optional else set()
    listed = build.get("substituteFrom")
    kept = [
        each
        for each in (listed if isinstance(listed, list) else ())
        if (text(mapping(each).get("kind")), text(mapping(each).get("name"))) not in absent
    ]
    wanted = {**spec, "postBuild": {**build, "substituteFrom": kept}}
    return post_build.resolve_variables(wanted, origin.namespace, holders)


@dataclasses.dataclass
class _Replaced:
    text: str
    diagnostics: list[Diagnostic] = dataclasses.field(default_factory=list)
    by_default: list[ObjectId] = dataclasses.field(default_factory=list)


def _substituted(
    built: str, known: Variables, place: Place, budget: envsubst.SubstitutionBudget | None = None
) -> _Replaced:
    budget = budget or envsubst.SubstitutionBudget()
    made: list[str] = []
    diagnostics: list[Diagnostic] = []
    unknown: dict[str, None] = {}
    assumed: dict[str, None] = {}
    by_default: list[ObjectId] = []
    if known.invalid:
        names = ", ".join(sorted(known.invalid)[:5])
        diagnostics.append(
            Diagnostic.error(
                "flux-variable-name-wrong",
                f"Flux refuses the variable {names}: letters, digits and _ make a name",
                at=place,
            )
        )
    for document in rendered_objects.split_documents(built):
        if "$" not in document or (flux_names.SUBSTITUTE_ANNOTATION in document and _is_disabled(document)):
            made.append(document)
            continue
        try:
            found = envsubst.expand(document, known.lookup, budget)
        except envsubst.SubstitutionTooLarge as error:
            message = f"variables in {_name(document)} are left as they are: {error}"
            diagnostics.append(
                Diagnostic.error(
                    "flux-substitution-too-large", message, at=place, fix="look for a variable that is used very often"
                )
            )
            made.append(document)
            continue
        except envsubst.BadSubstitution as error:
            diagnostics.append(
                Diagnostic.error(
                    "flux-substitution-wrong", f"Flux refuses the variables in {_name(document)}: {error}", at=place
                )
            )
            made.append(document)
            continue
        unknown |= found.unknown
        assumed |= found.assumed
        made.append(found.text)
        by_default += _ids(found.text) if found.assumed else ()
    for name in unknown:
        message = f"the variable {name} is left as text: {_whence(name, known)}"
        diagnostics.append(Diagnostic.unknown("flux-variable-unknown", message, at=place, subject=name))
    for name in assumed:
        if name not in unknown:
            message = f"the variable {name} has its default: {_whence(name, known)}"
            diagnostics.append(Diagnostic.unknown("flux-variable-by-default", message, at=place, subject=name))
    return _Replaced(rendered_objects.join_documents(made), diagnostics, by_default)


def _whence(name: str, known: Variables) -> str:
    if name in known.hidden:
        return f"its value is in {known.hidden[name]}"
    return f"its value may be in {', '.join(str(each) for each in known.missing[:3])}, which nothing here deploys"


def _is_disabled(document: str) -> bool:
    objects, _ = rendered_objects.parse_objects(document, Place(""), what="an object")
    marks = [
        mapping(mapping(each.value.get("metadata")).get(field))
        for each in objects
        for field in ("labels", "annotations")
    ]
    return any(each.get(flux_names.SUBSTITUTE_ANNOTATION) == "disabled" for each in marks)


def _ids(document: str) -> list[ObjectId]:
    objects, _ = rendered_objects.parse_objects(document, Place(""), what="an object")
    return [each.id for each in objects]


def _name(document: str) -> str:
    objects, _ = rendered_objects.parse_objects(document, Place(""), what="an object")
    return f"{objects[0].id.kind} {objects[0].id.name}" if objects else "an object"
