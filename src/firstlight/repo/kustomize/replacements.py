"""Replacements: a value of one object, copied into fields of others."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize import field_specs, selectors
from firstlight.repo.kustomize.resources import Gvk, Id, KustomizationError, KustomizeResource

Edit = Callable[[Any], Any]
LETTERS = 16_000_000
"""That the replacements of one kustomization may write: each can make a text longer, in every object."""


@dataclasses.dataclass
class ReplacementBudget:
    """How many letters may still be written."""

    letters: int = LETTERS

    def spend(self, text: str) -> str:
        """Take what a text costs.

        Raises:
            Problem: There is not enough left.
        """
        self.letters -= len(text)
        if self.letters < 0:
            raise KustomizationError.unknown(
                "kustomize-too-large",
                f"replacements that write more than {LETTERS // 1_000_000} million letters are not followed",
            )
        return text


def apply(
    resources: Sequence[KustomizeResource], replacement: Mapping[str, Any], budget: ReplacementBudget | None = None
) -> list[KustomizeResource]:
    """Objects with one replacement made.

    Args:
        resources: The objects.
        replacement: What is replaced.
        budget: How much it may write, shared with other replacements.

    Raises:
        Problem: Its source or its targets are not there, or it does what is not followed here.
    """
    source = replacement.get("source")
    if isinstance(replacement.get("sourceValue"), str):
        value: Any = replacement["sourceValue"]
    elif isinstance(source, dict):
        value = _source(resources, source)
    else:
        raise KustomizationError("kustomization-field-wrong", "a replacement needs a source")
    found, spending = list(resources), budget or ReplacementBudget()
    targets = replacement.get("targets")
    for target in targets if isinstance(targets, list) else ():
        if not isinstance(target, dict) or not isinstance(target.get("select"), dict):
            raise KustomizationError("kustomization-field-wrong", "a target of a replacement needs select")
        found = [_target(each, target, value, spending) for each in found]
    return found


def _source(resources: Sequence[KustomizeResource], source: Mapping[str, Any]) -> Any:
    wanted = Gvk(*(str(source.get(name) or "") for name in ("group", "version", "kind")))
    name, namespace = str(source.get("name") or ""), str(source.get("namespace") or "")
    found = [each for each in resources if any(_is_source(i, wanted, name, namespace) for i in _ids(each))]
    if len(found) != 1:
        many = "several objects are" if found else "no object is"
        raise KustomizationError(
            "kustomize-replacement-source-missing", f"{many} the source of a replacement: {wanted.kind} {name}".rstrip()
        )
    path = _split(str(source.get("fieldPath") or "metadata.name"))
    value: Any = found[0].value
    for part in path:
        value = _child(value, part)
    if value is None or value in ({}, [], ""):
        raise KustomizationError(
            "kustomize-replacement-source-missing", f"the source of a replacement has no {'.'.join(path)}"
        )
    options = _options(source)
    if delimiter := str(options.get("delimiter") or ""):
        parts = str(value).split(delimiter)
        index = options.get("index", 0)
        if not isinstance(index, int) or not 0 <= index < len(parts):
            raise KustomizationError(
                "kustomize-replacement-source-missing", "the source of a replacement has too few parts for its index"
            )
        value = parts[index]
    return value


def _is_source(each: Id, gvk: Gvk, name: str, namespace: str) -> bool:
    return (
        each.gvk.is_selected(gvk) and (not name or each.name == name) and (not namespace or each.namespace == namespace)
    )


def _ids(resource: KustomizeResource) -> tuple[Id, ...]:
    return (resource.id, *resource.previous_ids)


def _options(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    found = entry.get("options")
    if not isinstance(found, dict):
        return {}
    if found.get("encoding"):
        raise KustomizationError.unknown("kustomize-not-followed", "a replacement with an encoding is not followed")
    return found


def _child(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and part.startswith("[") and "=" in part:
        return next((each for each in value if _is_item(each, part)), None)
    if isinstance(value, list) and part.isdecimal():
        return value[int(part)] if int(part) < len(value) else None
    return None


def _is_item(item: Any, part: str) -> bool:
    key, _, wanted = part.strip("[]").partition("=")
    if not key:
        return selectors.matches(f".*({wanted}).*", str(item)) if not isinstance(item, dict) else False
    return isinstance(item, dict) and key in item and selectors.matches(f".*({wanted}).*", str(item[key]))


def _target(
    resource: KustomizeResource, target: Mapping[str, Any], value: Any, budget: ReplacementBudget
) -> KustomizeResource:
    chosen = target["select"]
    reject = [each for each in _list(target, "reject") if isinstance(each, dict)]
    if not selectors.has_labels(resource, chosen) or not any(selectors.is_named(i, chosen) for i in _ids(resource)):
        return resource
    for each in reject:
        by_labels = bool(each.get("labelSelector") or each.get("annotationSelector"))
        by_name = any(each.get(name) for name in ("group", "version", "kind", "name", "namespace"))
        if by_labels and selectors.has_labels(resource, each):
            return resource
        if by_name and any(selectors.is_named(i, each) for i in _ids(resource)):
            return resource
    options = _options(target)
    changed: Any = resource.value
    for path in _list(target, "fieldPaths") or ["metadata.name"]:
        parts = _split(str(path))
        done: list[bool] = []
        changed = _put(changed, parts, _edit(value, options, done, budget), create=options.get("create") is True)
        if not done:
            raise KustomizationError(
                "kustomize-replacement-target-missing",
                f"{resource.gvk.kind} {resource.name} has no field {path} for a replacement",
            )
    return resource.changed(changed)


def _list(entry: Mapping[str, Any], field: str) -> list[Any]:
    found = entry.get(field)
    if found is not None and not isinstance(found, list):
        raise KustomizationError("kustomization-field-wrong", f"{field} of a replacement must be a list")
    return found or []


def _edit(value: Any, options: Mapping[str, Any], done: list[bool], budget: ReplacementBudget) -> Edit:
    delimiter = str(options.get("delimiter") or "")
    index = options.get("index", 0)
    index = index if isinstance(index, int) else 0

    def edit(old: Any) -> Any:
        done.append(True)
        new = value
        if delimiter:
            parts = str("" if old is None else old).split(delimiter)
            if index < 0:
                parts.insert(0, str(value))
            elif index >= len(parts):
                parts.append(str(value))
            else:
                parts[index] = str(value)
            new = budget.spend(delimiter.join(parts))
        if isinstance(old, str) and not isinstance(new, dict | list):
            return str(new)
        if isinstance(old, int) and not isinstance(old, bool) and isinstance(new, str) and new.isdecimal():
            return int(new)
        return new

    return edit


def _put(value: Any, path: Sequence[str], edit: Edit, *, create: bool) -> Any:
    if not path:
        return edit(value)
    part, rest = path[0], path[1:]
    if isinstance(value, dict):
        if part not in value and not create:
            return value
        made = value.get(part)
        if made is None and rest:
            made = [] if rest[0].startswith("[") and "=" in rest[0] else {}
        return {**value, part: _put(made, rest, edit, create=create)}
    if isinstance(value, list):
        if part == "*":
            return [_put(each, rest, edit, create=create) for each in value]
        if part.isdecimal():
            at = int(part)
            return [_put(each, rest, edit, create=create) if n == at else each for n, each in enumerate(value)]
        if part.startswith("[") and "=" in part:
            return _put_into_items(value, part, rest, edit, create=create)
    if isinstance(value, str):
        raise KustomizationError.unknown(
            "kustomize-not-followed", f"a replacement inside of a text, at {'.'.join(path)[:80]}, is not followed"
        )
    return value


def _put_into_items(value: list[Any], part: str, rest: Sequence[str], edit: Edit, *, create: bool) -> list[Any]:
    found = [_put(each, rest, edit, create=create) if _is_item(each, part) else each for each in value]
    key, _, wanted = part.strip("[]").partition("=")
    if create and key and not any(_is_item(each, part) for each in value):
        found.append(_put({key: wanted}, rest, edit, create=True))
    return found


def _split(path: str) -> tuple[str, ...]:
    """The parts of a path with dots, where what stands in brackets is one part."""
    found: list[str] = []
    waiting: list[str] = []
    for part in field_specs.split_path(path, "."):
        waiting.append(part)
        if waiting[0].startswith("[") and not part.endswith("]"):
            continue
        joined = ".".join(waiting)
        found.append(joined if len(waiting) == 1 or "=" in joined else joined.strip("[]"))
        waiting = []
    return (*found, *([".".join(waiting)] if waiting else ()))
