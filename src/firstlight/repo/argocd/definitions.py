"""Objects of Argo CD with the files that declare them, their label selectors, and the ways in which they are merged."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import argocd_names
from firstlight.model.place import Place
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import YAML, WorkTree

API = f"{argocd_names.GROUP}/"
KINDS = (argocd_names.APPLICATION, argocd_names.APPLICATION_SET, argocd_names.APP_PROJECT)
MAX_LIST_DEPTH = 4
"""Lists in lists; kubectl writes one."""

Steps = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Definition:
    """One object as the engine would see it: perhaps changed by a kustomization, or made by an ApplicationSet."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    place: Place
    """Where it is written first."""
    document: YamlDocument | None = dataclasses.field(default=None, repr=False)
    """The document it stands in, where its lines can be asked for."""
    steps: Steps = ()
    """The way to it in the document, for an item of a List."""
    doubt: str = ""
    """Why the engine may see something else, or more."""
    is_guessed: bool = False
    """Whether parts of it are not known, such as those of a template that was rendered without all of its values."""

    def at(self, *steps: str | int) -> Place:
        """Where a value of it stands, or the nearest parent that is written there."""
        return self.document.place(*self.steps, *steps) if self.document else self.place

    @property
    def written(self) -> Mapping[str, Any]:
        """The object as it stands in its document, before anything changed it; empty where that is not known."""
        value: Any = self.document.value if self.document else None
        try:
            for step in self.steps:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            return {}
        return mapping(value)

    @property
    def kind(self) -> str:
        """``Application``, ``ApplicationSet`` or ``AppProject``."""
        return str(self.value.get("kind") or "")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata, empty if there is none."""
        return mapping(self.value.get("metadata"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its spec, empty if there is none."""
        return mapping(self.value.get("spec"))

    @property
    def name(self) -> str:
        """Its name, empty if there is none."""
        return text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        """Its namespace as it is written."""
        return text(self.metadata.get("namespace"))

    def annotation(self, name: str) -> str:
        """An annotation, empty if it is not there."""
        return text(mapping(self.metadata.get("annotations")).get(name))


def mapping(value: Any) -> Mapping[str, Any]:
    """A value that ought to be a mapping; an empty one if it is none."""
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """A value that ought to be a list; an empty one if it is none."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """A value that ought to be a string: numbers and booleans as they would be written, nothing as an empty one."""
    if type(value) is str:
        return value
    if value is None or isinstance(value, Mapping | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_one(value: Any) -> bool:
    """Whether a value is an object of Argo CD's own kinds."""
    return (
        isinstance(value, Mapping)
        and value.get("kind") in KINDS
        and text(value.get("apiVersion")).startswith(API)
        and isinstance(value.get("metadata"), Mapping)
    )


def of_tree(tree: WorkTree, *, without: frozenset[str] = frozenset()) -> list[Definition]:
    """Every Application, ApplicationSet and AppProject that stands in a YAML file of its own or among others.

    Args:
        tree: The files.
        without: Directories whose files are templates of something, and no YAML.
    """
    found: list[Definition] = []
    for path in tree.files:
        if not path.endswith((*YAML, ".json")) or is_below(path, without):
            continue
        if not mentions(tree, path, API):
            continue
        found += [each for document in tree.documents(path) for each in of_document(document) if is_one(each.value)]
    return found


def of_document(document: YamlDocument) -> list[Definition]:
    """The objects of a document: itself, or the items of a List."""
    return list(_listed(document, document.value, ()))


def of_manifest(manifest: Manifest) -> Definition:
    """An object that kustomize, or another reader, brings."""
    return Definition(manifest.value, manifest.place, manifest.document, manifest.steps)


def mentions(tree: WorkTree, path: str, word: str) -> bool:
    """Whether a file has a word in it, asked before it is parsed; UTF-16 is taken for a yes."""
    data = tree.bytes(path)
    return data is not None and (word.encode() in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"))


def is_below(path: str, directories: frozenset[str]) -> bool:
    """Whether a file is in one of the directories, however deep."""
    while "/" in path:
        path = path.rpartition("/")[0]
        if path in directories:
            return True
    return False


def _listed(document: YamlDocument, value: Any, steps: Steps) -> Iterator[Definition]:
    if not isinstance(value, Mapping):
        return
    if text(value.get("kind")).endswith("List") and isinstance(value.get("items"), list):
        if len(steps) < 2 * MAX_LIST_DEPTH:
            for number, item in enumerate(value["items"]):
                yield from _listed(document, item, (*steps, "items", number))
        return
    # The line of a document is known; that of an item, or of what stands inside of a text, has to be found.
    is_plain = not steps and type(document) is YamlDocument
    place = Place(document.path, document.line) if is_plain else document.place(*steps)
    yield Definition(value, place, document, steps)


# Label selectors, as generators, clusters and rolling steps use them.


def selector_selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector takes labels; an empty one takes all."""
    wanted = {str(key): text(value) for key, value in mapping(selector.get("matchLabels")).items()}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(expression_fits(mapping(each), labels) for each in items(selector.get("matchExpressions")))


def expression_fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether one expression holds; an operator that is not known never does."""
    key, values = text(expression.get("key")), [text(each) for each in items(expression.get("values"))]
    match text(expression.get("operator")):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


# The ways in which Argo CD lays one value over another.


def helm_merge(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's way: mappings are merged, everything else is replaced, and null takes away."""
    merged = dict(base)
    for key, value in top.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = helm_merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def json_merge_patch(base: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386), as ``.argocd-source.yaml`` is applied."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = json_merge_patch(merged.get(key), value)
    return merged


def strategic_merge_patch(base: Any, patch: Any, *steps: str) -> Any:
    """A strategic merge patch on an Application, as ``templatePatch`` is applied.

    Lists are replaced, but for finalizers, which are added; ``$patch: replace`` and ``$patch: delete`` are known.
    """
    if isinstance(patch, list) and steps[-2:] == ("metadata", "finalizers"):
        kept = base if isinstance(base, list) else []
        return [*kept, *(each for each in patch if each not in kept)]
    if not isinstance(patch, Mapping):
        return patch
    rest = {key: value for key, value in patch.items() if key != "$patch"}
    if patch.get("$patch") == "replace" or not isinstance(base, Mapping):
        base = {}
    if patch.get("$patch") == "delete":
        return {}
    merged = dict(base)
    for key, value in rest.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = strategic_merge_patch(merged.get(key), value, *steps, key)
    return merged


def mergo_fill(dest: Any, source: Any) -> Any:
    """Mergo's way without override: what is empty in ``dest`` comes from ``source``."""
    if isinstance(dest, Mapping) and isinstance(source, Mapping):
        merged = dict(dest)
        for key, value in source.items():
            merged[key] = mergo_fill(dest[key], value) if key in dest else value
        return merged
    return source if _is_empty(dest) else dest


def mergo_override(dest: Any, source: Any) -> Any:
    """Mergo's way with override: what is not empty in ``source`` replaces what is in ``dest``."""
    if isinstance(dest, Mapping) and isinstance(source, Mapping):
        merged = dict(dest)
        for key, value in source.items():
            merged[key] = mergo_override(dest[key], value) if key in dest else value
        return merged
    return dest if _is_empty(source) else source


def _is_empty(value: Any) -> bool:
    return value in (None, "", False, 0) or (isinstance(value, Mapping | list) and not value)
