"""Everything that one build of kustomize reads, brought together: nothing else is in its reach when it runs.

Kustomizations of the repo are looked through first, by ``clients.kustomize.scan``. What they name on the web, in other
repositories and in chart repositories is fetched here, and the kustomization is changed to name the copy; so kustomize
itself never fetches anything, and what it gets is known by its digest.
"""

import dataclasses
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.clients import path_safety, scratch
from firstlight.clients.kustomize import build_scan, kustomize_errors, remote_sources
from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.render import cache_files, chart_packages
from firstlight.render.chart_packages import FetchKind, FetchRequest
from firstlight.render.render_questions import RenderQuestions
from firstlight.repo.kustomize import remote_resources
from firstlight.repo.work_tree import join

FETCHED = ".firstlight"
"""The directory in which copies of what is elsewhere lie."""
_FETCHABLE = ("resources", "bases", "components")
_FILE = (".yaml", ".yml", ".json")
_MOST = 200
"""Remote resources of one build; each is a download."""


@dataclasses.dataclass
class KustomizeInputs:
    """The files of one build by their paths, and what there is to say about them."""

    files: dict[str, bytes] = dataclasses.field(default_factory=dict, repr=False)
    diagnostics: list[Diagnostic] = dataclasses.field(default_factory=list)
    has_charts: bool = False


@dataclasses.dataclass(frozen=True)
class KustomizeRules:
    """What a build may use."""

    beyond_directory: bool = False
    """Files of the whole tree, as Flux lets it."""
    allow_helm: bool = False


def collect(directory: str, questions: RenderQuestions, assembly: KustomizeInputs, rules: KustomizeRules) -> None:
    """Add every file that a build of a directory of the repo would read.

    Raises:
        kustomize_errors.KustomizeError: Something is missing, forbidden or not YAML.
    """
    root = questions.tree.root
    for path in _seen(root / directory, root, rules):
        name = path.relative_to(root).as_posix()
        content = questions.file(name)
        if content is None:
            raise kustomize_errors.MissingFile(
                root / directory, f"{name} is not part of the repo", path=path, hint="does Git ignore it?"
            )
        assembly.files[name] = content
        if path.name in build_scan.NAMES:
            for other in build_scan.NAMES:  # one more beside it would be an error
                questions.file((path.parent / other).relative_to(root).as_posix())


async def complete(questions: RenderQuestions, assembly: KustomizeInputs, rules: KustomizeRules) -> None:
    """Fetch what the kustomizations so far name elsewhere, and let them name the copies.

    Raises:
        errors.FirstlightError: Something cannot be had, or must not be fetched.
    """
    done: set[str] = set()
    fetched = 0
    while waiting := sorted(
        name for name in assembly.files if posixpath.basename(name) in build_scan.NAMES and name not in done
    ):
        for name in waiting:
            done.add(name)
            fields = _fields(assembly.files[name])
            if fields is None:
                continue
            changed = dict(fields)
            for field in _FETCHABLE:
                entries = fields.get(field)
                if isinstance(entries, list) and any(
                    isinstance(each, str) and remote_sources.is_remote(each) for each in entries
                ):
                    fetched += len(entries)
                    if fetched > _MOST:
                        raise kustomize_errors.KustomizeTooLarge(
                            Path(name), f"it names more than {_MOST} things elsewhere"
                        )
                    changed[field] = [await _local(each, name, questions, assembly, rules) for each in entries]
            if changed != fields:
                assembly.files[name] = msgspec.json.encode(changed)
            await _add_charts(fields, posixpath.dirname(name), questions, assembly, rules)


async def _local(
    entry: Any, name: str, questions: RenderQuestions, assembly: KustomizeInputs, rules: KustomizeRules
) -> Any:
    """What a kustomization names instead of something elsewhere."""
    if not isinstance(entry, str) or not remote_sources.is_remote(entry):
        return entry
    found = remote_resources.parse_remote(entry)
    if found is None or not remote_sources.is_harmless(entry):
        raise kustomize_errors.KustomizeForbidden(
            Path(name), f"{entry[:200]!r} is not a URL of https with a plain revision", reason="remote", path=Path(name)
        )
    base = f"{FETCHED}/{cache_files.bytes_digest(entry.encode())[:16]}"
    if not found.path and found.url.partition("?")[0].endswith(_FILE):
        stored = await questions.stored(FetchRequest(kind=FetchKind.FILE, url=found.url))
        assembly.files[f"{base}.yaml"] = await questions.content(stored)
        return posixpath.relpath(f"{base}.yaml", posixpath.dirname(name) or ".")
    if not found.revision:
        message = f"{entry[:200]} names no revision, so it is whatever its default branch has"
        assembly.diagnostics.append(
            Diagnostic.warning(
                "kustomize-remote-without-revision", message, at=Place(name), fix="add ?ref= with a tag or a commit"
            )
        )
    url = found.url if found.url.endswith(".git") or "_git/" in found.url else f"{found.url}.git"
    stored = await questions.stored(FetchRequest(kind=FetchKind.GIT, url=url, version=found.revision))
    files = await questions.files(stored)
    for path, content in needed(files, found.path, rules).items():
        assembly.files[f"{base}/{path}"] = content
    return posixpath.relpath(posixpath.normpath(f"{base}/{found.path}"), posixpath.dirname(name) or ".")


def needed(files: Mapping[str, bytes], path: str, rules: KustomizeRules) -> dict[str, bytes]:
    """Those files of another repository that a build of one of its directories, or a single file, needs."""
    if path in files:
        return {path: files[path]}
    with scratch.directory("remote") as made:
        root = Path(made).resolve()
        chart_packages.write_files(files, root)
        found = join(".", path)
        if found is None:
            raise kustomize_errors.KustomizeForbidden(root, f"{path!r} leads out of the repository", reason="outside")
        return {
            name: files[name]
            for name in (each.relative_to(root).as_posix() for each in _seen(root / found, root, rules))
        }


def _seen(directory: Path, root: Path, rules: KustomizeRules) -> Iterator[Path]:
    looked = build_scan.BuildRules(
        within=root, allow_remote=True, beyond_directory=rules.beyond_directory, allow_helm=rules.allow_helm
    )
    for path in build_scan.scan_build(directory, looked).files:
        # The file of a kustomization may be a link; all others are named by where they really are.
        yield path_safety.inside(path, root) if path.name in build_scan.NAMES else path


async def _add_charts(
    fields: Mapping[str, Any],
    directory: str,
    questions: RenderQuestions,
    assembly: KustomizeInputs,
    rules: KustomizeRules,
) -> None:
    entries = fields.get("helmCharts")
    if not isinstance(entries, list) or not entries:
        return
    shared = fields.get("helmGlobals")
    home = str((shared if isinstance(shared, Mapping) else {}).get("chartHome") or "charts")
    assembly.has_charts = True
    for entry in entries:
        if not isinstance(entry, Mapping) or not rules.allow_helm:
            continue
        chart = remote_sources.HelmChart.read({str(key).casefold(): value for key, value in entry.items()})
        place = join(directory or ".", f"{home}/{chart.directory}")
        if chart.problem or place is None:
            continue  # the look before the build says it
        own = questions.names(place)
        if own:
            assembly.files |= {name: questions.content_of(name) for name in own}
        elif chart.is_fetchable:
            for path, content in (await _chart(chart, questions)).items():
                assembly.files[f"{place}/{path}"] = content


async def _chart(chart: remote_sources.HelmChart, questions: RenderQuestions) -> dict[str, bytes]:
    is_oci = chart.repo.startswith("oci://")
    wanted = FetchRequest(
        kind=FetchKind.OCI if is_oci else FetchKind.REPOSITORY,
        url=f"{chart.repo.rstrip('/')}/{chart.name}" if is_oci else chart.repo,
        name="" if is_oci else chart.name,
        version=chart.version,
    )
    return await questions.files(await questions.stored(wanted))


def _fields(content: bytes) -> Mapping[str, Any] | None:
    documents = yaml_reader.read(content, "kustomization").documents
    return documents[0].value if len(documents) == 1 and isinstance(documents[0].value, dict) else None
