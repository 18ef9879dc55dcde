"""Files, directories and URLs with manifests, as kubectl and kustomize are given them."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from firstlight.document import yaml_reader
from firstlight.model import versions
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, Embedded, RemoteSource, Source, Unresolved
from firstlight.repo.manifest import Manifest
from firstlight.repo.scripts import command_context, masked_lines
from firstlight.repo.scripts.command_context import Feed, PathLookup
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText

MAX_FILES = 500
"""Of one directory, whose objects are counted."""
MAX_TEMPLATE = 500_000
"""Characters."""
_UNKNOWN = "?"
_YAML = (".yaml", ".yml", ".json")
_URL = re.compile(r"https?://|git::|ssh://|oci://|github\.com/|git@", re.I)
_COMMON = command_context.flag_names(
    """
    install manifests manifest release components all deploy kustomization resources standard-install
    experimental-install crds crd bundle operator namespace app
    """
)
"""Names of files that say nothing by themselves."""
_TEMPLATES = (".j2", ".jinja", ".jinja2", ".tpl", ".gotmpl", ".tmpl")
_ALONE = re.compile(r"^(?:\{\{[^\n{}]*\}\}|\{%[^\n{}]*%\}|\{#[^\n{}]*#\}|[ \t])+$", re.M)
"""A line of nothing but tags, such as the head of a loop."""
_TAG = re.compile(r"\{%[^{}]*%\}|\{#[^{}]*#\}")
_VALUE = re.compile(r"\{\{[^{}]*\}\}")
_FILLED = "firstlight-value"
"""In the place of a value that only a run would tell."""


@dataclasses.dataclass(frozen=True, slots=True)
class Manifests:
    """Where manifests are, and what is in them."""

    source: Source
    name: str
    objects: tuple[ObjectId, ...] = ()
    version: str = ""
    doubt: str = ""

    @property
    def namespace(self) -> str:
        """The namespace of all objects, if they have one."""
        found = {each.namespace for each in self.objects}
        return next(iter(found)) if len(found) == 1 else ""


def from_path(
    lookup: PathLookup, directory: str | None, path: ExpandedText, *, kustomize: bool, recurse: bool = False
) -> Manifests:
    """What ``-f PATH``, ``-k PATH`` or ``kustomize build PATH`` names."""
    if _URL.match(path.text):
        return _remote(path)
    if not path.text.strip():
        reason = "the files are named by another command"
        return Manifests(Unresolved(text="", reason=reason), "", doubt=reason)
    found = lookup.find(directory, path)
    if not found.path:
        reason = found.doubt or "it is not in the repo"
        text = masked_lines.one_line(path.shown)
        return Manifests(Unresolved(text=text, reason=masked_lines.one_line(reason)), _stem(text), doubt=reason)
    source = DirectorySource(path=found.path, kustomize=kustomize, recurse=recurse or kustomize)
    objects = () if kustomize else ids(lookup, found.path, recurse=recurse)
    is_template = found.path.endswith(_TEMPLATES)
    name = objects[0].name if len(objects) == 1 and objects[0].name and not is_template else _stem(found.path)
    return Manifests(source, name, objects, doubt=found.doubt)


def ids(lookup: PathLookup, path: str, *, recurse: bool = False) -> tuple[ObjectId, ...]:
    """The objects in a file or directory."""
    if lookup.tree.is_file(path):
        paths = [path]
    elif recurse:
        paths = list(lookup.tree.below(path, *_YAML))
    else:
        paths = [posixpath.normpath(f"{path}/{name}") for name in lookup.tree.listing(path) if name.endswith(_YAML)]
    found: list[ObjectId] = []
    for each in paths[:MAX_FILES]:
        text = lookup.tree.text(each) if each.endswith((*_YAML, *_TEMPLATES)) else None
        if text is not None and ("{{" in text or "{%" in text or each.endswith(_TEMPLATES)):
            found += _of_template(text, each)
        elif text is not None:
            found += _ids(document.value for document in lookup.tree.documents(each))
    return tuple(found)


def _of_template(text: str, path: str) -> list[ObjectId]:
    """The objects of a template, as far as it is YAML without its tags; what a tag names is not known."""
    if len(text) > MAX_TEMPLATE:
        return []
    filled = _VALUE.sub(_FILLED, _TAG.sub("", _ALONE.sub("", text)))
    contents = yaml_reader.read(filled.encode("utf-8", errors="replace"), path)
    if any(diagnostic.severity == "error" for diagnostic in contents.diagnostics):
        return []
    return [
        dataclasses.replace(
            each,
            name=_UNKNOWN if _FILLED in each.name else each.name,
            namespace="" if _FILLED in each.namespace else each.namespace,
        )
        for each in _ids(document.value for document in contents.documents)
        if _FILLED not in each.kind
    ]


def _ids(values: Iterable[object]) -> list[ObjectId]:
    found: list[ObjectId] = []
    for value in values:
        if isinstance(value, Mapping) and value.get("kind"):
            items = value.get("items")
            if str(value["kind"]).endswith("List") and isinstance(items, Sequence):
                found += _ids(items)
            else:
                found.append(Manifest(value, Place("")).id)
    return found


def from_feed(feed: Feed, path: str) -> Manifests:
    """What stands in a heredoc."""
    contents = yaml_reader.read(feed.text.text.encode("utf-8", errors="replace"), path)
    objects = tuple(_ids(document.value for document in contents.documents))
    source = Embedded(
        place=Place(path, feed.line), steps=(), size=len(feed.text.text.encode("utf-8", errors="replace"))
    )
    doubt = "" if objects else "no objects are found in it"
    if any(diagnostic.severity == "error" for diagnostic in contents.diagnostics):
        doubt = "it is not YAML before its variables are put in"
    named = [each for each in objects if each.kind != "Namespace"] or objects
    name = next((each.name for each in named if each.name and "$" not in each.name), "")
    return Manifests(source, name, objects, doubt=doubt)


def _remote(path: ExpandedText) -> Manifests:
    url, _, query = path.text.partition("?")
    revision = next((part[4:] for part in query.split("&") if part.startswith("ref=")), "")
    head, _, inner = url.partition("//") if "://" not in url else _after_scheme(url)
    parts = [part for part in url.split("/") if part]
    version = revision or next((part for part in parts if versions.is_url_part(part)), "")
    stem = _stem(url)
    if stem in _COMMON and "github" in url:
        owner = next((n for n, part in enumerate(parts) if "github" in part), 0) + 1
        stem = parts[owner + 1].removesuffix(".git") if len(parts) > owner + 1 else stem
    source: Source = RemoteSource(url=head if inner else url, revision=revision, path=inner)
    if not path.is_known:
        source = Unresolved(
            text=masked_lines.one_line(path.shown), reason=f"{', '.join(path.unknowns)} is only known when it runs"
        )
    return Manifests(source, stem, version="" if "$" in version or "{{" in version else version)


def _after_scheme(url: str) -> tuple[str, str, str]:
    scheme, _, rest = url.partition("://")
    head, separator, inner = rest.partition("//")
    return f"{scheme}://{head}", separator, inner


def _stem(path: str) -> str:
    """A name from a path: the file's, or its directory's where the file's says nothing."""
    clean = path.rstrip("/").split("?")[0]
    parent, name = posixpath.split(clean)
    stem = name.split(".")[0] if name.endswith((*_YAML, *_TEMPLATES, ".enc")) else name
    if stem in _COMMON and not name.endswith(_TEMPLATES) and parent and "://" not in clean:
        return posixpath.basename(parent)
    return stem
