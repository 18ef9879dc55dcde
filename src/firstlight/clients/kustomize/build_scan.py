"""What a build would read, found without running it.

kustomize opens files, fetches URLs and follows links as a kustomization tells it to. So each kustomization that it
would visit is read here first: whatever is named must be there, must be in the tree, and must not be a place on the
network or a program. Field names are compared as Go compares them, without regard to case, so that no spelling of a
field is overlooked; and what is read differently by different parsers, such as a key that comes twice, is refused.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import path_safety
from firstlight.clients.helm import schema_references
from firstlight.clients.kustomize import kustomize_errors, remote_sources
from firstlight.document import yaml_reader, yaml_tree

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
LIMITS = path_safety.TreeLimits(files=20_000, size=64 << 20, depth=30)
VISITS = 5_000
"""How often a build may go into a directory, all ways to it counted."""

_ONE_FILE = 4 << 20
_TRAILING = re.compile(r"(?:\n---[ \t]*)+\s*\Z")
_FUNCTIONS = ("config.kubernetes.io/function", "config.k8s.io/function")


@dataclasses.dataclass(frozen=True)
class BuildRules:
    """What a build may do."""

    within: Path
    """The tree that nothing may leave."""
    allow_remote: bool = False
    beyond_directory: bool = False
    """Whether a kustomization may use files of the tree that are not in or below its own directory."""
    allow_helm: bool = False
    limits: path_safety.TreeLimits = LIMITS


@dataclasses.dataclass(frozen=True)
class _Weight:
    """How much there is below a directory, each way to it counted."""

    visits: int
    size: int
    depth: int


@dataclasses.dataclass(frozen=True)
class BuildInputs:
    """What a build would read."""

    files: tuple[Path, ...]
    """In order; charts are not among them."""
    secret_files: tuple[Path, ...] = ()
    """Those of which Secrets would be made."""
    secret_texts: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """What is written out to be put into Secrets."""


def scan_build(directory: Path, rules: BuildRules) -> BuildInputs:
    """Go through all that a build would go through.

    Raises:
        kustomize_errors.KustomizeError: Something is missing, forbidden or not YAML.
    """
    scan = _Scan(directory, rules)
    scan.directory(scan.inside(directory, by=directory), ())
    return BuildInputs(tuple(sorted(scan.files)), tuple(scan.secret_files), tuple(scan.secret_texts))


def sources(directory: Path, rules: BuildRules) -> tuple[Path, ...]:
    """Every file that a build of a directory would read, in order; charts are not among them.

    Raises:
        kustomize_errors.KustomizeError: Something is missing, forbidden or not YAML.
    """
    return scan_build(directory, rules).files


class _Scan:
    def __init__(self, asked: Path, rules: BuildRules) -> None:
        self.asked = asked
        self.rules = rules
        self.root = rules.within.resolve()
        self.files: dict[Path, int] = {}
        self.weights: dict[Path, _Weight] = {}
        self.secret_files: list[Path] = []
        self.secret_texts: list[str] = []

    def directory(self, real: Path, above: tuple[Path, ...]) -> _Weight:
        """Visit a kustomization by its real path, and whatever it uses."""
        if any(ancestor.is_relative_to(real) for ancestor in above):
            raise kustomize_errors.KustomizeCycle(
                self.asked, f"{self.shown(above[-1])} uses {self.shown(real)}, which is or contains it", path=above[-1]
            )
        if len(above) >= self.rules.limits.depth:
            raise self.too_large(f"kustomizations are nested deeper than {self.rules.limits.depth}", real)
        if real not in self.weights:
            self.weights[real] = self.visit(real, above)
        return self.weights[real]

    def visit(self, real: Path, above: tuple[Path, ...]) -> _Weight:
        file = self.kustomization(real)
        fields = self.fields(self.documents(file), file)
        visits, size, depth = 1, self.files[file], 0
        for entry in self.entries(fields, real, file):
            if isinstance(entry, Path):
                size += self.files[entry]
                continue
            below = self.directory(entry.path, (*above, real))
            visits, size, depth = visits + below.visits, size + below.size, max(depth, below.depth + 1)
            if visits > VISITS:
                raise self.too_large(f"its kustomizations are used more than {VISITS} times", real)
        if size > self.rules.limits.size:
            raise self.too_large(f"there are more than {self.rules.limits.size >> 20} MiB to read", real)
        return _Weight(visits, size, depth)

    def entries(self, fields: Mapping[str, Any], real: Path, file: Path) -> Iterator["Path | _Directory"]:
        """Whatever a kustomization names, file by file and directory by directory."""
        for name in ("resources", "bases"):
            for text in self.texts(fields, name, file):
                yield from self.file_or_directory(text, real, file)
        for text in self.texts(fields, "components", file):
            yield from self.file_or_directory(text, real, file)
        for name in ("crds", "configurations"):
            for text in self.texts(fields, name, file):
                yield from self.local_file(text, real, file)
        for name in ("patches", "patchesjson6902", "replacements"):
            for item in self.mappings(fields, name, file):
                yield from self.optional_file(item, "path", real, file)
        for text in self.texts(fields, "patchesstrategicmerge", file):
            yield from self.patch(text, real, file)
        openapi = fields.get("openapi")
        if openapi is not None:
            yield from self.optional_file(self.folded(openapi, file), "path", real, file)
        for name in ("configmapgenerator", "secretgenerator"):
            for item in self.mappings(fields, name, file):
                yield from self.generator(item, real, file, is_secret=name == "secretgenerator")
        for name in ("generators", "transformers", "validators"):
            for text in self.texts(fields, name, file):
                yield from self.plugin(text, real, file)
        yield from self.charts(fields, real, file)

    def file_or_directory(self, text: str, real: Path, file: Path) -> Iterator["Path | _Directory"]:
        if self.is_remote(text, file):
            return
        found = self.named(text, real, file)
        if found.is_dir():
            yield _Directory(found)
        else:
            yield self.parsed_later(self.read_later(found, real, file))

    def local_file(self, text: str, real: Path, file: Path) -> Iterator[Path]:
        """A file that kustomize parses."""
        for path in self.opaque_file(text, real, file):
            yield self.parsed_later(path)

    def opaque_file(self, text: str, real: Path, file: Path) -> Iterator[Path]:
        """A file that kustomize takes as it is."""
        if not self.is_remote(text, file):
            yield self.read_later(self.named(text, real, file), real, file)

    def optional_file(self, item: Mapping[str, Any], key: str, real: Path, file: Path) -> Iterator[Path]:
        value = item.get(key)
        if value is not None and value != "":
            yield from self.local_file(self.text(value, key, file), real, file)

    def patch(self, text: str, real: Path, file: Path) -> Iterator[Path]:
        """A patch that may be written out in the place of its path."""
        if not _is_inline(text):
            yield from self.local_file(text, real, file)

    def generator(self, item: Mapping[str, Any], real: Path, file: Path, *, is_secret: bool = False) -> Iterator[Path]:
        named = [text.partition("=")[2] if "=" in text else text for text in self.texts(item, "files", file)]
        named += self.texts(item, "envs", file)
        env = item.get("env")
        named += [self.text(env, "env", file)] if env is not None and env != "" else []
        found = [path for text in named for path in self.opaque_file(text, real, file)]
        if is_secret:
            self.secret_files += found
            self.secret_texts += self.texts(item, "literals", file)
        yield from found

    def plugin(self, text: str, real: Path, file: Path) -> Iterator["Path | _Directory"]:
        """The config of a generator, transformer or validator: written out, in a file, or in a kustomization."""
        if _is_inline(text):
            yield from self.plugin_documents(yaml_reader.load_all(text), real, file)
            return
        for entry in self.file_or_directory(text, real, file):
            if isinstance(entry, _Directory):
                if self.rules.beyond_directory:
                    # What such a kustomization makes is not known before, and kustomize's own wall is off.
                    raise self.forbidden("exec", f"{text!r} makes configurations that cannot be checked", file)
                yield entry
            else:
                yield entry
                yield from self.plugin_documents(self.documents(entry), real, entry)

    def plugin_documents(self, documents: Sequence[Any], real: Path, file: Path) -> Iterator[Path]:
        for document in documents:
            if document is None:
                continue
            fields = self.folded(document, file)
            metadata = fields.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            kind = f"{fields.get('kind', '')}"[:80]
            is_function = isinstance(annotations, dict) and any(name in annotations for name in _FUNCTIONS)
            if fields.get("apiversion") != "builtin" or is_function:
                raise self.forbidden(
                    "exec", f"{kind or 'a plugin'} is not built into kustomize: it would run a program", file
                )
            if kind == "HelmChartInflationGenerator":
                yield from self.charts({"helmcharts": [document], "helmglobals": document}, real, file)
            yield from self.generator(fields, real, file, is_secret=kind == "SecretGenerator")
            yield from self.optional_file(fields, "path", real, file)
            yield from self.optional_file(fields, "targetfilepath", real, file)
            for text in self.texts(fields, "paths", file):
                yield from self.patch(text, real, file)
            for item in self.mappings(fields, "replacements", file):
                yield from self.optional_file(item, "path", real, file)

    def charts(self, fields: Mapping[str, Any], real: Path, file: Path) -> Iterator[Path]:
        if fields.get("helmchartinflationgenerator"):
            raise self.forbidden("helm", "helmChartInflationGenerator is too old", file, hint="write helmCharts")
        listed = self.mappings(fields, "helmcharts", file)
        if not listed:
            return
        if not self.rules.allow_helm:
            raise self.forbidden("helm", "it needs helm, which is not allowed here", file)
        shared = self.folded(fields.get("helmglobals") or {}, file)
        if shared.get("confighome"):
            raise self.forbidden("exec", "it brings a home for helm with it", file)
        home = self.text(shared.get("charthome") or "charts", "chartHome", file)
        for item in listed:
            chart = remote_sources.HelmChart.read(item)
            if chart.problem:
                raise self.forbidden("helm", chart.problem, file)
            found = self.inside(path_safety.cleaned(real / home / chart.directory), by=file)
            if found.is_dir():
                try:
                    path_safety.check_tree(found, within=self.root, limits=self.rules.limits)
                    references = schema_references.outside(found)
                except errors.Refused as error:
                    raise self.forbidden("outside", error.message, file) from error
                if references:
                    reason: kustomize_errors.Reason = "remote" if references[0].is_web else "outside"
                    raise self.forbidden(reason, f"the chart {chart.name!r}: {references[0]}", file)
            elif not self.rules.allow_remote:
                raise self.forbidden("remote", f"the chart {chart.name!r} is not in {home!r}", file)
            elif not chart.is_fetchable:
                raise self.forbidden("remote", f"the chart {chart.name!r} is not to be had by https or oci", file)
            for text in chart.files:
                if remote_sources.is_remote(text):
                    raise self.forbidden("remote", f"{text!r} is not in the repository", file)
                yield from self.local_file(text, real, file)

    def kustomization(self, real: Path) -> Path:
        if not real.is_dir():
            raise kustomize_errors.MissingFile(self.asked, "there is no such directory", path=real)
        found = [real / name for name in NAMES if (real / name).exists()]
        if not found:
            raise kustomize_errors.MissingFile(
                self.asked, "there is no kustomization.yaml", path=real, hint=f"one of {', '.join(NAMES)} must be there"
            )
        if len(found) > 1:
            raise kustomize_errors.BadYaml(
                self.asked, f"there are both {found[0].name} and {found[1].name}", path=real, hint="keep one of them"
            )
        self.add(found[0], self.inside(found[0], by=found[0]))
        return found[0]

    def is_remote(self, text: str, file: Path) -> bool:
        """Whether something is to be fetched, which must be allowed and harmless."""
        if not remote_sources.is_remote(text):
            return False
        if not self.rules.allow_remote:
            raise self.forbidden("remote", f"{text[:200]!r} is not in the repository", file)
        if not remote_sources.is_harmless(text):
            raise self.forbidden("remote", f"{text[:200]!r} is not a URL of https with a plain revision", file)
        return True

    def named(self, text: str, real: Path, file: Path) -> Path:
        """The real path of what a kustomization names."""
        if text.startswith("/"):
            raise self.forbidden("outside", f"{text[:200]!r} is not relative", file)
        if not text or "\0" in text:
            raise kustomize_errors.BadYaml(self.asked, f"{text[:200]!r} is not a path", path=file)
        # Go takes ``..`` out of a path before it looks at links, and so must we.
        found = self.inside(path_safety.cleaned(real / text), by=file)
        if not found.exists():
            raise kustomize_errors.MissingFile(self.asked, f"there is no {text[:200]!r}", path=file)
        return found

    def read_later(self, found: Path, real: Path, file: Path) -> Path:
        if not found.is_file():
            raise kustomize_errors.BadYaml(self.asked, f"{self.shown(found)} is not a file", path=file)
        if not self.rules.beyond_directory and not found.is_relative_to(real):
            raise self.forbidden(
                "outside",
                f"{self.shown(found)} is not in or below the directory of the kustomization",
                file,
                hint="move it, or allow files of the whole repository, as Flux does",
            )
        self.add(found, found)
        return found

    def parsed_later(self, found: Path) -> Path:
        """Refuse what kustomize would parse and our own reader does not take: it has no bound on aliases."""
        if self.files[found] <= self.rules.limits.size and (problem := yaml_reader.why_refused(found.read_bytes())):
            message, line = problem
            raise kustomize_errors.BadYaml(self.asked, message, path=found, line=line)
        return found

    def inside(self, path: Path, *, by: Path) -> Path:
        try:
            return path_safety.inside(path, self.root)
        except errors.Refused as error:
            raise self.forbidden("outside", error.message, by) from error

    def add(self, name: Path, real: Path) -> None:
        self.files[name] = real.stat().st_size
        if len(self.files) > self.rules.limits.files:
            raise self.too_large(f"there are more than {self.rules.limits.files} files", name)

    def documents(self, file: Path) -> Sequence[Any]:
        if self.files[file] > _ONE_FILE:
            raise self.too_large(f"it has more than {_ONE_FILE >> 20} MiB", file)
        try:
            return yaml_reader.load_all(file.read_text(encoding="utf-8"))
        except ValueError as error:
            problem, line = yaml_reader.problem_of(error)
            raise kustomize_errors.BadYaml(self.asked, problem, path=file, line=line) from error

    def fields(self, documents: Sequence[Any], file: Path) -> Mapping[str, Any]:
        """The fields of a kustomization, read as any parser would read them or not at all."""
        written = [document for document in documents if document is not None]
        if len(written) != 1:
            problem = "it is empty" if not written else "it has more than one document"
            raise kustomize_errors.BadYaml(self.asked, problem, path=file)
        try:
            repeated = yaml_tree.repeated_key(_TRAILING.sub("", file.read_text(encoding="utf-8")))
        except yaml.YAMLError as error:
            raise kustomize_errors.BadYaml(self.asked, "it has more than one document", path=file) from error
        if repeated is not None:
            key, line = repeated
            raise kustomize_errors.BadYaml(self.asked, f"{key!r} is there twice", path=file, line=line)
        return self.folded(written[0], file)

    def folded(self, document: object, file: Path) -> Mapping[str, Any]:
        if not isinstance(document, dict):
            raise kustomize_errors.BadYaml(self.asked, "a mapping is needed where there is something else", path=file)
        fields: dict[str, Any] = {}
        for key, value in document.items():
            name = str(key).casefold()
            if name in fields:
                raise kustomize_errors.BadYaml(self.asked, f"{str(key)[:80]!r} is there twice", path=file)
            fields[name] = value
        return fields

    def texts(self, fields: Mapping[str, Any], name: str, file: Path) -> list[str]:
        value = fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise kustomize_errors.BadYaml(self.asked, f"{name} is not a list", path=file)
        return [self.text(item, name, file) for item in value]

    def text(self, value: object, name: str, file: Path) -> str:
        if not isinstance(value, str):
            raise kustomize_errors.BadYaml(self.asked, f"{name} has something in it that is no text", path=file)
        return value

    def mappings(self, fields: Mapping[str, Any], name: str, file: Path) -> list[Mapping[str, Any]]:
        value = fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise kustomize_errors.BadYaml(self.asked, f"{name} is not a list", path=file)
        return [self.folded(item, file) for item in value]

    def forbidden(
        self, reason: kustomize_errors.Reason, detail: str, file: Path, *, hint: str = ""
    ) -> kustomize_errors.KustomizeForbidden:
        return kustomize_errors.KustomizeForbidden(self.asked, detail, reason=reason, path=file, hint=hint)

    def too_large(self, detail: str, path: Path) -> kustomize_errors.KustomizeTooLarge:
        return kustomize_errors.KustomizeTooLarge(self.asked, detail, path=path)

    def shown(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


@dataclasses.dataclass(frozen=True)
class _Directory:
    """A directory that is named, by its real path."""

    path: Path


def _is_inline(text: str) -> bool:
    """Whether a text is an object written out, and not the path of one.

    kustomize also tries the former first. What it would not take for an object it takes for a path, and so does this.
    """
    if "\n" not in text and "{" not in text:
        return False
    try:
        documents = [document for document in yaml_reader.load_all(text) if document is not None]
    except ValueError:
        return False
    return bool(documents) and all(
        isinstance(document, dict) and isinstance(document.get("kind"), str) and document.get("apiVersion")
        for document in documents
    )
