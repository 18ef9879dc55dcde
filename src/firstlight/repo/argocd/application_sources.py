"""What an Application deploys: each of its sources, resolved as far as the repo tells it."""

import dataclasses
import json
from collections.abc import Mapping

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
    Values,
)
from firstlight.repo.argocd import application_spec, application_values, directory_contents, git_urls, local_charts
from firstlight.repo.argocd.application_spec import SourceSpec, has_placeholder
from firstlight.repo.argocd.definitions import Definition, items, mapping, text
from firstlight.repo.argocd.directory_contents import DirectoryContents, SourceTool
from firstlight.repo.argocd.read_scope import ReadScope

HEADS = ("", "HEAD")


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedSources:
    """What came out of the sources of an Application."""

    source: Source | SeveralSources
    version: str = ""
    definitions: tuple[Definition, ...] = ()
    """Objects of this repo that it applies itself."""
    diagnostics: tuple[Diagnostic, ...] = ()
    doubt: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class _One:
    """What came out of one source."""

    sources: tuple[Source, ...]
    definitions: tuple[Definition, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    version: str = ""
    """Of a chart of this repo."""
    doubt: str = ""


def read(app: Definition, scope: ReadScope) -> ResolvedSources:
    """Resolve the sources of an Application."""
    specs = application_spec.source_specs(app)
    refs = {f"${each.ref}": each for each in specs if each.ref}
    made = [_one(each, refs, scope) for each in specs if not _is_only_a_ref(each)]
    sources = [source for each in made for source in each.sources]
    diagnostics = [diagnostic for each in made for diagnostic in each.diagnostics]
    if app.spec.get("source") and items(app.spec.get("sources")):
        diagnostics.append(
            Diagnostic.warning(
                "argocd-source-ignored", "source is not read, since there are sources", at=app.at("spec", "source")
            )
        )
    if not sources:
        reason = "the Application has no source" if not specs else "its sources only lend files"
        diagnostics.append(Diagnostic.error("argocd-source-missing", reason, at=app.at("spec")))
        sources = [Unresolved(text="", reason=reason)]
    return ResolvedSources(
        source=sources[0] if len(sources) == 1 else SeveralSources(each=tuple(sources)),
        version=_version(sources) or next((each.version for each in made if each.version), ""),
        definitions=made[0].definitions if len(made) == 1 else tuple(one for each in made for one in each.definitions),
        diagnostics=tuple(diagnostics),
        doubt=next((each.doubt for each in made if each.doubt), ""),
    )


def _is_only_a_ref(spec: SourceSpec) -> bool:
    return bool(spec.ref) and not spec.chart and not spec.written_path


def _version(sources: list[Source]) -> str:
    """What people call the version: that of the first chart that comes from elsewhere, else a revision."""
    charts = [each.version for each in sources if isinstance(each, ChartSource) and each.repository]
    remotes = [each.revision for each in sources if isinstance(each, RemoteSource) and each.revision not in HEADS]
    return next((each for each in [*charts, *remotes] if each and not has_placeholder(each)), "")


def _one(spec: SourceSpec, refs: Mapping[str, SourceSpec], scope: ReadScope) -> _One:
    for field in ("repoURL", "chart", "path"):
        written = text(spec.value.get(field))
        if has_placeholder(written):
            unresolved = Unresolved(text=written, reason=f"{field} is a template that cannot be filled in")
            return _One((unresolved,))
    if not spec.url:
        return _wrong(spec, "argocd-source-without-repo", "there is no repoURL")
    if spec.value.get("plugin") is not None and not _runs_kustomize(spec, scope):
        return _plugin(spec)
    if spec.chart:
        given = application_values.read(spec, refs, base=None, scope=scope)
        return _One((_chart(spec, given.values, scope),), diagnostics=given.diagnostics)
    if not scope.own.has(spec.url):
        return _elsewhere(spec, refs, scope)
    path = spec.path
    if path is None or not scope.tree.is_dir(path):
        where = "is outside of the repo" if path is None else "is no directory of this repo"
        return _wrong(spec, "argocd-path-missing", f"path {spec.written_path} {where}")
    made = _here(spec, refs, path=path, scope=scope)
    if spec.revision in HEADS or spec.revision == scope.own.revision:
        return made
    doubt = f"it follows {spec.revision} of this repo, and what is read here may be another state"
    return dataclasses.replace(made, doubt=doubt)


def _wrong(spec: SourceSpec, code: str, reason: str) -> _One:
    place = spec.at("path") if spec.written_path else spec.at()
    return _One(
        (Unresolved(text=spec.written_path, reason=reason),), diagnostics=(Diagnostic.error(code, reason, at=place),)
    )


def _plugin(spec: SourceSpec) -> _One:
    name = text(mapping(spec.value.get("plugin")).get("name"))
    reason = f"the plugin {name} makes its manifests" if name else "a plugin makes its manifests"
    diagnostic = Diagnostic.unknown("argocd-plugin-not-run", f"{reason}, and it is not run", at=spec.at("plugin"))
    return _One((Unresolved(text=spec.written_path, reason=reason),), diagnostics=(diagnostic,))


def _runs_kustomize(spec: SourceSpec, scope: ReadScope) -> bool:
    """Whether a plugin of this repo makes what kustomize would, of a directory that has a kustomization."""
    if text(mapping(spec.value.get("plugin")).get("name")) not in scope.plugins or spec.path is None:
        return False
    return any(scope.tree.is_file(f"{spec.path}/{name}") for name in directory_contents.KUSTOMIZATIONS)


def _chart(spec: SourceSpec, values: tuple[Values, ...], scope: ReadScope) -> ChartSource:
    """A chart of a Helm repository, or of an OCI registry, which has no scheme before it."""
    repository = spec.url if "://" in spec.url else f"oci://{spec.url.strip('/')}"
    return ChartSource(
        name=spec.chart,
        repository=git_urls.without_password(repository),
        version=spec.revision,
        release=text(spec.helm.get("releaseName")) or spec.app.name,
        namespace=_namespace(spec),
        values=values,
        credentials=scope.registered.credentials(spec.url),
    )


def _namespace(spec: SourceSpec) -> str:
    return text(spec.helm.get("namespace")) or text(mapping(spec.app.spec.get("destination")).get("namespace"))


def _elsewhere(spec: SourceSpec, refs: Mapping[str, SourceSpec], scope: ReadScope) -> _One:
    """Another repository, whose files nobody here can see."""
    if not spec.helm:
        return _One(
            (RemoteSource(url=git_urls.without_password(spec.url), revision=spec.revision, path=spec.written_path),)
        )
    given = application_values.read(spec, refs, base=None, scope=scope)
    chart = dataclasses.replace(
        _chart(spec, given.values, scope), name=spec.written_path or ".", repository=git_urls.without_password(spec.url)
    )
    return _One((chart,), diagnostics=given.diagnostics)


def _here(spec: SourceSpec, refs: Mapping[str, SourceSpec], *, path: str, scope: ReadScope) -> _One:
    spec, said = directory_contents.overridden(spec, path, scope.tree)
    by_plugin = _runs_kustomize(spec, scope)
    tool = SourceTool.KUSTOMIZE if by_plugin else directory_contents.tool(spec, path, scope.tree)
    if isinstance(tool, Diagnostic):
        return _One((Unresolved(text=path, reason=tool.message),), diagnostics=(*said, tool))
    if tool == SourceTool.PLUGIN:
        return _plugin(spec)
    if tool == SourceTool.HELM:
        made = _local_chart(spec, refs, path=path, scope=scope)
        return dataclasses.replace(made, diagnostics=(*said, *made.diagnostics))
    is_kustomized = tool == SourceTool.KUSTOMIZE
    found = _contents(spec, path, scope, is_kustomized=is_kustomized)
    directory = _directory(spec, path, is_kustomized=is_kustomized)
    return _One((directory, *found.charts, *found.remotes), found.definitions, (*said, *found.diagnostics))


def _contents(spec: SourceSpec, path: str, scope: ReadScope, *, is_kustomized: bool) -> DirectoryContents:
    """What is in a directory; asked once for the same options, since many Applications may read it."""
    options = mapping(spec.value.get("kustomize" if is_kustomized else "directory"))
    key = (path, is_kustomized, spec.value.get("plugin") is not None, json.dumps(options, sort_keys=True, default=str))
    if key not in scope.kept:
        read = (
            directory_contents.kustomized(spec, path, scope)
            if is_kustomized
            else directory_contents.plain(spec, path, scope.tree)
        )
        scope.kept[key] = read
    found: DirectoryContents = scope.kept[key]
    return found


def _directory(spec: SourceSpec, path: str, *, is_kustomized: bool) -> DirectorySource:
    if not is_kustomized:
        options = mapping(spec.value.get("directory"))
        return DirectorySource(
            path=path,
            kustomize=False,
            recurse=options.get("recurse") is True,
            include=text(options.get("include")),
            exclude=text(options.get("exclude")),
        )
    options = mapping(spec.value.get("kustomize"))
    metadata = {"labels": options.get("commonLabels"), "annotations": options.get("commonAnnotations")}
    return DirectorySource(
        path=path,
        target_namespace=text(options.get("namespace")),
        name_prefix=text(options.get("namePrefix")),
        name_suffix=text(options.get("nameSuffix")),
        common_metadata={key: value for key, value in metadata.items() if isinstance(value, Mapping)},
        components=tuple(text(each) for each in items(options.get("components"))),
        patches=tuple(each for each in items(options.get("patches")) if isinstance(each, Mapping)),
        images=tuple(directory_contents.images(items(options.get("images")))),
    )


def _local_chart(spec: SourceSpec, refs: Mapping[str, SourceSpec], *, path: str, scope: ReadScope) -> _One:
    given = application_values.read(spec, refs, base=path, scope=scope)
    chart = local_charts.read_chart(scope.tree, path)
    if chart is None:
        diagnostic = Diagnostic.error(
            "argocd-chart-unreadable", f"{path}/{local_charts.CHART_FILE} cannot be read", at=spec.at("path")
        )
        return _One((Unresolved(text=path, reason=diagnostic.message),), diagnostics=(*given.diagnostics, diagnostic))
    release = dataclasses.replace(
        _chart(spec, given.values, scope), name=path, repository="", version=chart.version, credentials=""
    )
    values = application_values.merged(given.values, local_charts.default_values(scope.tree, path), scope)
    dependencies = local_charts.charts_brought(scope.tree, chart, values, release)
    rendered = local_charts.chart_applications(chart, values, release, scope=scope)
    diagnostics = (*given.diagnostics, *rendered.diagnostics)
    return _One((release, *dependencies), rendered.definitions, diagnostics, version=chart.version)
