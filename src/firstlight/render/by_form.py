"""One origin rendered in the way of its form: what Flux, Argo CD, Helm, kubectl or Talos would make of it."""

from firstlight.model.component import Form, Origin, Phase
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object
from firstlight.model.source import Chart, Directory, Embedded, Remote, Source, Sources, Unresolved
from firstlight.render import (
    application,
    chart_files,
    elsewhere,
    flux_helm_release,
    flux_kustomization,
    kustomizing,
    manifests,
    raw,
    releasing,
    values,
)
from firstlight.render.assembling import Rules
from firstlight.render.facts import Facts
from firstlight.render.kustomizing import Wish
from firstlight.render.questions import Questions
from firstlight.render.raw import Raw
from firstlight.render.releasing import Release
from firstlight.render.tools import Tools
from firstlight.repo.talos import inline
from firstlight.repo.work_tree import YAML

_MANIFESTS = (*YAML, ".json")
_DEFAULT = "default"
"""The namespace that kubectl takes where neither the object nor the command names one."""


async def render(origin: Origin, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    """What an origin deploys.

    Raises:
        errors.FirstlightError: It cannot be rendered.
    """
    source = origin.source
    if origin.form == Form.APPLICATION and origin.definition:
        return await application.render(origin, questions, tools, facts)
    if origin.form in (Form.FLUX_INSTANCE, Form.FLUX_COMMAND):
        return _unknown(origin, "Flux is installed by its own program, which makes the manifests")
    if isinstance(source, Sources):
        return raw.joined(*[await _source(origin, each, questions, tools, facts) for each in source.each])
    return await _source(origin, source, questions, tools, facts)


async def _source(origin: Origin, source: Source, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    match source:
        case Chart() if origin.form == Form.HELM_RELEASE:
            return await flux_helm_release.render(origin, source, questions, tools, facts)
        case Chart():
            return await _chart(origin, source, questions, tools, facts)
        case Directory() if origin.form == Form.KUSTOMIZATION:
            return await flux_kustomization.render(origin, source, questions, tools)
        case Directory() if origin.form == Form.FLUX_COMPONENTS and origin.maker:
            return await flux_kustomization.part(origin, questions, tools)
        case Directory():
            return await _directory(origin, source, questions, tools, facts)
        case Remote():
            return await _remote(origin, source, questions, tools, facts)
        case Embedded():
            return _embedded(origin, source, questions)
        case Unresolved():
            return _unknown(origin, source.reason)


async def _chart(origin: Origin, chart: Chart, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    """A release of helmfile or of a helm command."""
    release, remarks = await _prepare(origin, chart, questions, facts)
    templated = await releasing.template(release, questions, tools)
    templated = await releasing.post_rendered(templated, chart.post_renderers, tools)
    crds, objects, said = templated.objects(origin.place)
    found = [*crds, *objects]
    if origin.phase == Phase.CRDS:
        found = [each for each in found if each.is_crd]  # what is installed before anything else is the CRDs alone
    unreleased = tuple(each.id for each in crds)
    return Raw(tuple(found), (*remarks, *said), release.namespace, release.name, unreleased)


async def prepare(
    origin: Origin, chart: Chart, questions: Questions, facts: Facts
) -> tuple[Release, tuple[Remark, ...]]:
    """What Helm is given for a chart of an origin: the same that it is rendered from.

    Raises:
        errors.FirstlightError: The chart cannot be had.
    """
    if origin.form == Form.HELM_RELEASE:
        return await flux_helm_release.prepare(origin, chart, questions, facts)
    return await _prepare(origin, chart, questions, facts)


async def _prepare(
    origin: Origin, chart: Chart, questions: Questions, facts: Facts
) -> tuple[Release, tuple[Remark, ...]]:
    loaded = await chart_files.load(chart, questions)
    given = await values.gather(chart.values, questions, chart=loaded.files if chart.repository else None)
    whole, wrong = values.merged(given)
    release = Release(
        chart=loaded,
        name=chart.release or origin.name,
        namespace=chart.namespace or _DEFAULT,
        place=origin.place,
        values=whole,
        kube_version=facts.kube_version,
    )
    return release, (*given.remarks, *wrong)


async def _directory(origin: Origin, directory: Directory, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    """A directory or file that kubectl, kustomize or Talos is given."""
    if not directory.kustomize:
        return _files(origin, directory, questions)
    wish = Wish(
        directory=directory.path,
        place=origin.place,
        rules=Rules(allow_helm=True),
        kube_version=facts.kube_version,
    )
    built, said = await kustomizing.build(wish, questions, tools)
    objects, wrong = manifests.parse(built, origin.place, what="what kustomize made")
    return Raw(tuple(objects), (*said, *wrong), _DEFAULT)


def _files(origin: Origin, directory: Directory, questions: Questions) -> Raw:
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
            return Raw(remarks=(Remark(origin.place, Grade.ERROR, message),))
    objects: list[Object] = []
    remarks: list[Remark] = []
    for name in names:
        text = questions.content_of(name).decode("utf-8-sig", errors="replace")
        found, wrong = manifests.parse(text, origin.place, what=name)
        objects += found
        remarks += wrong
    return Raw(tuple(objects), tuple(remarks), _DEFAULT)


async def _remote(origin: Origin, remote: Remote, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    if remote.url.startswith("oci://"):
        return _unknown(origin, f"{remote.url} is an OCI artifact, and only charts are fetched from registries")
    if elsewhere.is_file(remote):
        return await elsewhere.file(remote, questions, origin.place)
    async with elsewhere.repository(remote, questions) as inner:
        path = remote.path.strip("/").removeprefix("./") or "."
        is_flux = origin.form == Form.KUSTOMIZATION
        directory = Directory(path=path)
        if is_flux:
            return await flux_kustomization.render(origin, directory, inner, tools)
        return await _directory(origin, directory, inner, tools, facts)


def _embedded(origin: Origin, source: Embedded, questions: Questions) -> Raw:
    """Objects inside another file, or those that a command makes of nothing."""
    questions.file(source.place.path)
    if source.steps:
        found = tuple(Object(each.value) for each in inline.objects(questions.tree, origin))
        if not found:
            message = f"no objects are found in {source.place}"
            return Raw(remarks=(Remark(origin.place, Grade.ERROR, message),))
        return Raw(found, namespace=_DEFAULT)
    if origin.objects and all(each.kind == "Namespace" and not each.group for each in origin.objects):
        made = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.name}} for each in origin.objects)
        return Raw(tuple(Object(each) for each in made))
    return _unknown(origin, "its manifests stand in a script, which is not run")


def _unknown(origin: Origin, reason: str) -> Raw:
    return Raw(remarks=(Remark(origin.place, Grade.UNKNOWN, f"it cannot be rendered: {reason}"),))
