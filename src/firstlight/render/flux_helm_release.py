"""HelmReleases of Flux: the chart, the values in Flux's order, its post-renderers, and what helm-controller adds."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.model import flux_names
from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource, Values
from firstlight.render import chart_files, chart_values, flux_kustomization, helm_template
from firstlight.render.chart_files import ChartFiles
from firstlight.render.helm_template import ChartRelease
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.rendered_objects import RawObjects
from firstlight.render.renderer_programs import RenderTools
from firstlight.render.served_kinds import TemplateFacts
from firstlight.repo.flux.flux_objects import entries, mapping, text

_DIGITS = 12
"""Of the digest, in the version of a chart from an OCIRepository."""


async def render(
    origin: Origin, chart: ChartSource, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts
) -> RawObjects:
    """The objects of a HelmRelease.

    Raises:
        errors.FirstlightError: The chart cannot be had, or Helm or kustomize make nothing of it.
    """
    spec = mapping(origin.definition.get("spec"))
    release, diagnostics = await prepare(origin, chart, questions, facts)
    templated = await helm_template.template(release, questions, tools)
    templated = await helm_template.post_rendered(
        templated, chart.post_renderers, tools, with_hooks=spec.get("postRenderStrategy") != "nohooks"
    )
    crds, objects, said = templated.objects(origin.place)
    common = mapping(spec.get("commonMetadata"))
    labels, annotations = mapping(common.get("labels")), mapping(common.get("annotations"))
    others = [each for each in crds if not each.is_crd]
    if others:
        message = (
            f"helm-controller ignores {others[0].id.kind} {others[0].id.name}, which is in the chart's directory crds"
        )
        said.append(Diagnostic.warning("helm-crds-directory-ignored", message, at=origin.place))
    return RawObjects(
        objects=(
            *(each for each in crds if each.is_crd),
            *(flux_kustomization.with_metadata(each, labels, annotations) for each in objects),
        ),
        diagnostics=(*diagnostics, *said),
        namespace=release.namespace,
        release=release.name,
        unreleased=tuple(each.id for each in crds if each.is_crd),
    )


async def prepare(
    origin: Origin, chart: ChartSource, questions: RenderQuestions, facts: TemplateFacts
) -> tuple[ChartRelease, tuple[Diagnostic, ...]]:
    """What Helm is given for a HelmRelease, and what there is to say about it.

    Raises:
        errors.FirstlightError: The chart cannot be had.
    """
    spec = mapping(origin.definition.get("spec"))
    loaded, diagnostics = await _chart(spec, chart, questions, origin)
    given = await chart_values.gather(in_order(chart.values, spec), questions, is_flux=True)
    whole, wrong = chart_values.merged(given)
    install = mapping(spec.get("install"))
    release = ChartRelease(
        chart=loaded,
        name=chart.release or origin.name,
        namespace=chart.namespace or origin.namespace,
        place=origin.place,
        values=whole,
        kube_version=facts.kube_version,
        include_crds=install.get("crds") != "Skip" and install.get("skipCRDs") is not True,
        no_hooks=install.get("disableHooks") is True,
        skip_schema_validation=install.get("disableSchemaValidation") is True,
    )
    return release, (*diagnostics, *given.diagnostics, *wrong)


def in_order(given: Sequence[Values], spec: Mapping[str, Any]) -> list[Values]:
    """Values in the order in which the HelmRelease names them: a reference may win over a single value before it."""
    listed = [
        (
            f"{text(each.get('kind'))}/",
            f"/{text(each.get('name'))}",
            text(each.get("targetPath")),
            text(each.get("valuesKey")),
        )
        for each in map(mapping, entries(spec.get("valuesFrom")))
    ]

    def place(value: Values) -> int:
        for number, (kind, name, target, key) in enumerate(listed):
            is_same = value.reference.startswith(kind) and value.reference.endswith(name) and value.target == target
            if is_same and value.key == (key or chart_values.DEFAULT_KEY):
                return number
        return len(listed)

    return sorted(given, key=place)


async def _chart(
    spec: Mapping[str, Any], chart: ChartSource, questions: RenderQuestions, origin: Origin
) -> tuple[ChartFiles, list[Diagnostic]]:
    template = mapping(mapping(spec.get("chart")).get("spec"))
    kind = text(mapping(template.get("sourceRef")).get("kind"))
    if kind == flux_names.BUCKET:
        raise errors.Refused("the chart is in a Bucket, which is not fetched from")
    is_git = True if kind == flux_names.GIT_REPOSITORY else False if kind == flux_names.HELM_REPOSITORY else None
    loaded = await chart_files.load(chart, questions, is_git=is_git)
    diagnostics = []
    if text(mapping(spec.get("chartRef")).get("kind")) == flux_names.OCI_REPOSITORY and loaded.stored is not None:
        digest = loaded.stored.digest.partition(":")[2]
        loaded = chart_files.with_version(loaded, digest[:_DIGITS])
    if template.get("reconcileStrategy") == "Revision" and not chart.repository:
        message = "the version of the chart ends with the commit in the cluster, which is not known before it is pushed"
        diagnostics.append(Diagnostic.unknown("helm-chart-version-suffix", message, at=origin.place))
    names = [text(each) for each in entries(template.get("valuesFiles"))]
    if names:
        contents = {each: _values_file(each, chart, loaded, questions) for each in names}
        loaded = chart_files.with_values(
            loaded, contents, ignore_missing=template.get("ignoreMissingValuesFiles") is True
        )
        if chart.repository and not is_git:
            message = "the version of the chart ends with a number in the cluster, since valuesFiles change the chart"
            diagnostics.append(Diagnostic.unknown("helm-chart-version-suffix", message, at=origin.place))
    return loaded, diagnostics


def _values_file(name: str, chart: ChartSource, loaded: ChartFiles, questions: RenderQuestions) -> bytes | None:
    """A file that is to become the chart's own values: in the chart, or of the repo that the chart is in."""
    path = posixpath.normpath(name)
    if not chart.repository:
        return questions.file(path)
    return loaded.files.get(path.removeprefix(f"{chart.name.strip('/')}/"))
