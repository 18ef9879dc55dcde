"""Which version of a thing a set of manifests is, guessed from labels and images."""

import collections
import dataclasses
import posixpath
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import helm_names, talos_documents, versions
from firstlight.model.component import ObjectId, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, Embedded, RemoteSource, Source, Unresolved
from firstlight.repo.go_template import unknown_values
from firstlight.repo.manifest import Manifest
from firstlight.repo.talos import config_facts, embedded_yaml
from firstlight.repo.talos.config_files import DELETE, ConfigDocument, mapping, sequence, text_of
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.work_tree import WorkTree


def version_of(objects: Iterable[Mapping[str, Any]], name: str) -> str:
    """The version that most objects claim: the chart's, the application's, or the tag of an image of that name."""
    charts: collections.Counter[str] = collections.Counter()
    applications: collections.Counter[str] = collections.Counter()
    images: list[str] = []
    for each in objects:
        labels = mapping(mapping(each.get("metadata")).get("labels"))
        if chart := versions.split_chart_label(str(labels.get(helm_names.CHART_LABEL, ""))):
            charts[chart[1]] += 1
        application = str(labels.get("app.kubernetes.io/version", ""))
        if versions.is_label(application):
            applications[application] += 1
        images += _images(each)
    for counted in (charts, applications):
        if counted:
            return counted.most_common(1)[0][0]
    return _of_images(images, name)


def _of_images(images: Iterable[str], name: str) -> str:
    tags = {}
    for image in images:
        path, _, tag = image.partition("@")[0].rpartition(":")
        if path and versions.is_label(tag):
            tags[path] = tag
    own = [tag for path, tag in tags.items() if name and name in path.split("/")[1:]]
    if own:
        return own[0]
    return next(iter(tags.values())) if len(set(tags.values())) == 1 else ""


def _images(value: Mapping[str, Any]) -> Iterator[str]:
    """The images of a workload's containers."""
    spec = mapping(value.get("spec"))
    for pod in (
        spec,
        mapping(mapping(spec.get("template")).get("spec")),
        mapping(mapping(mapping(mapping(spec.get("jobTemplate")).get("spec")).get("template")).get("spec")),
    ):
        for key in ("containers", "initContainers"):
            for container in sequence(pod.get(key)):
                image = mapping(container).get("image")
                if isinstance(image, str):
                    yield image


# Kubernetes manifests in machine configs: inline ones with what they hold, extra ones with where they are.


_REPOSITORY_HOSTS = {"github.com", "raw.githubusercontent.com", "gitlab.com", "codeberg.org"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListedManifest:
    """A manifest as a machine config lists it."""

    form: SourceForm
    name: str
    place: Place
    source: Source
    objects: tuple[ObjectId, ...] = ()
    stated: tuple[Manifest, ...] = dataclasses.field(default=(), repr=False, compare=False)
    version: str = ""
    text: str = dataclasses.field(default="", repr=False)
    """The contents, to see whether two are the same."""
    document: str = ""
    """The name of the document that it is; empty for an entry of a list."""
    is_deletion: bool = False
    """Not a manifest: it takes one of this name away."""
    doubt: str = ""
    mode: str = ""
    """Of Omni: ``one-time`` or ``full``."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def subject(self) -> str:
        """What diagnostics about it call it."""
        return f"{self.form} {self.name}"


def listed_manifests(tree: WorkTree, config: ConfigDocument) -> Iterator[ListedManifest]:
    """The manifests of a document of machine config."""
    kind = config_facts.kind_of(config)
    if kind == talos_documents.INLINE:
        yield _named(config, _inline(config, mapping(config.value), (), "manifest"))
    elif kind == talos_documents.EXTERNAL:
        yield _named(config, _external(tree, config))
    elif not kind:
        for index, entry in config.items("cluster", "inlineManifests"):
            yield _inline(config, mapping(entry), ("cluster", "inlineManifests", index), "contents")
        for steps in (
            ("cluster", "extraManifests"),
            ("cluster", "network", "cni", "urls"),
            ("cluster", "externalCloudProvider", "manifests"),
        ):
            for index, entry in config.items(*steps):
                yield _extra(tree, config, entry, (*steps, index))


def _named(config: ConfigDocument, listed: ListedManifest) -> ListedManifest:
    """A manifest that is a document, with what Talos has against its name."""
    listed = dataclasses.replace(listed, document=listed.name)
    name = config.text("name")
    if not name or talos_documents.is_name(name):
        return listed
    wrong = Diagnostic.error(
        "manifest-name-wrong",
        f"{config_facts.kind_of(config)} cannot be called {name!r}",
        at=config.place("name"),
        fix="Use lower-case letters, digits, - and . only (a DNS-1123 subdomain).",
        subject=listed.subject,
    )
    return dataclasses.replace(listed, diagnostics=(*listed.diagnostics, wrong))


def _external(tree: WorkTree, config: ConfigDocument) -> ListedManifest:
    """A manifest by URL that is a document of its own."""
    name = config.shown(str(mapping(config.value).get("name") or ""))
    if mapping(config.value).get(DELETE) == "delete":
        source = Unresolved(text=name, reason="it is taken away")
        place = config.place()
        return ListedManifest(
            form=SourceForm.EXTRA_MANIFEST, name=name, place=place, source=source, is_deletion=True
        )  # fmt: skip
    return _extra(tree, config, mapping(config.value).get("url"), ("url",), name=name)


def _inline(config: ConfigDocument, entry: Mapping[str, Any], steps: tuple[Step, ...], key: str) -> ListedManifest:
    place = config.place(*steps)
    name = config.shown(str(entry.get("name") or ""))
    document, way = config.way(*steps, key)
    source = Embedded(place=Place(document.path, document.line), steps=way)
    listed = ListedManifest(form=SourceForm.INLINE_MANIFEST, name=name, place=place, source=source)
    if entry.get(DELETE) == "delete":
        return dataclasses.replace(listed, is_deletion=True)
    diagnostics: list[Diagnostic] = []
    if not name:
        diagnostics.append(
            Diagnostic.error(
                "inline-manifest-unnamed",
                "an inline manifest has no name",
                at=place,
                fix="Give it one: Talos refuses it.",
            )
        )
        listed = dataclasses.replace(listed, name=f"line-{place.line}")
    text = entry.get(key)
    if not isinstance(text, str):
        message = f"{key} of the inline manifest {name} is not a text" if key in entry else f"{name} has no {key}"
        hint = f"Write {key}: | and the manifests below it."
        diagnostics.append(
            Diagnostic.error("inline-manifest-without-contents", message, at=place, fix=hint, subject=listed.subject)
        )
        return dataclasses.replace(listed, diagnostics=tuple(diagnostics))
    if text.startswith("ENC["):
        source_unknown = Unresolved(text="encrypted contents", reason="it is encrypted")
        return dataclasses.replace(
            listed, source=source_unknown, doubt="it is encrypted", diagnostics=tuple(diagnostics)
        )
    # Of several lines most are known; a single one may stand for all of them.
    if (line := text.strip()) and "\n" not in line and not text_of(line):
        source_unknown = Unresolved(text=config.shown(line), reason="only a run fills it in")
        return dataclasses.replace(listed, source=source_unknown, doubt=source_unknown.reason)
    contents = config.inside(text, *steps, key)
    objects, wrong = objects_in(contents)
    size = len(config.shown(text).encode(errors="replace"))
    is_written = bool(document.text)
    made = "" if is_written else "an expression makes it"
    return dataclasses.replace(
        listed,
        source=dataclasses.replace(source, size=size) if is_written else Unresolved(text=name, reason=made),
        objects=tuple(_shown(config, each.id) for each in objects),
        stated=tuple(objects),
        version=version_of((each.value for each in objects), name),
        text=text,
        doubt=_doubt(config, text, *steps, key) or made,
        diagnostics=(
            *diagnostics,
            *(
                dataclasses.replace(each, message=f"in the text of manifest {listed.name}: {each.message}")
                for each in contents.diagnostics
            ),
            *wrong,
        ),
    )


def objects_in(contents: embedded_yaml.EmbeddedContents) -> tuple[list[Manifest], list[Diagnostic]]:
    """The Kubernetes objects of a text, those of lists too, and what is none."""
    found: list[Manifest] = []
    diagnostics: list[Diagnostic] = []
    for document in contents.documents:
        place = Place(document.path, document.file_line)
        objects = list(objects_of_document(document, place))
        found += objects
        if not objects:
            message = "this is no Kubernetes object: it needs apiVersion and kind"
            diagnostics.append(
                Diagnostic.error("manifest-not-an-object", message, at=place, fix="Talos refuses the manifest with it.")
            )
    return found, diagnostics


def objects_of_document(document: YamlDocument, place: Place | None = None) -> Iterator[Manifest]:
    """The Kubernetes objects of a document: itself, or the items of a list."""
    value = document.value
    place = place or Place(document.path, document.line)
    if not isinstance(value, Mapping) or not value.get("kind") or not value.get("apiVersion"):
        return
    if str(value["kind"]).endswith("List") and isinstance(value.get("items"), list):
        for index, item in enumerate(value["items"]):
            if isinstance(item, Mapping):
                yield Manifest(item, place, document, ("items", index))
        return
    yield Manifest(value, place, document)


def _doubt(config: ConfigDocument, text: str, *steps: Step) -> str:
    if unknown_values.has_mark(text):
        return "parts of it are variables of a template"
    return "a template writes it only under a condition" if config.is_conditional(*steps) else ""


def _shown(config: ConfigDocument, found: ObjectId) -> ObjectId:
    return ObjectId(*(config.shown(each) for each in dataclasses.astuple(found)))


def _extra(
    tree: WorkTree, config: ConfigDocument, entry: Any, steps: tuple[Step, ...], *, name: str = ""
) -> ListedManifest:
    place = config.place(*steps)
    url = config.shown(entry) if isinstance(entry, str) else ""
    diagnostics: tuple[Diagnostic, ...] = ()
    source: Source = RemoteSource(url=url)
    if not url:
        diagnostics = (
            Diagnostic.error(
                "extra-manifest-not-a-url",
                "an extra manifest is not a URL",
                at=place,
                fix="Write the URL of a manifest.",
            ),
        )
        source = Unresolved(text="", reason="it is not a text")
    elif isinstance(entry, str) and unknown_values.has_mark(entry):
        source = Unresolved(text=url, reason="parts of it are variables of a template")
    elif tree.is_file(posixpath.normpath(url)):
        source = DirectorySource(path=posixpath.normpath(url), kustomize=False, recurse=False)
        message = f"Talos takes URLs, and {url} is a file of the repo"
        diagnostics = (
            Diagnostic.warning(
                "extra-manifest-not-a-url", message, at=place, fix="Write a URL that the machines can reach."
            ),
        )
    doubt = source.reason if isinstance(source, Unresolved) else _doubt(config, "", *steps)
    return ListedManifest(
        form=SourceForm.EXTRA_MANIFEST,
        name=name or name_of_url(url) or f"line-{place.line}",
        place=place,
        source=source,
        version=versions.version_in_url(url),
        text=url,
        doubt=doubt,
        diagnostics=diagnostics,
    )


def name_of_url(url: str) -> str:
    """A name for what a URL holds: the repository's for the usual hosts, else the file's."""
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else f"https://{url}")
        host = parts.hostname or ""
    except ValueError:
        return ""
    path = [each for each in parts.path.split("/") if each]
    if host in _REPOSITORY_HOSTS and len(path) > 1:
        return path[1].removesuffix(".git")
    return re.sub(r"\.(ya?ml|json)$", "", path[-1]) if path else host
