"""Applications of Argo CD: each of their sources as the repo server makes manifests of it, and all of them together."""

import dataclasses
from collections.abc import Iterator, Sequence

from firstlight.model.component import ObjectId, Origin
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object
from firstlight.model.source import Chart, Directory, Remote, Source, Sources, Unresolved
from firstlight.render import chart_files, elsewhere, kustomization_changes, kustomizing, manifests, releasing, values
from firstlight.render.assembling import Rules
from firstlight.render.facts import Facts
from firstlight.render.kustomizing import Wish
from firstlight.render.questions import Questions
from firstlight.render.raw import Raw
from firstlight.render.releasing import Release
from firstlight.render.tools import Tools
from firstlight.repo.argocd import contents, source_spec, urls
from firstlight.repo.argocd.contents import Tool
from firstlight.repo.argocd.definition import Definition, items, mapping, text
from firstlight.repo.argocd.source_spec import SourceSpec
from firstlight.repo.work_tree import YAML, join


@dataclasses.dataclass(frozen=True)
class _Work:
    questions: Questions
    tools: Tools
    facts: Facts
    origin: Origin


async def render(origin: Origin, questions: Questions, tools: Tools, facts: Facts) -> Raw:
    """What an Application deploys.

    Raises:
        errors.FirstlightError: A source cannot be had, or Helm or kustomize make nothing of it.
    """
    app = Definition(origin.definition, origin.place)
    sources = origin.source.each if isinstance(origin.source, Sources) else (origin.source,)
    work = _Work(questions, tools, facts, origin)
    parts = [await _part(spec, source, work) for spec, source in aligned(app, sources)]
    namespace = text(mapping(app.spec.get("destination")).get("namespace"))
    objects, repeated = later_ones([each for part in parts for each in part.objects], origin, namespace)
    remarks = (*(each for part in parts for each in part.remarks), *repeated)
    return Raw(tuple(objects), remarks, namespace)


def aligned(app: Definition, sources: Sequence[Source]) -> Iterator[tuple[SourceSpec, Source]]:
    """The sources of an Application as they are written, each with what the reader made of it.

    The reader lists what charts and kustomizations bring behind them; that is rendered with them and left out here.
    """
    at = 0
    for spec in source_spec.of(app):
        if spec.ref and not spec.chart and not spec.written_path:
            continue  # it only lends files to others
        found = next((n for n in range(at, len(sources)) if _fits(spec, sources[n])), None)
        if found is None:
            yield spec, Unresolved(text=spec.url, reason="nothing is known of its source")
        else:
            yield spec, sources[found]
            at = found + 1


def later_ones(objects: Sequence[Object], origin: Origin, namespace: str) -> tuple[list[Object], list[Remark]]:
    """Objects without those that come again, of which the last one counts; Argo CD warns of them, too."""
    found: dict[ObjectId, Object] = {}
    repeated: dict[ObjectId, None] = {}
    for each in objects:
        id = dataclasses.replace(each.id, namespace=each.id.namespace or namespace)
        if id in found:
            repeated[id] = None
        found[id] = each
    remarks = [
        Remark(origin.place, Grade.WARNING, f"{each.kind} {each.name} comes from several sources; the last one counts")
        for each in repeated
    ]
    return list(found.values()), remarks


def _fits(spec: SourceSpec, source: Source) -> bool:
    match source:
        case Unresolved():
            return True
        case Chart():
            local = not source.repository and join(".", source.name) == spec.path
            return source.name == spec.chart if spec.chart else local or source.name == (spec.written_path or ".")
        case Directory():
            return not spec.chart and source.path == spec.path
        case Remote():
            is_same = urls.normalised(source.url) == urls.normalised(spec.url)
            return not spec.chart and is_same and source.path == spec.written_path
        case _:
            return False


async def _part(spec: SourceSpec, source: Source, work: _Work) -> Raw:
    match source:
        case Chart():
            return await _chart(spec, source, work, is_git=not spec.chart)
        case Directory():
            return await _directory(spec, source.path, work)
        case Remote():
            async with elsewhere.repository(source, work.questions) as questions:
                return await _directory(spec, spec.path or ".", dataclasses.replace(work, questions=questions))
        case _:
            reason = source.reason if isinstance(source, Unresolved) else "its source is not known"
            return Raw(remarks=(Remark(work.origin.place, Grade.UNKNOWN, f"it cannot be rendered: {reason}"),))


async def _directory(spec: SourceSpec, path: str, work: _Work) -> Raw:
    """A directory of this repo, or of another one, by the tool that fits."""
    tree, origin = work.questions.tree, work.origin
    for name in (".argocd-source.yaml", f".argocd-source-{spec.app.name}.yaml"):
        work.questions.file(join(path, name) or "")
    spec, said = contents.overridden(spec, path, tree)
    tool = contents.tool(spec, path, tree)
    if isinstance(tool, Remark):
        return Raw(remarks=(*said, tool))
    if tool == Tool.KUSTOMIZE:
        made = await _kustomized(spec, path, work)
    elif tool == Tool.HELM:
        namespace = text(mapping(spec.app.spec.get("destination")).get("namespace"))
        chart = next((each for each in _charts(origin.source) if join(".", each.name) == path), None)
        made = await _chart(spec, chart or Chart(name=path, release=spec.app.name, namespace=namespace), work)
    elif tool == Tool.DIRECTORY:
        made = _plain(spec, path, work)
    else:
        message = "it cannot be rendered: a plugin makes its manifests, and it is not run"
        made = Raw(remarks=(Remark(origin.place, Grade.UNKNOWN, message),))
    return dataclasses.replace(made, remarks=(*said, *made.remarks))


def _charts(source: Source | Sources) -> list[Chart]:
    each = source.each if isinstance(source, Sources) else (source,)
    return [one for one in each if isinstance(one, Chart) and not one.repository]


async def _chart(spec: SourceSpec, chart: Chart, work: _Work, *, is_git: bool | None = None) -> Raw:
    helm, place = spec.helm, work.origin.place
    loaded = await chart_files.load(chart, work.questions, is_git=is_git)
    own = loaded.files if chart.repository else None
    given = await values.gather(chart.values, work.questions, chart=own)
    whole, wrong = values.merged(given)
    namespace = text(helm.get("namespace")) or chart.namespace
    listed = [text(each) for each in items(helm.get("apiVersions"))]
    release = Release(
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
    templated = await releasing.template(release, work.questions, work.tools)
    crds, objects, said = templated.objects(place)
    return Raw((*crds, *objects), (*given.remarks, *wrong, *said))


async def _kustomized(spec: SourceSpec, path: str, work: _Work) -> Raw:
    options = mapping(spec.value.get("kustomize"))
    components = [text(each) for each in items(options.get("components"))]
    if options.get("ignoreMissingComponents") is True:
        components = [each for each in components if work.questions.tree.is_dir(join(path, each) or "")]
    change = kustomization_changes.by_argocd(options, lambda written: spec.substituted(written)[0], components)
    wish = Wish(
        directory=path,
        place=work.origin.place,
        change=change if any(options.values()) else kustomization_changes.none,
        components=tuple(components),
        rules=Rules(allow_helm=True),
        kube_version=text(options.get("kubeVersion")) or work.facts.kube_version,
    )
    built, said = await kustomizing.build(wish, work.questions, work.tools)
    objects, wrong = manifests.parse(built, work.origin.place, what="what kustomize made")
    return Raw(tuple(objects), (*said, *wrong))


def _plain(spec: SourceSpec, path: str, work: _Work) -> Raw:
    """The files of a directory as they are, chosen as Argo CD chooses them."""
    tree = work.questions.tree
    names = [each for each in work.questions.names(path) if each.endswith((*YAML, ".json"))]
    for name in names:
        work.questions.file(name)
    before = set(tree.remarks)
    found = contents.plain(spec, path, tree)
    # What is wrong with a file is told when it is read first, perhaps for another Application.
    listed = {tree.real(each) for each in names}
    broken = [each for each in tree.remarks if each.place.path in listed or each not in before]
    wrong = [each for each in broken if each.grade == Grade.ERROR]
    return Raw(tuple(Object(each.value) for each in found.definitions), (*found.remarks, *wrong))
