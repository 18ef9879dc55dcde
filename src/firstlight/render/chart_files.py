"""A chart as Helm is to read it: of this repo or from elsewhere, with the charts that it needs."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients.helm import helm_arguments
from firstlight.document import yaml_reader
from firstlight.model import versions
from firstlight.model.source import ChartSource
from firstlight.render import chart_packages, chart_values
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.render_questions import RenderQuestions
from firstlight.repo.work_tree import join

MOST = 64
"""Charts in charts, all of them counted."""
_GIT = re.compile(r"(?:ssh|git)://|[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9.-]+:|.*\.git/?$")
_CRDS = re.compile(r"(?:charts/[^/]+/)*crds/.+")
_LOCK = ("Chart.lock", "requirements.lock")


@dataclasses.dataclass(frozen=True)
class ChartFiles:
    """A chart, and where it is from."""

    files: Mapping[str, bytes] = dataclasses.field(repr=False)
    name: str
    version: str
    stored: FetchedContent | None = None
    """None for a chart of this repo."""
    is_packed: bool = False
    """Whether it was packed by somebody before, who left out what ``.helmignore`` names."""

    @property
    def asks_for_apis(self) -> bool:
        """Whether a template may ask what the cluster serves."""
        return self._mentions(b"APIVersions")

    @property
    def may_template_crds(self) -> bool:
        """Whether there may be CRDs among its templates, beside those of its directory ``crds``."""
        return self._mentions(b"CustomResourceDefinition") or self._mentions(b".Files.")

    def _mentions(self, word: bytes) -> bool:
        """Whether a template has a word in it; charts in archives are not looked into, and might."""
        return any(
            path.endswith(".tgz") or ("templates/" in path and word in content) for path, content in self.files.items()
        )

    @property
    def crds(self) -> tuple[str, ...]:
        """The files of its directory ``crds``, and of those of the charts in it."""
        return tuple(
            content.decode(errors="replace")
            for path, content in sorted(self.files.items())
            if _CRDS.fullmatch(path) and path.endswith((".yaml", ".yml", ".json"))
        )


def wanted(chart: ChartSource, *, is_git: bool | None = None) -> FetchRequest:
    """A chart from elsewhere, as the store is asked for it.

    Args:
        chart: The chart.
        is_git: Whether it is in Git, where that is known; else its URL tells.
    """
    if chart.repository.startswith("oci://"):
        url = f"{chart.repository.rstrip('/')}/{chart.name}" if chart.name else chart.repository
        version = "" if chart.digest else chart.version
        return FetchRequest(kind=FetchKind.OCI, url=url, version=version, digest=chart.digest, insecure=chart.insecure)
    if is_git or (is_git is None and _GIT.match(chart.repository)):
        return FetchRequest(
            kind=FetchKind.GIT, url=chart.repository, version="" if chart.version == "HEAD" else chart.version
        )
    return FetchRequest(kind=FetchKind.REPOSITORY, url=chart.repository, name=chart.name, version=chart.version)


async def load(chart: ChartSource, questions: RenderQuestions, *, is_git: bool | None = None) -> ChartFiles:
    """All files of a chart, with the charts that it needs.

    Raises:
        errors.FirstlightError: It cannot be had, or is none.
    """
    if not chart.repository:
        path = join(".", chart.name)
        if path is None:
            raise errors.Refused(f"the chart {chart.name} is outside of the repo")
        return await _in_repo(path, questions)
    stored = await questions.stored(wanted(chart, is_git=is_git))
    files = await questions.files(stored)
    if stored.wanted.kind != FetchKind.GIT:
        return ChartFiles(files, stored.name, stored.version, stored, is_packed=True)
    path = posixpath.normpath(chart.name.strip("/") or ".")
    own = _below(files, path)
    if "Chart.yaml" not in own:
        raise errors.ClientError(f"{stored.wanted.source} has no chart at {path}")
    whole = await _with_dependencies(own, path, files, questions, ())
    return dataclasses.replace(_described(whole), stored=stored)


def with_version(chart: ChartFiles, metadata: str) -> ChartFiles:
    """A chart whose version ends with ``+metadata``, as helm-controller does it for charts of OCIRepositories."""
    core = versions.without_build(chart.version)
    if not core:
        return chart
    version = f"{core}+{metadata}"
    fields = {**_yaml(chart.files.get("Chart.yaml", b"")), "version": version}
    files = {**chart.files, "Chart.yaml": msgspec.json.encode(fields)}
    return dataclasses.replace(chart, files=files, version=version)


def with_values(chart: ChartFiles, contents: Mapping[str, bytes | None], *, ignore_missing: bool) -> ChartFiles:
    """A chart whose own values are those of some files, the later over the earlier, as source-controller packs it.

    Raises:
        errors.ClientError: One of them is not there.
    """
    whole: dict[str, Any] = {}
    for name, content in contents.items():
        if content is not None:
            whole = chart_values.laid_over(whole, _yaml(content))
        elif not ignore_missing:
            raise errors.ClientError(f"the chart {chart.name} has no file {name} with values")
    return dataclasses.replace(chart, files={**chart.files, "values.yaml": msgspec.json.encode(whole)})


async def _in_repo(path: str, questions: RenderQuestions) -> ChartFiles:
    listed = questions.names(path)
    tree = questions.tree
    if not listed and tree.is_file(path) and path.endswith(".tgz"):
        return dataclasses.replace(_described(chart_packages.unpack_chart(questions.content_of(path))), is_packed=True)
    prefix = "" if path == "." else f"{path}/"
    own = {name.removeprefix(prefix): questions.content_of(name) for name in listed}
    if "Chart.yaml" not in own:
        raise errors.ClientError(f"there is no chart in {path}", hint="a chart has a Chart.yaml")
    return _described(await _with_dependencies(own, path, None, questions, ()))


async def _with_dependencies(
    own: dict[str, bytes],
    path: str,
    repository: Mapping[str, bytes] | None,
    questions: RenderQuestions,
    within: tuple[str, ...],
) -> dict[str, bytes]:
    """A chart's files with the charts that it needs in ``charts/``; those that are there are left as they are.

    Args:
        own: Its files.
        path: Where it is in its repository.
        repository: All files of that; None for this repo.
        questions: Whom to ask.
        within: The charts that need it, from the outermost on.
    """
    if len(within) > MOST or path in within:
        raise errors.Refused(f"the chart in {path} needs itself, or too many others")
    files = dict(own)
    locked = _locked(own)
    for each in _dependencies(own):
        name, place = helm_arguments.chart(str(each.get("name") or "")), str(each.get("repository") or "")
        if _is_vendored(own, name):
            continue
        if place.startswith("file://"):
            inner_path = join(path, place.removeprefix("file://"))
            inner = _neighbour(inner_path, repository, questions)
            whole = await _with_dependencies(inner, inner_path or "", repository, questions, (*within, path))
            files |= {f"charts/{name}/{inner_name}": content for inner_name, content in whole.items()}
        elif place:
            chart = ChartSource(name=name, repository=place, version=locked.get(name) or str(each.get("version") or ""))
            stored = await questions.stored(wanted(chart, is_git=False))
            files[f"charts/{name}-{helm_arguments.version(stored.version)}.tgz"] = await questions.content(stored)
    return files


def _neighbour(
    path: str | None, repository: Mapping[str, bytes] | None, questions: RenderQuestions
) -> dict[str, bytes]:
    if path is None:
        raise errors.Refused("a chart needs another one that is outside of the repo")
    if repository is not None:
        return _below(repository, path)
    prefix = "" if path == "." else f"{path}/"
    return {name.removeprefix(prefix): questions.content_of(name) for name in questions.names(path)}


def _is_vendored(files: Mapping[str, bytes], name: str) -> bool:
    archive = re.compile(rf"charts/{re.escape(name)}-v?[0-9][^/]*\.tgz")
    return any(path.startswith(f"charts/{name}/") or archive.fullmatch(path) for path in files)


def _dependencies(files: Mapping[str, bytes]) -> list[Mapping[str, Any]]:
    for name in ("Chart.yaml", "requirements.yaml"):
        listed = _yaml(files.get(name, b"")).get("dependencies")
        if isinstance(listed, list):
            return [each for each in listed if isinstance(each, Mapping)]
    return []


def _locked(files: Mapping[str, bytes]) -> dict[str, str]:
    """Versions that a lock file pins, by name."""
    for name in _LOCK:
        listed = _yaml(files.get(name, b"")).get("dependencies")
        if isinstance(listed, list):
            return {str(each.get("name")): str(each.get("version")) for each in listed if isinstance(each, Mapping)}
    return {}


def _described(files: Mapping[str, bytes]) -> ChartFiles:
    about = _yaml(files.get("Chart.yaml", b""))
    return ChartFiles(files, str(about.get("name") or ""), str(about.get("version") or ""))


def _below(files: Mapping[str, bytes], path: str) -> dict[str, bytes]:
    prefix = "" if path == "." else f"{path}/"
    return {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}


def _yaml(content: bytes) -> dict[str, Any]:
    documents = yaml_reader.read(content, "").documents
    return documents[0].value if documents and isinstance(documents[0].value, dict) else {}
