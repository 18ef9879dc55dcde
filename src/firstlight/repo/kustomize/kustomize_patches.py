"""Patches of a kustomization: found, understood, and applied to the objects that they are for.

JSON patches (RFC 6902) change nothing in place.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo.kustomize import object_loader, selectors, strategic_merge
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource
from firstlight.repo.manifest import Manifest

_NOWHERE = Place("")


@dataclasses.dataclass(frozen=True, slots=True)
class KustomizePatch:
    """One entry of ``patches``: what changes, and where."""

    documents: tuple[Any, ...] = dataclasses.field(repr=False)
    """What the patch says, document by document."""
    target: Mapping[str, Any] | None = None
    allow_name_change: bool = False
    allow_kind_change: bool = False

    @property
    def operations(self) -> Sequence[Any] | None:
        """Those of a JSON patch; None for a strategic merge."""
        return self.documents[0] if self.documents and isinstance(self.documents[0], list) else None


def apply(resources: Sequence[KustomizeResource], patch: KustomizePatch) -> list[KustomizeResource]:
    """Objects with a patch applied to those that it is for.

    Raises:
        Problem: It is for none, or cannot be applied.
    """
    if patch.operations is not None:
        return _json(resources, patch, patch.operations)
    merges = [_checked(each) for each in patch.documents]
    if not merges:
        raise KustomizationError("kustomize-patch-wrong", "the patch is empty")
    if patch.target is not None:
        if len(merges) > 1:
            raise KustomizationError("kustomize-patch-wrong", "a patch with a target may hold one document only")
        chosen = {id(each) for each in selectors.select(resources, patch.target)}
        patched = [_merged(each, merges[0], patch) if id(each) in chosen else each for each in resources]
        return [each for each in patched if each is not None]
    found = list(resources)
    for each in merges:
        found = _by_name(found, each, patch)
    return found


def _json(
    resources: Sequence[KustomizeResource], patch: KustomizePatch, operations: Sequence[Any]
) -> list[KustomizeResource]:
    if not patch.target:
        raise KustomizationError("kustomize-patch-wrong", "a JSON patch needs a target")
    chosen = {id(each) for each in selectors.select(resources, patch.target)}
    found = []
    for resource in resources:
        if id(resource) in chosen:
            value = apply_json_patch(resource.value, operations)
            if not isinstance(value, dict):
                raise KustomizationError("kustomize-patch-wrong", "the patch makes something else of an object")
            found.append(resource.remembering().changed(value))
        else:
            found.append(resource)
    return found


def _checked(document: Any) -> Mapping[str, Any]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not document.get("kind"):
        raise KustomizationError(
            "kustomize-patch-wrong", "a strategic merge patch needs apiVersion, kind and metadata.name"
        )
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise KustomizationError(
            "kustomize-patch-wrong",
            "a strategic merge patch needs metadata.name, even where a target says what it is for",
        )
    return document


def _by_name(
    resources: Sequence[KustomizeResource], patch: Mapping[str, Any], entry: KustomizePatch
) -> list[KustomizeResource]:
    wanted = KustomizeResource(patch, Manifest(patch, _NOWHERE)).id
    found = [each for each in resources if each.is_called(wanted)]
    if len(found) != 1:
        name = f"{wanted.gvk.kind} {wanted.namespace}/{wanted.name}".replace("_non_namespaceable_/", "")
        if found:
            raise KustomizationError(
                "kustomize-patch-target-ambiguous", f"several objects are called {name} for the patch"
            )
        raise KustomizationError(
            "kustomize-patch-target-missing",
            f"no object is called {name} for the patch",
            fix=_near(wanted.name, resources),
        )
    patched = [_merged(each, patch, entry) if each is found[0] else each for each in resources]
    return [each for each in patched if each is not None]


def _near(name: str, resources: Sequence[KustomizeResource]) -> str:
    same = sorted(
        {f"{e.gvk.kind} {f'{e.namespace}/' if e.namespace else ''}{e.name}" for e in resources if e.name == name}
    )
    return f"there is {', '.join(same[:3])}" if same else ""


def _merged(resource: KustomizeResource, patch: Mapping[str, Any], entry: KustomizePatch) -> KustomizeResource | None:
    """An object with a merge applied; None where it removes the object."""
    if entry.allow_name_change or entry.allow_kind_change:
        resource = resource.remembering()
    value = strategic_merge.merge(resource.value, patch, shape=strategic_merge.shape_of(resource.gvk))
    if value is strategic_merge.REMOVED:
        return None
    metadata = dict(value.get("metadata") or {})
    if not entry.allow_name_change:
        metadata["name"] = resource.metadata.get("name")
    metadata.pop("namespace", None)
    if "namespace" in resource.metadata:
        metadata["namespace"] = resource.metadata["namespace"]
    kind = value.get("kind") if entry.allow_kind_change else resource.value.get("kind")
    kept = {"kind": kind, "metadata": metadata}
    if "apiVersion" in resource.value:
        kept["apiVersion"] = resource.value["apiVersion"]
    return resource.changed({**value, **kept})


@functools.lru_cache(maxsize=512)
def parsed(text: str) -> tuple[Any, ...]:
    """The documents of an inline patch; some repos have the same one in every second file.

    Raises:
        Problem: It is no YAML.
    """
    contents = yaml_reader.read(text.encode(), "patch", dialect=object_loader.DIALECT)
    broken = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    if broken is not None and not contents.documents:
        raise KustomizationError(
            "kustomize-patch-wrong", f"the patch cannot be read: line {broken.place.line} of it: {broken.message}"
        )
    if contents.documents and isinstance(contents.documents[0].value, list):
        contents = yaml_reader.read(text.encode(), "patch")  # JSON patches are read as Kubernetes reads
    return tuple(each.value for each in contents.documents)


# JSON patches.


_MISSING: Final = object()
COPIED = 100_000
"""Values that the copies of one patch may hold: each could double an object."""


def apply_json_patch(value: Any, operations: Sequence[Any]) -> Any:
    """A value with operations applied one after the other.

    Raises:
        Problem: One of them cannot be applied.
    """
    copied = 0
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise KustomizationError("kustomize-patch-wrong", "an operation of a JSON patch needs op and path")
        if operation.get("op") == "copy":
            copied += _extent(_get(value, _pointer(str(operation.get("from") or ""))))
            if copied > COPIED:
                raise KustomizationError.unknown(
                    "kustomize-too-large", f"a JSON patch that copies more than {COPIED} values is not followed"
                )
        value = _applied(value, operation)
    return value


def _extent(value: Any) -> int:
    """How many values are in one, itself included; one more than may be copied where there are more."""
    waiting, count = [value], 0
    while waiting and count <= COPIED:
        each = waiting.pop()
        count += 1
        waiting.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
    return count


def _applied(value: Any, operation: Mapping[str, Any]) -> Any:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "add":
            return _put(value, path, _operand(operation), operation["path"])
        case "replace":
            if _get(value, path) is _MISSING:
                raise KustomizationError(
                    "kustomize-patch-path-missing", f"there is nothing to replace at {operation['path']}"
                )
            return _edited(value, path, lambda _: _operand(operation), operation["path"])
        case "remove":
            return _removed(value, path, operation["path"])
        case "test":
            found = _get(value, path)
            if (None if found is _MISSING else found) != operation.get("value"):
                raise KustomizationError("kustomize-patch-test-failed", f"the test of {operation['path']} fails")
            return value
        case "move" | "copy" as name:
            origin = str(operation.get("from") or "")
            if not origin:
                raise KustomizationError(
                    "kustomize-patch-wrong", f"the operation at {operation['path']} does not say from where"
                )
            found = _get(value, _pointer(origin))
            if found is _MISSING:
                raise KustomizationError("kustomize-patch-path-missing", f"there is nothing to {name} at {origin}")
            if name == "move":
                value = _removed(value, _pointer(origin), origin)
            return _put(value, path, found, operation["path"])
        case other:
            raise KustomizationError("kustomize-patch-wrong", f"a JSON patch has no operation {str(other)[:40]!r}")


def _operand(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise KustomizationError("kustomize-patch-wrong", f"the operation at {operation['path']} has no value")
    return operation["value"]


def _pointer(text: str) -> tuple[str, ...]:
    if text and not text.startswith("/"):
        raise KustomizationError("kustomize-patch-wrong", f"the path {text[:80]!r} must start with a slash")
    return parts(text)


def parts(pointer: str) -> tuple[str, ...]:
    """The names on the way that a JSON pointer (RFC 6901) describes."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _index(part: str, length: int) -> int:
    """A position in a list; negative ones count from its end."""
    try:
        number = int(part)
    except ValueError:
        raise KustomizationError("kustomize-patch-path-missing", f"{part[:40]!r} is not a position in a list") from None
    return number + length if number < 0 else number


def _get(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part, _MISSING)
        elif isinstance(value, list):
            at = _index(part, len(value))
            value = value[at] if 0 <= at < len(value) else _MISSING
        else:
            return _MISSING
        if value is _MISSING:
            return _MISSING
    return value


def _edited(value: Any, path: Sequence[str], edit: Callable[[Any], Any], text: str) -> Any:
    """A value with what stands at a path edited, which must be there."""
    if not path:
        return edit(value)
    if isinstance(value, dict) and path[0] in value:
        return {**value, path[0]: _edited(value[path[0]], path[1:], edit, text)}
    if isinstance(value, list):
        at = _index(path[0], len(value))
        if 0 <= at < len(value):
            return [*value[:at], _edited(value[at], path[1:], edit, text), *value[at + 1 :]]
    raise KustomizationError("kustomize-patch-path-missing", f"there is nothing that leads to {text}")


def _put(value: Any, path: Sequence[str], new: Any, text: str) -> Any:
    if not path:
        return new
    last = path[-1]

    def edit(parent: Any) -> Any:
        if isinstance(parent, dict):
            return {**parent, last: new}
        if isinstance(parent, list):
            at = len(parent) if last == "-" else _index(last, len(parent) + 1)
            if 0 <= at <= len(parent):
                return [*parent[:at], new, *parent[at:]]
        raise KustomizationError("kustomize-patch-path-missing", f"nothing can be added at {text}")

    return _edited(value, path[:-1], edit, text)


def _removed(value: Any, path: Sequence[str], text: str) -> Any:
    if not path:
        raise KustomizationError("kustomize-patch-wrong", "the whole object cannot be removed by a JSON patch")
    last = path[-1]

    def edit(parent: Any) -> Any:
        if isinstance(parent, dict) and last in parent:
            return {name: each for name, each in parent.items() if name != last}
        if isinstance(parent, list):
            at = _index(last, len(parent))
            if 0 <= at < len(parent):
                return [*parent[:at], *parent[at + 1 :]]
        raise KustomizationError("kustomize-patch-path-missing", f"there is nothing to remove at {text}")

    return _edited(value, path[:-1], edit, text)
