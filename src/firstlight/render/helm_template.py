"""Charts made manifests by Helm, with what comes after it."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from firstlight.clients.helm import helm_arguments
from firstlight.model import helm_chart, helm_names
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.render import chart_packages, private_directory, rendered_objects, served_kinds
from firstlight.render.chart_files import ChartFiles
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.renderer_programs import RenderTools

_SOURCE = re.compile(r"^# Source: (?P<path>\S+)$", re.MULTILINE)
_CRDS = re.compile(r"[^/]+(?:/charts/[^/]+)*/crds/.+")
"""How a diagnostic begins that no value is in doubt of, only what may be there besides."""


class OnlyCrdsNeeded(Exception):
    """Only CRDs are wanted, and the whole rendering needs nobody else: so it may as well be done."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChartRelease:
    """A chart and how it is rendered."""

    chart: ChartFiles
    name: str
    namespace: str
    place: Place
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    kube_version: str = ""
    api_versions: Sequence[str] | None = None
    """None for those that the cluster serves."""
    include_crds: bool = True
    skip_tests: bool = True
    no_hooks: bool = False
    skip_schema_validation: bool = False


@dataclasses.dataclass(frozen=True)
class TemplatedChart:
    """What Helm made: the texts of objects, and those of the chart's directory ``crds`` apart."""

    crds: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    manifests: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()

    def objects(self, place: Place) -> tuple[list[Object], list[Object], list[Diagnostic]]:
        """The CRDs of its own directory, all other objects, and what is wrong with them."""
        crds, wrong = rendered_objects.parse_objects(
            rendered_objects.join_documents(self.crds), place, what="the chart's directory crds"
        )
        others, also = rendered_objects.parse_objects(
            rendered_objects.join_documents(self.manifests), place, what="what helm made"
        )
        return crds, others, [*self.diagnostics, *wrong, *also]


async def template(release: ChartRelease, questions: RenderQuestions, tools: RenderTools) -> TemplatedChart:
    """Render a release.

    Raises:
        NeedsNoMore: Only CRDs are asked for, and it is no shorter way to them.
        errors.FirstlightError: Helm does not render it.
    """
    chart = release.chart
    diagnostics: list[Diagnostic] = []
    if questions.only_crds:
        asks = chart.asks_for_apis and release.api_versions is None
        if not asks and questions.stops:
            raise OnlyCrdsNeeded
        if asks and not chart.may_template_crds:
            return TemplatedChart(crds=chart.crds if release.include_crds else ())
    api_versions = release.api_versions
    if api_versions is None:
        api_versions = ()
        if chart.asks_for_apis:
            served = await questions.served()
            api_versions = (*served_kinds.builtin_api_versions(release.kube_version), *served.api_versions)
            if served.missing:
                some = ", ".join(served.missing[:5])
                message = f"the chart asks what the cluster serves, and what {some} would add to that is not known"
                diagnostics.append(Diagnostic.unknown("helm-apis-unknown", message, at=release.place))
    name = helm_arguments.chart(chart.name or "chart")
    async with tools.turn():
        if chart.is_packed:
            files = {f"{name}.tgz": chart_packages.pack_chart(chart.files, name)}
        else:
            files = {f"{name}/{path}": content for path, content in chart.files.items()}
        with private_directory.create_with_files(files) as root:
            rendered = await tools.helm.template(
                helm_chart.LocalChart(root / (f"{name}.tgz" if chart.is_packed else name)),
                release=release.name,
                namespace=release.namespace or "default",
                values=[Secret(msgspec.json.encode(release.values))],
                include_crds=release.include_crds,
                api_versions=api_versions,
                kube_version=release.kube_version,
                skip_tests=release.skip_tests,
                no_hooks=release.no_hooks,
                skip_schema_validation=release.skip_schema_validation,
            )
    diagnostics += [
        Diagnostic.warning("helm-warning", f"helm: {_line(each)}", at=release.place) for each in rendered.warnings
    ]
    crds, others = _parted(rendered.text)
    return TemplatedChart(tuple(crds), tuple(others), tuple(diagnostics))


async def post_rendered(
    templated: TemplatedChart, renderers: Sequence[Mapping[str, Any]], tools: RenderTools, *, with_hooks: bool = True
) -> TemplatedChart:
    """What Helm made, changed by kustomize as a HelmRelease's postRenderers say.

    Raises:
        errors.FirstlightError: kustomize makes nothing of it.
    """
    for renderer in renderers:
        wished = renderer.get("kustomize")
        if not isinstance(wished, Mapping) or not templated.manifests:
            continue
        apart = [] if with_hooks else [each for each in templated.manifests if helm_names.HOOK_ANNOTATION in each]
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": ["helm-output.yaml"],
            "patches": [_patch(each) for each in _mappings(wished.get("patches"))],
            "images": list(_mappings(wished.get("images"))),
        }
        text = rendered_objects.join_documents(each for each in templated.manifests if each not in apart)
        files = {"kustomization.yaml": msgspec.json.encode(kustomization), "helm-output.yaml": text.encode()}
        async with tools.turn():
            with private_directory.create_with_files(files) as root:
                rendered = await tools.kustomize.build(root, within=root)
        templated = dataclasses.replace(templated, manifests=(*rendered_objects.split_documents(rendered.text), *apart))
    return templated


def _parted(text: str) -> tuple[list[str], list[str]]:
    """Objects of ``crds`` directories and others, told by the comments that Helm writes above them."""
    crds: list[str] = []
    others: list[str] = []
    is_crd = False
    for document in rendered_objects.split_documents(text):
        if source := _SOURCE.search(document):
            is_crd = _CRDS.fullmatch(source["path"]) is not None
        (crds if is_crd else others).append(document)
    return crds, others


def _patch(entry: Mapping[str, Any]) -> dict[str, Any]:
    target = entry.get("target")
    return {"patch": entry.get("patch") or "", **({"target": target} if target else {})}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _line(text: str) -> str:
    return " ".join(text.split())[:400]
