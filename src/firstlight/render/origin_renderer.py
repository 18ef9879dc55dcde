"""One origin rendered in the way of its form: what Flux, Argo CD, Helm, kubectl or Talos would make of it."""

from collections.abc import Mapping
from typing import Any

from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.model.component import ObjectId, Origin, Phase, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.rendition import Object
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
)
from firstlight.render import (
    argocd_application,
    chart_files,
    chart_values,
    flux_helm_release,
    flux_kustomization,
    helm_template,
    kustomize_build,
    rendered_objects,
    served_kinds,
)
from firstlight.render.flux_kustomization import with_metadata
from firstlight.render.helm_template import ChartRelease
from firstlight.render.kustomize_build import KustomizeRequest
from firstlight.render.kustomize_inputs import KustomizeRules
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.rendered_objects import RawObjects
from firstlight.render.renderer_programs import RenderTools
from firstlight.render.served_kinds import ServedKinds, TemplateFacts
from firstlight.repo.talos import manifest_origins
from firstlight.repo.work_tree import YAML

_MANIFESTS = (*YAML, ".json")
_DEFAULT = "default"
"""The namespace that kubectl takes where neither the object nor the command names one."""
_COMMANDS = (SourceForm.KUBECTL_COMMAND, SourceForm.KUSTOMIZE_COMMAND, SourceForm.HOOK)


async def render(origin: Origin, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts) -> RawObjects:
    """What an origin deploys.

    Raises:
        errors.FirstlightError: It cannot be rendered.
    """
    source = origin.source
    if origin.form == SourceForm.APPLICATION and origin.definition:
        return await argocd_application.render(origin, questions, tools, facts)
    if origin.form in (SourceForm.FLUX_INSTANCE, SourceForm.FLUX_COMMAND):
        return _unknown(origin, "Flux is installed by its own program, which makes the manifests")
    if isinstance(source, SeveralSources):
        return rendered_objects.join_raw(
            *[await _source(origin, each, questions, tools, facts) for each in source.each]
        )
    return await _source(origin, source, questions, tools, facts)


async def _source(
    origin: Origin, source: Source, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts
) -> RawObjects:
    match source:
        case ChartSource() if origin.form == SourceForm.HELM_RELEASE:
            return await flux_helm_release.render(origin, source, questions, tools, facts)
        case ChartSource():
            return await _chart(origin, source, questions, tools, facts)
        case DirectorySource() if origin.form == SourceForm.KUSTOMIZATION:
            return await flux_kustomization.render(origin, source, questions, tools)
        case DirectorySource() if origin.form == SourceForm.FLUX_COMPONENTS and origin.maker:
            return await flux_kustomization.part(origin, questions, tools)
        case DirectorySource():
            return await _directory(origin, source, questions, tools, facts)
        case RemoteSource():
            return await _remote(origin, source, questions, tools, facts)
        case Embedded():
            return _embedded(origin, source, questions)
        case Unresolved():
            return _unknown(origin, source.reason)


async def _chart(
    origin: Origin, chart: ChartSource, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts
) -> RawObjects:
    """A release of helmfile or of a helm command."""
    release, diagnostics = await _prepare(origin, chart, questions, facts)
    templated = await helm_template.template(release, questions, tools)
    templated = await helm_template.post_rendered(templated, chart.post_renderers, tools)
    crds, objects, said = templated.objects(origin.place)
    found = [*crds, *objects]
    if origin.phase == Phase.CRDS:
        found = [each for each in found if each.is_crd]  # what is installed before anything else is the CRDs alone
    unreleased = tuple(each.id for each in crds)
    return RawObjects(tuple(found), (*diagnostics, *said), release.namespace, release.name, unreleased)


async def prepare(
    origin: Origin, chart: ChartSource, questions: RenderQuestions, facts: TemplateFacts
) -> tuple[ChartRelease, tuple[Diagnostic, ...]]:
    """What Helm is given for a chart of an origin: the same that it is rendered from.

    Raises:
        errors.FirstlightError: The chart cannot be had.
    """
    if origin.form == SourceForm.HELM_RELEASE:
        return await flux_helm_release.prepare(origin, chart, questions, facts)
    return await _prepare(origin, chart, questions, facts)


async def _prepare(
    origin: Origin, chart: ChartSource, questions: RenderQuestions, facts: TemplateFacts
) -> tuple[ChartRelease, tuple[Diagnostic, ...]]:
    loaded = await chart_files.load(chart, questions)
    given = await chart_values.gather(chart.values, questions, chart=loaded.files if chart.repository else None)
    whole, wrong = chart_values.merged(given)
    release = ChartRelease(
        chart=loaded,
        name=chart.release or origin.name,
        namespace=chart.namespace or _DEFAULT,
        place=origin.place,
        values=whole,
        kube_version=facts.kube_version,
    )
    return release, (*given.diagnostics, *wrong)


async def _directory(
    origin: Origin, directory: DirectorySource, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts
) -> RawObjects:
    """A directory or file that kubectl, kustomize or Talos is given."""
    if not directory.kustomize:
        return _files(origin, directory, questions)
    wish = KustomizeRequest(
        directory=directory.path,
        place=origin.place,
        rules=KustomizeRules(allow_helm=True),
        kube_version=facts.kube_version,
    )
    built, said = await kustomize_build.build(wish, questions, tools)
    objects, wrong = rendered_objects.parse_objects(built, origin.place, what="what kustomize made")
    return RawObjects(tuple(objects), (*said, *wrong), _namespace(origin))


def _namespace(origin: Origin) -> str:
    """Where objects go that name no namespace: to that of the command that applies them."""
    return (origin.namespace if origin.form in _COMMANDS else "") or _DEFAULT


def _files(origin: Origin, directory: DirectorySource, questions: RenderQuestions) -> RawObjects:
    content = questions.file(directory.path)
    names = [directory.path]
    if content is None:
        depth = directory.path.count("/") + 1 if directory.path != "." else 0
        names = [
            name
            for name in questions.names(directory.path)
            if name.endswith(_MANIFESTS) and (directory.recurse or name.count("/") == depth)
        ]
        if not names:
            message = f"there are no manifests in {directory.path}"
            return RawObjects(diagnostics=(Diagnostic.error("manifests-missing", message, at=origin.place),))
    objects: list[Object] = []
    diagnostics: list[Diagnostic] = []
    for name in names:
        text = questions.content_of(name).decode("utf-8-sig", errors="replace")
        found, wrong = rendered_objects.parse_objects(text, origin.place, what=name)
        objects += found
        diagnostics += wrong
    return RawObjects(tuple(objects), tuple(diagnostics), _namespace(origin))


async def _remote(
    origin: Origin, remote: RemoteSource, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts
) -> RawObjects:
    if remote.url.startswith("oci://"):
        return _unknown(origin, f"{remote.url} is an OCI artifact, and only charts are fetched from registries")
    if rendered_objects.is_remote_file(remote):
        return await rendered_objects.remote_file(remote, questions, origin.place)
    async with rendered_objects.remote_repository(remote, questions) as inner:
        path = remote.path.strip("/").removeprefix("./") or "."
        is_flux = origin.form == SourceForm.KUSTOMIZATION
        directory = DirectorySource(path=path)
        if is_flux:
            return await flux_kustomization.render(origin, directory, inner, tools)
        return await _directory(origin, directory, inner, tools, facts)


def _embedded(origin: Origin, source: Embedded, questions: RenderQuestions) -> RawObjects:
    """Objects inside another file, or those that a command makes of nothing."""
    questions.file(source.place.path)
    if source.steps:
        found = tuple(Object(each.value) for each in manifest_origins.objects(questions.tree, origin))
        if not found:
            message = f"no objects are found in {source.place}"
            return RawObjects(diagnostics=(Diagnostic.error("manifests-missing", message, at=origin.place),))
        return RawObjects(found, namespace=_DEFAULT)
    if origin.objects and all(each.kind == "Namespace" and not each.group for each in origin.objects):
        made = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.name}} for each in origin.objects)
        return RawObjects(tuple(Object(each) for each in made))
    return _unknown(origin, "its manifests stand in a script, which is not run")


def _unknown(origin: Origin, reason: str) -> RawObjects:
    return RawObjects(
        diagnostics=(Diagnostic.unknown("render-not-possible", f"it cannot be rendered: {reason}", at=origin.place),)
    )


# What engines do to all objects alike: namespaces for those that name none, and their own marks.


def unknown_scopes(objects: tuple[Object, ...], namespace: str, served: ServedKinds) -> bool:
    """Whether there are objects of which only the cluster's other CRDs tell whether they are in a namespace."""
    return bool(namespace) and any(
        not each.id.namespace and served_kinds.is_namespaced(each.id, served) is None for each in objects
    )


def in_namespaces(objects: tuple[Object, ...], namespace: str, served: ServedKinds) -> tuple[Object, ...]:
    """Objects with the namespace that they go to, where they name none and their kind is in one."""
    if not namespace:
        return objects
    return tuple(_in_namespace(each, namespace, served) for each in objects)


def marked(objects: tuple[Object, ...], origin: Origin, raw: RawObjects) -> tuple[Object, ...]:
    """Objects with the labels and annotations by which Helm and the engine know their own."""
    released = raw.release and origin.form != SourceForm.APPLICATION
    unreleased = set(raw.unreleased)
    made = []
    for before, each in zip(raw.objects, objects, strict=True):
        if released and before.id not in unreleased and not _is_hook(each):
            annotations = {
                helm_names.RELEASE_NAME_ANNOTATION: raw.release,
                helm_names.RELEASE_NAMESPACE_ANNOTATION: raw.namespace,
            }
            each = with_metadata(each, {helm_names.MANAGED_BY_LABEL: helm_names.MANAGED_BY_HELM}, annotations)
        made.append(_marked(each, origin, raw.namespace))
    return tuple(made)


def _in_namespace(obj: Object, namespace: str, served: ServedKinds) -> Object:
    if obj.id.namespace or served_kinds.is_namespaced(obj.id, served) is not True:
        return obj
    metadata = obj.value.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    return Object({**obj.value, "metadata": {**fields, "namespace": namespace}})


def _is_hook(obj: Object) -> bool:
    metadata = obj.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and helm_names.HOOK_ANNOTATION in annotations


def _marked(obj: Object, origin: Origin, namespace: str) -> Object:
    match origin.form:
        case SourceForm.KUSTOMIZATION:
            group = flux_names.KUSTOMIZE_GROUP
            return with_metadata(obj, _owner(group, origin), {})
        case SourceForm.HELM_RELEASE:
            return with_metadata(obj, _owner(flux_names.HELM_GROUP, origin), {})
        case SourceForm.APPLICATION:
            return with_metadata(
                obj, {}, {argocd_names.TRACKING_ID_ANNOTATION: _tracking_id(origin.name, obj.id, namespace)}
            )
        case _:
            return obj


def _owner(group: str, origin: Origin) -> dict[str, Any]:
    return {f"{group}/name": origin.name, f"{group}/namespace": origin.namespace}


def _tracking_id(app: str, id: ObjectId, namespace: str) -> str:
    """How Argo CD names an object of an Application; also one in no namespace has that of the destination."""
    return f"{app}:{id.group}/{id.kind}:{id.namespace or namespace}/{id.name}"
