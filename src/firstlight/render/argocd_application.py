"""Applications of Argo CD: each of their sources as the repo server makes manifests of it, and all of them together."""

import dataclasses
from collections.abc import Iterator, Sequence

from firstlight.model.component import ObjectId, Origin
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.rendition import Object
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, SeveralSources, Source, Unresolved
from firstlight.render import chart_files, chart_values, helm_template, kustomize_build, rendered_objects
from firstlight.render.helm_template import ChartRelease
from firstlight.render.kustomize_build import KustomizeRequest
from firstlight.render.kustomize_inputs import KustomizeRules
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.rendered_objects import RawObjects
from firstlight.render.renderer_programs import RenderTools
from firstlight.render.served_kinds import TemplateFacts
from firstlight.repo.argocd import application_spec, directory_contents, git_urls
from firstlight.repo.argocd.application_spec import SourceSpec
from firstlight.repo.argocd.definitions import Definition, items, mapping, text
from firstlight.repo.argocd.directory_contents import SourceTool
from firstlight.repo.work_tree import YAML, join


@dataclasses.dataclass(frozen=True)
class _Work:
    questions: RenderQuestions
    tools: RenderTools
    facts: TemplateFacts
    origin: Origin


async def render(origin: Origin, questions: RenderQuestions, tools: RenderTools, facts: TemplateFacts) -> RawObjects:
    """What an Application deploys.

    Raises:
        errors.FirstlightError: A source cannot be had, or Helm or kustomize make nothing of it.
    """
    app = Definition(origin.definition, origin.place)
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    work = _Work(questions, tools, facts, origin)
    parts = [await _part(spec, source, work) for spec, source in aligned(app, sources)]
    namespace = text(mapping(app.spec.get("destination")).get("namespace"))
    objects, repeated = later_ones([each for part in parts for each in part.objects], origin, namespace)
    diagnostics = (*(each for part in parts for each in part.diagnostics), *repeated)
    return RawObjects(tuple(objects), diagnostics, namespace)


def aligned(app: Definition, sources: Sequence[Source]) -> Iterator[tuple[SourceSpec, Source]]:
    """The sources of an Application as they are written, each with what the reader made of it.

    The reader lists what charts and kustomizations bring behind them; that is rendered with them and left out here.
    """
    at = 0
    for spec in application_spec.source_specs(app):
        if spec.ref and not spec.chart and not spec.written_path:
            continue  # it only lends files to others
        found = next((n for n in range(at, len(sources)) if _fits(spec, sources[n])), None)
        if found is None:
            yield spec, Unresolved(text=spec.url, reason="nothing is known of its source")
        else:
            yield spec, sources[found]
            at = found + 1


def later_ones(objects: Sequence[Object], origin: Origin, namespace: str) -> tuple[list[Object], list[Diagnostic]]:
    """Objects without those that come again, of which the last one counts; Argo CD warns of them, too."""
    found: dict[ObjectId, Object] = {}
    repeated: dict[ObjectId, None] = {}
    for each in objects:
        id = dataclasses.replace(each.id, namespace=each.id.namespace or namespace)
        if id in found:
            repeated[id] = None
        found[id] = each
    diagnostics = [
        Diagnostic.warning(
            "argocd-object-repeated",
            f"{each.kind} {each.name} comes from several sources; the last one counts",
            at=origin.place,
        )
        for each in repeated
    ]
    return list(found.values()), diagnostics


def _fits(spec: SourceSpec, source: Source) -> bool:
    match source:
        case Unresolved():
            return True
        case ChartSource():
            local = not source.repository and join(".", source.name) == spec.path
            return source.name == spec.chart if spec.chart else local or source.name == (spec.written_path or ".")
        case DirectorySource():
            return not spec.chart and source.path == spec.path
        case RemoteSource():
            is_same = git_urls.normalised(source.url) == git_urls.normalised(spec.url)
            return not spec.chart and is_same and source.path == spec.written_path
        case _:
            return False


async def _part(spec: SourceSpec, source: Source, work: _Work) -> RawObjects:
    match source:
        case ChartSource():
            return await _chart(spec, source, work, is_git=not spec.chart)
        case DirectorySource():
            return await _directory(spec, source.path, work)
        case RemoteSource():
            async with rendered_objects.remote_repository(source, work.questions) as questions:
                return await _directory(spec, spec.path or ".", dataclasses.replace(work, questions=questions))
        case _:
            reason = source.reason if isinstance(source, Unresolved) else "its source is not known"
            return RawObjects(
                diagnostics=(
                    Diagnostic.unknown("render-not-possible", f"it cannot be rendered: {reason}", at=work.origin.place),
                )
            )


async def _directory(spec: SourceSpec, path: str, work: _Work) -> RawObjects:
    """A directory of this repo, or of another one, by the tool that fits."""
    tree, origin = work.questions.tree, work.origin
    for name in (".argocd-source.yaml", f".argocd-source-{spec.app.name}.yaml"):
        work.questions.file(join(path, name) or "")
    spec, said = directory_contents.overridden(spec, path, tree)
    tool = directory_contents.tool(spec, path, tree)
    if isinstance(tool, Diagnostic):
        return RawObjects(diagnostics=(*said, tool))
    if tool == SourceTool.KUSTOMIZE:
        made = await _kustomized(spec, path, work)
    elif tool == SourceTool.HELM:
        namespace = text(mapping(spec.app.spec.get("destination")).get("namespace"))
        chart = next((each for each in _charts(origin.source) if join(".", each.name) == path), None)
        made = await _chart(spec, chart or ChartSource(name=path, release=spec.app.name, namespace=namespace), work)
    elif tool == SourceTool.DIRECTORY:
        made = _plain(spec, path, work)
    else:
        message = "it cannot be rendered: a plugin makes its manifests, and it is not run"
        made = RawObjects(diagnostics=(Diagnostic.unknown("render-not-possible", message, at=origin.place),))
    return dataclasses.replace(made, diagnostics=(*said, *made.diagnostics))


def _charts(source: Source | SeveralSources) -> list[ChartSource]:
    each = source.each if isinstance(source, SeveralSources) else (source,)
    return [one for one in each if isinstance(one, ChartSource) and not one.repository]


async def _chart(spec: SourceSpec, chart: ChartSource, work: _Work, *, is_git: bool | None = None) -> RawObjects:
    helm, place = spec.helm, work.origin.place
    loaded = await chart_files.load(chart, work.questions, is_git=is_git)
    own = loaded.files if chart.repository else None
    given = await chart_values.gather(chart.values, work.questions, chart=own)
    whole, wrong = chart_values.merged(given)
    namespace = text(helm.get("namespace")) or chart.namespace
    listed = [text(each) for each in items(helm.get("apiVersions"))]
    release = ChartRelease(
        chart=loaded,
        name=text(helm.get("releaseName")) or chart.release or work.origin.name,
        namespace=namespace,
        place=place,
        values=whole,
        kube_version=text(helm.get("kubeVersion")) or work.facts.kube_version,
        api_versions=listed or None,
        include_crds=helm.get("skipCrds") is not True,
        skip_schema_validation=helm.get("skipSchemaValidation") is True,
    )
    templated = await helm_template.template(release, work.questions, work.tools)
    crds, objects, said = templated.objects(place)
    return RawObjects((*crds, *objects), (*given.diagnostics, *wrong, *said))


async def _kustomized(spec: SourceSpec, path: str, work: _Work) -> RawObjects:
    options = mapping(spec.value.get("kustomize"))
    components = [text(each) for each in items(options.get("components"))]
    if options.get("ignoreMissingComponents") is True:
        components = [each for each in components if work.questions.tree.is_dir(join(path, each) or "")]
    change = kustomize_build.by_argocd(options, lambda written: spec.substituted(written)[0], components)
    wish = KustomizeRequest(
        directory=path,
        place=work.origin.place,
        change=change if any(options.values()) else kustomize_build.unchanged,
        components=tuple(components),
        rules=KustomizeRules(allow_helm=True),
        kube_version=text(options.get("kubeVersion")) or work.facts.kube_version,
    )
    built, said = await kustomize_build.build(wish, work.questions, work.tools)
    objects, wrong = rendered_objects.parse_objects(built, work.origin.place, what="what kustomize made")
    return RawObjects(tuple(objects), (*said, *wrong))


def _plain(spec: SourceSpec, path: str, work: _Work) -> RawObjects:
    """The files of a directory as they are, chosen as Argo CD chooses them."""
    tree = work.questions.tree
    names = [each for each in work.questions.names(path) if each.endswith((*YAML, ".json"))]
    for name in names:
        work.questions.file(name)
    before = set(tree.diagnostics)
    found = directory_contents.plain(spec, path, tree)
    # What is wrong with a file is told when it is read first, perhaps for another Application.
    listed = {tree.real(each) for each in names}
    broken = [each for each in tree.diagnostics if each.place.path in listed or each not in before]
    wrong = [each for each in broken if each.severity == Severity.ERROR]
    return RawObjects(tuple(Object(each.value) for each in found.definitions), (*found.diagnostics, *wrong))
