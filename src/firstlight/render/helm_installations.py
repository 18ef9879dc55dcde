"""What Helm is to install of a component, as it is rendered: the same chart, pinned in a file, and the same values.

HelmReleases, releases of helmfile and helm commands become Helm releases; what Argo CD applies itself does not, and
neither does what is no chart. Helm has no postRenderers and no commonMetadata of Flux: a release that has them is
installed from a chart of the same name and version that holds what was rendered, so that nothing of it is missing.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients.helm import helm_arguments
from firstlight.model import helm_chart
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.source import ChartSource, SeveralSources
from firstlight.model.work import Installation
from firstlight.render import cache_files, chart_packages, renderer_programs
from firstlight.render.chart_files import ChartFiles
from firstlight.render.component_renderer import Renderer, origins
from firstlight.render.helm_template import ChartRelease
from firstlight.render.rendered_objects import RawObjects
from firstlight.repo.flux.flux_objects import mapping, text

FoundInstallations = tuple[tuple[Installation, ...], tuple[Object, ...], tuple[Diagnostic, ...]]

_BY_HELM = (SourceForm.HELM_RELEASE, SourceForm.HELMFILE, SourceForm.HELM_COMMAND, SourceForm.TOFU)
_TIMEOUT = 300.0
_DURATION = re.compile(
    r"(?:(?P<h>[0-9]+(?:\.[0-9]+)?)h)?(?:(?P<m>[0-9]+(?:\.[0-9]+)?)m)?(?:(?P<s>[0-9]+(?:\.[0-9]+)?)s)?"
)
_STATIC = "rendered.yaml"


async def installations(renderer: Renderer, component: Component, side: Side) -> FoundInstallations:
    """The releases of a component, the objects that no release brings, and what there is to say.

    CRDs in the directories ``crds`` of charts are in neither: they come before everything.

    Raises:
        errors.ToolError: A program is missing.
    """
    releases: list[Installation] = []
    beside: list[Object] = []
    diagnostics: list[Diagnostic] = []
    for origin in origins(component, side):
        charts = _charts(origin)
        raw, objects = await renderer.objects(origin)
        if not charts:
            beside += objects
            continue
        if len(charts) < len(_sources(origin)):
            message = "charts and manifests stand together in it, and only the charts are installed"
            diagnostics.append(
                Diagnostic.error(
                    "helm-chart-beside-manifests",
                    message,
                    at=origin.place,
                    fix="give the manifests a component of their own",
                )
            )
        for chart in charts:
            try:
                made, said = await _one(renderer, origin, chart, raw)
            except errors.ToolError:
                raise
            except errors.FirstlightError as error:
                diagnostics.append(renderer_programs.failure_diagnostic(error, origin.place, (renderer.platform.root,)))
                continue
            releases.append(made)
            diagnostics += said
    return tuple(releases), tuple(beside), tuple(dict.fromkeys(diagnostics))


def _sources(origin: Origin) -> tuple[object, ...]:
    return origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)


def _charts(origin: Origin) -> list[ChartSource]:
    if origin.form not in _BY_HELM or origin.phase == Phase.CRDS:
        return []
    return [each for each in _sources(origin) if isinstance(each, ChartSource)]


async def _one(
    renderer: Renderer, origin: Origin, chart: ChartSource, raw: RawObjects
) -> tuple[Installation, list[Diagnostic]]:
    release, said = await renderer.release(origin, chart)
    spec = mapping(origin.definition.get("spec"))
    install = mapping(spec.get("install"))
    diagnostics = list(said)
    files, is_packed = release.chart.files, release.chart.is_packed
    if chart.post_renderers or mapping(spec.get("commonMetadata")):
        if not raw.is_whole:
            raise errors.Refused("it cannot be rendered, and Helm itself runs no postRenderers")
        if any(each.id.kind == "Secret" and not each.id.group for each in raw.objects):
            raise errors.Refused(
                "it makes Secrets and has postRenderers or commonMetadata, which Helm does not run: what was rendered "
                "would have to be kept on a disk",
                hint="let External Secrets or SOPS make the Secrets, or leave out the postRenderers",
            )
        files, is_packed = _static(release.chart, raw), False
    if install.get("disableOpenAPIValidation") is True:
        message = "disableOpenAPIValidation has no effect here: the API server itself validates what is applied"
        diagnostics.append(Diagnostic.warning("helm-option-without-effect", message, at=origin.place))
    storage = chart.storage_namespace or release.namespace
    if storage != release.namespace:
        message = (
            f"Helm keeps the history where the objects go, in {release.namespace}, and the HelmRelease in {storage}: "
            "helm-controller will install over it"
        )
        diagnostics.append(
            Diagnostic.warning(
                "helm-storage-namespace-differs",
                message,
                at=origin.place,
                fix="leave out storageNamespace and targetNamespace",
            )
        )
    options = helm_chart.ReleaseOptions(
        server_side=install.get("serverSideApply") is not False,
        take_ownership=True,
        skip_crds=True,
        no_hooks=release.no_hooks,
        timeout=_seconds(install.get("timeout") or spec.get("timeout")),
        skip_schema_validation=release.skip_schema_validation,
    )
    digest = cache_files.files_digest(files)
    folder = renderer.store.home / "installed" / digest
    return Installation(
        name=release.name,
        namespace=release.namespace,
        chart=helm_chart.LocalChart(_placed(release, files, folder, is_packed=is_packed)),
        version=release.chart.version,
        values=Secret(msgspec.json.encode(release.values)),
        digest=digest,
        options=options,
        hooks_disabled=release.no_hooks,
    ), diagnostics


def _placed(release: ChartRelease, files: Mapping[str, bytes], folder: Path, *, is_packed: bool) -> Path:
    """A chart where it stays: an archive as it was packed, or a directory, since only of that Helm leaves out files."""
    name = helm_arguments.chart(release.chart.name or "chart")
    if is_packed:
        place = folder / f"{name}.tgz"
        _keep(place, chart_packages.pack_chart(files, name))
        return place
    place = folder / name
    for path, content in files.items():
        if not chart_packages.is_inside(path):
            raise errors.Refused(f"{path[:200]!r} is no path of a file")
        _keep(place / path, content)
    return place


def _keep(place: Path, content: bytes) -> None:
    if cache_files.read_kept(place) != content:
        cache_files.write_kept(place, content, durable=True)


def _static(chart: ChartFiles, raw: RawObjects) -> dict[str, bytes]:
    """A chart that makes what was rendered, whatever it is given."""
    unreleased = set(raw.unreleased)
    documents = [msgspec.json.encode(each.value) for each in raw.objects if each.id not in unreleased]
    return {
        "Chart.yaml": chart.files.get("Chart.yaml", b""),
        _STATIC: b"\n---\n".join(documents) + b"\n",
        "templates/rendered.yaml": f'{{{{ .Files.Get "{_STATIC}" }}}}\n'.encode(),
    }


def _seconds(written: Any) -> float:
    """A duration as Go writes it; Flux's default where there is none."""
    match = _DURATION.fullmatch(text(written)) if written else None
    if match is None:
        return _TIMEOUT
    seconds = sum(float(match[unit] or 0) * size for unit, size in (("h", 3600), ("m", 60), ("s", 1)))
    return seconds or _TIMEOUT
