"""A kustomization file: which one a directory has, and what in it kustomize would refuse."""

import dataclasses
import difflib
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from firstlight.document import within
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.work_tree import YAML, WorkTree

_EMPTY = "the kustomization is empty"

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_FIELDS = {
    "apiVersion", "kind", "metadata", "openapi", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels",
    "commonAnnotations", "patchesStrategicMerge", "patchesJson6902", "patches", "images", "imageTags", "replacements",
    "replicas", "vars", "sortOptions", "resources", "components", "crds", "bases", "configMapGenerator",
    "secretGenerator", "helmGlobals", "helmCharts", "helmChartInflationGenerator", "generatorOptions",
    "configurations", "generators", "transformers", "validators", "buildMetadata",
}  # fmt: skip

_VERSIONS = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Component": "kustomize.config.k8s.io/v1alpha1",
}
_NAMING = (
    "resources", "components", "bases", "crds", "configurations", "generators", "transformers", "validators",
    "patchesStrategicMerge",
)  # fmt: skip
"""Fields that are lists of files."""
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")


class NamedFile(NamedTuple):
    """Something that a kustomization names: mostly a file, a directory, or an address."""

    field: str
    path: str
    """As it is written."""
    key: str = ""
    """What a generator calls it, where that is said."""


@dataclasses.dataclass(frozen=True)
class Kustomization:
    """The instructions of one directory."""

    directory: str
    value: Mapping[str, Any] = dataclasses.field(repr=False)
    file: str = ""
    """Where they are written; empty where there is no file and Flux would make one up."""
    document: YamlDocument | None = dataclasses.field(default=None, repr=False, compare=False)
    diagnostics: tuple[Diagnostic, ...] = ()
    origin: Place | None = None
    """Who else adds to them: the Flux Kustomization, whose own patches and components have no place in the file."""
    own: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """How many entries of a list are the file's own; those after them are the origin's."""

    @property
    def is_component(self) -> bool:
        """Whether it is merged into the kustomization that names it."""
        return self.value.get("kind") == "Component"

    def place(self, *steps: str | int) -> Place:
        """Where a field is written, or else the file, or who adds to it."""
        field, number = (*steps, "", 0)[:2]
        is_added = isinstance(number, int) and number >= self.own.get(str(field), number + 1)
        if self.origin is not None and (is_added or self.document is None):
            return self.origin
        return self.document.place(*steps) if self.document is not None else Place(self.file or self.directory)

    def entries(self, field: str) -> list[Any]:
        """A field that is a list; empty where it is something else, which ``load`` has said."""
        found = self.value.get(field)
        return found if isinstance(found, list) else []

    def text(self, field: str) -> str:
        """A field that is a text."""
        found = self.value.get(field)
        return found if isinstance(found, str) else ""

    def mapping(self, field: str) -> Mapping[str, Any]:
        """A field that is a mapping."""
        found = self.value.get(field)
        return found if isinstance(found, dict) else {}


def file_of(tree: WorkTree, directory: str) -> str:
    """The kustomization file of a directory; empty if it has none."""
    base = "" if directory == "." else f"{directory}/"
    return next((base + name for name in NAMES if tree.is_file(base + name)), "")


def named_files(value: Any) -> Iterator[NamedFile]:
    """All that a kustomization takes in; a text of several lines is a patch itself, and is left out."""
    for field, path, key in _entries(value):
        if isinstance(path, str) and "\n" not in path:
            yield NamedFile(field, path, key)


def _entries(value: Any) -> Iterator[tuple[str, Any, str]]:
    for field in _NAMING:
        yield from ((field, each, "") for each in within.sequence(value, field))
    for field in _WITH_PATH:
        yield from ((field, within.at(each, "path"), "") for each in within.sequence(value, field))
    for each in within.sequence(value, "helmCharts"):
        yield "helmCharts", within.at(each, "valuesFile"), ""
        yield from (("helmCharts", file, "") for file in within.sequence(each, "additionalValuesFiles"))
    for field in _GENERATORS:
        for each in within.sequence(value, field):
            for file in (*within.sequence(each, "files"), *within.sequence(each, "envs"), within.at(each, "env")):
                key, _, path = file.rpartition("=") if isinstance(file, str) else ("", "", None)
                yield field, path, key


def load(tree: WorkTree, directory: str) -> Kustomization | None:
    """The kustomization of a directory; None if it has none."""
    file = file_of(tree, directory)
    if not file:
        return None
    documents = tree.documents(file)
    if not documents:
        return Kustomization(directory, {}, file, diagnostics=_empty(tree, file))
    document = documents[0]
    value = document.value
    if not isinstance(value, dict):
        diagnostic = Diagnostic.error(
            "kustomization-field-wrong", "a kustomization must be a mapping", at=document.place()
        )
        return Kustomization(directory, {}, file, document, (diagnostic,))
    found = Kustomization(directory, value, file, document)
    return dataclasses.replace(found, diagnostics=tuple(_checked(tree, found)))


def forgiven(diagnostics: Iterable[Diagnostic], file: str) -> tuple[Diagnostic, ...]:
    """Diagnostics without those on what Flux puts right: it writes the first file anew, with what it knows of it."""
    found = []
    for each in diagnostics:
        if each.place.path == file and each.code == "kustomization-empty":
            continue
        if each.place.path == file and each.code == "kustomization-field-unknown":
            each = dataclasses.replace(each, severity=Severity.WARNING, message=f"{each.message}, and Flux drops it")
        found.append(each)
    return tuple(found)


def _empty(tree: WorkTree, file: str) -> tuple[Diagnostic, ...]:
    """What to say of a file without documents, unless it is broken, which the tree has said."""
    broken = any(each.place.path == tree.real(file) and each.severity == Severity.ERROR for each in tree.diagnostics)
    return () if broken else (Diagnostic.error("kustomization-empty", _EMPTY, at=Place(file)),)


def _checked(tree: WorkTree, found: Kustomization) -> list[Diagnostic]:
    diagnostics = []
    base = "" if found.directory == "." else f"{found.directory}/"
    also = [name for name in NAMES if tree.is_file(base + name) and base + name != found.file]
    if also:
        message = f"the directory has {also[0]} too, and kustomize refuses to choose"
        diagnostics.append(
            Diagnostic.error("kustomization-file-twice", message, at=Place(found.file), fix="keep one of them")
        )
    kind = str(found.value.get("kind") or "Kustomization")
    version = found.value.get("apiVersion")
    if kind not in _VERSIONS:
        message = f"kind must be Kustomization or Component, not {kind[:40]}"
        diagnostics.append(Diagnostic.error("kustomization-kind-wrong", message, at=found.place("kind")))
    elif version and version != _VERSIONS[kind]:
        message = f"kustomize refuses apiVersion {str(version)[:60]} for a {kind}"
        diagnostics.append(
            Diagnostic.error(
                "kustomization-kind-wrong", message, at=found.place("apiVersion"), fix=f"write {_VERSIONS[kind]}"
            )
        )
    for name, value in found.value.items():
        if name not in _FIELDS:
            near = difflib.get_close_matches(str(name), _FIELDS, n=1)
            hint = f"write {near[0]}" if near else ""
            message = f"kustomize knows no field {str(name)[:60]!r}"
            diagnostics.append(
                Diagnostic.error("kustomization-field-unknown", message, at=found.place(str(name)), fix=hint)
            )
        elif value is not None and not isinstance(value, _type(name)):
            what = {list: "a list", dict: "a mapping", str: "a text"}[_type(name)]
            diagnostics.append(
                Diagnostic.error("kustomization-field-wrong", f"{name} must be {what}", at=found.place(name))
            )
    if all(value in (None, "") for name, value in found.value.items() if name not in ("apiVersion", "kind")):
        diagnostics.append(Diagnostic.error("kustomization-empty", _EMPTY, at=Place(found.file)))
    return diagnostics


def _type(name: str) -> type[list[Any]] | type[dict[str, Any]] | type[str]:
    if name in ("apiVersion", "kind", "namePrefix", "nameSuffix", "namespace"):
        return str
    if name in (
        "metadata", "openapi", "commonLabels", "commonAnnotations", "sortOptions", "helmGlobals", "generatorOptions",
    ):  # fmt: skip
        return dict
    return list


# What an engine adds to the kustomization of a directory before it is built.


_REPLACED = ("namespace", "namePrefix", "nameSuffix")
_APPENDED = ("components", "patches", "patchesStrategicMerge", "patchesJson6902")


@dataclasses.dataclass(frozen=True)
class Overlay:
    """Fields of a kustomization, and who adds them."""

    place: Place
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def laid_over(kustomization: Kustomization, overlay: Overlay) -> Kustomization:
    """A kustomization as the engine would write it to disk before it builds."""
    value = dict(kustomization.value)
    own = {}
    for name in _REPLACED:
        if name in overlay.fields:
            value[name] = overlay.fields[name]
    for name in _APPENDED:
        if more := overlay.fields.get(name):
            own[name] = len(kustomization.entries(name))
            value[name] = [*kustomization.entries(name), *more]
    if images := overlay.fields.get("images"):
        value["images"] = _images(kustomization.entries("images"), images)
    return dataclasses.replace(kustomization, value=value, own=own, origin=overlay.place)


def _images(own: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Both lists, an image of the second on top of the one with its name; a tag takes the place of a digest."""
    found = [dict(each) if isinstance(each, dict) else each for each in own]
    for image in more:
        same = next((each for each in found if isinstance(each, dict) and each.get("name") == image.get("name")), None)
        if same is None:
            found.append(image)
            continue
        if image.get("newName"):
            same["newName"] = image["newName"]
        if image.get("newTag") or image.get("digest"):
            same["newTag"], same["digest"] = image.get("newTag"), image.get("digest")
    return found


# The kustomization that Flux makes up for a directory without one.


_NOT_FETCHED = {
    ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml",
    "codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
}  # fmt: skip
_NOT_ENTERED = {".github", ".circleci"}
"""Names that Flux leaves out of what it fetches."""


def generated_kustomization(tree: WorkTree, directory: str) -> Kustomization:
    """All YAML files below a directory; one that has a kustomization of its own is taken as a whole."""
    resources: list[str] = []
    waiting = [""]
    while waiting:
        base = waiting.pop()
        inner = []
        for name in tree.listing(posixpath.normpath(posixpath.join(directory, base))):
            path = f"{base}{name}"
            if name.endswith("/"):
                if name[:-1] in _NOT_ENTERED or tree.real(f"{directory}/{path}"[:-1]) != f"{directory}/{path}"[:-1]:
                    continue  # Flux does not fetch links
                if file_of(tree, posixpath.normpath(posixpath.join(directory, path))):
                    resources.append(path[:-1])
                else:
                    inner.append(path)
            elif name.endswith(YAML) and name not in _NOT_FETCHED:
                resources.append(path)
        waiting += reversed(inner)
    return Kustomization(directory, {"resources": resources})
