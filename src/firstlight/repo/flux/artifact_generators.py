"""What ArtifactGenerators make: artifacts of files that they copy out of sources.

The rules are those of source-watcher. A directory keeps its own name below ``to``, ``dir/**`` is what is in ``dir``,
every other pattern keeps the whole path, and a copy that finds nothing stops the artifact and all after it.
"""

import dataclasses
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.repo.argocd import globs
from firstlight.repo.flux import artifact_globs, flux_objects
from firstlight.repo.flux.artifact_tree import ArtifactTree
from firstlight.repo.flux.flux_objects import called, entries, mapping, text
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_DROPPED = re.compile(
    r"(?:.*/)?(?:\.git(?:/.*|ignore|modules|attributes)?|[^/]*\.(?:jpe?g|gif|png|wmv|flv|tar\.gz|zip)"
    r"|\.(?:github|circleci)/.*|\.(?:travis|gitlab-ci|goreleaser|sops|flux)\.ya?ml|appveyor\.yml|\.drone\.yml"
    r"|cloudbuild\.yaml|codeship-(?:services|steps)\.yml)"
)
"""What archives of Flux leave out unless somebody says otherwise."""
_CAPTURE = re.compile(r"\{(\w+)\}")
ARTIFACTS = 2000
"""Artifacts of one generator; one for each directory of a large repo are hundreds."""


@dataclasses.dataclass(frozen=True)
class SourceTree:
    """The files of a source, as far as they are in this repo."""

    tree: WorkTree | None
    reason: str = ""
    """Why they are not known, or what is not certain about them."""
    chart: Manifest | None = None
    """What declares the source, where it is elsewhere."""
    unread: str = ""
    """Why there may be more files than these."""

    @property
    def is_certain(self) -> bool:
        """Whether it is certain that these are the files."""
        return self.tree is not None and not self.reason


@dataclasses.dataclass(frozen=True)
class GeneratedArtifact:
    """One artifact of a generator."""

    name: str
    generator: Manifest
    tree: ArtifactTree | None
    """Its files; None where nothing of it is known."""
    unread: str = ""
    """Why there may be more in it."""
    doubt: str = ""
    only_source: Manifest | None = None
    """The source elsewhere that all of it is, if it is only that."""


@dataclasses.dataclass(frozen=True)
class GeneratedArtifacts:
    """What a generator makes, and what is wrong with it."""

    artifacts: tuple[GeneratedArtifact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def generate(generator: Manifest, tree: WorkTree, sources: Mapping[str, SourceTree]) -> GeneratedArtifacts:
    """Make the artifacts of a generator.

    Args:
        generator: The ArtifactGenerator, as it is applied.
        tree: The repo.
        sources: Its sources by their aliases.
    """
    return _Generation(generator, tree, sources).done()


class _CopyStoppedError(Exception):
    """An artifact cannot be built."""


class _Generation:
    def __init__(self, generator: Manifest, tree: WorkTree, sources: Mapping[str, SourceTree]) -> None:
        self._generator = generator
        self._tree = tree
        self._sources = sources
        self._diagnostics: dict[Diagnostic, None] = {}

    def done(self) -> GeneratedArtifacts:
        made: list[GeneratedArtifact] = []
        names: set[str] = set()
        for captures in self._captures():
            for number, artifact in enumerate(entries(flux_objects.spec(self._generator).get("artifacts"))):
                name = _filled(text(mapping(artifact).get("name")), captures, is_name=True)
                if name in names or len(made) >= ARTIFACTS:
                    continue
                names.add(name)
                made.append(self._artifact(name, number, mapping(artifact), captures))
        return GeneratedArtifacts(tuple(made), tuple(self._diagnostics))

    def _captures(self) -> Iterator[Mapping[str, str]]:
        """What the directories that match ``pathPattern`` stand for; once nothing where there is no pattern."""
        pattern = text(flux_objects.spec(self._generator).get("pathPattern"))
        if not pattern:
            yield {}
            return
        alias, _, path = pattern.removeprefix("@").partition("/")
        source = self._sources.get(alias)
        if source is None or source.tree is None:
            reason = source.reason if source else f"it has no source {alias}"
            self._unknown(f"the artifacts of {called(self._generator)} are not known: {reason}", "pathPattern")
            return
        wanted = path.strip("/").split("/")
        found: list[tuple[str, dict[str, str]]] = [(".", {})]
        for segment in wanted:
            shape = re.compile(
                "".join(
                    f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part)
                    for number, part in enumerate(_CAPTURE.split(segment))
                )
            )
            found = [
                (posixpath.normpath(posixpath.join(directory, name[:-1])), {**known, **match.groupdict()})
                for directory, known in found
                for name in source.tree.listing(directory)
                if name.endswith("/") and (match := shape.fullmatch(name[:-1]))
            ]
        yield from (known for _, known in found)

    def _artifact(
        self, name: str, number: int, artifact: Mapping[str, Any], captures: Mapping[str, str]
    ) -> GeneratedArtifact:
        work = _Copies()
        for index, copy in enumerate(map(mapping, entries(artifact.get("copy")))):
            steps = ("artifacts", number, "copy", index)
            try:
                self._copy(copy, captures, work, steps)
            except _CopyStoppedError:
                work.unread.append(f"artifact {name} is not built after copy {index + 1}")
                break
        doubts = dict.fromkeys(each.reason for each in work.sources if each.tree is not None and each.reason)
        only = work.sources[0].chart if len(work.sources) == 1 and not work.files else None
        return GeneratedArtifact(
            name=name,
            generator=self._generator,
            tree=ArtifactTree(self._tree, work.repo_files(), merged=work.merged) if work.files else None,
            unread="; ".join(dict.fromkeys(work.unread)),
            doubt="; ".join(doubts),
            only_source=only,
        )

    def _copy(
        self, copy: Mapping[str, Any], captures: Mapping[str, str], work: "_Copies", steps: tuple[str | int, ...]
    ) -> None:
        written = _filled(text(copy.get("from")), captures)
        alias, slash, pattern = written.removeprefix("@").partition("/")
        to = _filled(text(copy.get("to")), captures).removeprefix("@artifact").lstrip("/")
        source = self._sources.get(alias)
        if source is None or not written.startswith("@") or not slash:
            message = f"{written[:120]} names no source of ArtifactGenerator {called(self._generator)}"
            self._say("flux-artifact-source-missing", Severity.ERROR, message, steps)
            raise _CopyStoppedError
        work.sources.append(source)
        if source.tree is None:
            work.unread.append(source.reason)
            return
        if copy.get("strategy") == "Extract":
            work.unread.append(f"{written} is unpacked from an archive")
            return
        excluded = [text(each) for each in entries(copy.get("exclude"))]
        try:
            found = list(_copied(source.tree, pattern, to, work))
            prefix = artifact_globs.literal_prefix(pattern)
            found = [
                each
                for each in found
                if not artifact_globs.is_excluded(each[1], prefix, excluded) and not _DROPPED.fullmatch(each[0])
            ]
        except globs.BadPattern as error:
            self._say("flux-artifact-copy-empty", Severity.ERROR, f"{written[:120]} is not a pattern: {error}", steps)
            raise _CopyStoppedError from error
        if not found:
            severity = Severity.ERROR if source.is_certain else Severity.WARNING
            message = f"{written[:120]} matches no file, so ArtifactGenerator {called(self._generator)} fails"
            self._say("flux-artifact-copy-empty", severity, message, steps)
            raise _CopyStoppedError
        for path, origin in found:
            work.take(path, source.tree, origin, is_merged=copy.get("strategy") == "Merge")

    def _unknown(self, message: str, *steps: str | int) -> None:
        at = self._generator.at("spec", *steps)
        self._diagnostics[Diagnostic.unknown("flux-artifact-not-followed", message, at=at)] = None

    def _say(self, code: str, severity: Severity, message: str, steps: tuple[str | int, ...]) -> None:
        at = self._generator.at("spec", *steps, "from")
        found = Diagnostic(code=code, severity=severity, message=message, places=(at,))
        self._diagnostics[found] = None


def _filled(written: str, captures: Mapping[str, str], *, is_name: bool = False) -> str:
    return _CAPTURE.sub(
        lambda match: captures.get(match[1], match[0]).lower() if is_name else captures.get(match[1], match[0]), written
    )


def _copied(tree: WorkTree, pattern: str, to: str, work: "_Copies") -> Iterator[tuple[str, str]]:
    """The files of a copy: the path in the artifact, and the one in the source."""
    directory = to.strip("/")
    if not artifact_globs.is_pattern(pattern):
        path = posixpath.normpath(pattern.strip("/") or ".")
        if tree.is_file(path):
            inside = not to or to.endswith("/") or work.has_directory(directory)
            yield (posixpath.join(directory, posixpath.basename(path)) if inside else directory), path
        elif path == ".":
            yield from _whole(tree, ".", directory)
        elif tree.is_dir(path):
            yield from _whole(tree, path, posixpath.join(directory, posixpath.basename(path)))
        return
    pattern = posixpath.normpath(pattern)
    base = pattern[:-3] if pattern.endswith("/**") else ""
    for path in artifact_globs.find(tree, pattern):
        kept = path[len(base) + 1 :] if base and not artifact_globs.is_pattern(base) else path
        if tree.is_file(path):
            yield posixpath.join(directory, kept), path
        else:
            yield from _whole(tree, path, posixpath.join(directory, kept))


def _whole(tree: WorkTree, path: str, to: str) -> Iterator[tuple[str, str]]:
    for file in tree.below(path):
        yield posixpath.normpath(posixpath.join(to, posixpath.relpath(file, path))), file


class _Copies:
    """An artifact while it is put together."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[WorkTree, str]] = {}
        self.merged: dict[str, bytes] = {}
        self.sources: list[SourceTree] = []
        self.unread: list[str] = []

    def has_directory(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self.files)

    def take(self, path: str, tree: WorkTree, origin: str, *, is_merged: bool) -> None:
        before = self.files.get(path)
        if is_merged and before is not None and path.endswith((".yaml", ".yml")):
            known = self.merged.get(path)
            first = _value(before[0].bytes(before[1]) if known is None else known)
            self.merged[path] = json.dumps(_merged(first, _value(tree.bytes(origin)))).encode()
            return
        self.files[path] = (tree, origin)
        self.merged.pop(path, None)

    def repo_files(self) -> dict[str, str]:
        return {
            path: tree.repo_path(origin) if isinstance(tree, ArtifactTree) else origin
            for path, (tree, origin) in self.files.items()
        }


def _value(data: bytes | None) -> Any:
    """The documents of a file as one mapping, as the merge of source-watcher takes them."""
    found: Any = {}
    for document in yaml_reader.read(data or b"", "").documents:
        found = _merged(found, document.value)
    return found


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{name: _merged(first.get(name), each) for name, each in second.items()}}
    return second
