"""A new patch, where a field cannot be edited for one cluster alone, or nothing of the repo sets it."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import writing
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import transformers, ways
from firstlight.repo.aligning.holders import Found, Holder
from firstlight.repo.aligning.wish import Steps, Wish

_MERGED = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name", "volumes": "name",
    "volumeMounts": "mountPath", "imagePullSecrets": "name",
}  # fmt: skip
"""Lists of built-in kinds whose items a strategic merge tells apart by one key."""
_BUILT_IN = ("", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io")


def candidates(holder: Holder, wish: Wish, *, value: Any, name: str) -> Found:
    """One more entry of ``patches``.

    Args:
        holder: The kustomization.
        wish: The field.
        value: The object as it is applied.
        name: What the object is called before anything is added to its name.
    """
    if holder.has_images and (image := transformers.entry(wish)):
        at: Steps = ("images", len(holder.entries("images")))
        yield from holder.make(at, image, holder.rank, f"images in {holder.says}")
    steps: Steps = ("patches", len(holder.entries("patches")))
    for text in patches(wish, value=value, name=name):
        target = {"kind": wish.object.kind, "name": name}
        if wish.object.group not in _BUILT_IN:
            target = {"group": wish.object.group, **target}
        yield from holder.make(steps, {"target": target, "patch": text}, holder.rank, f"a patch in {holder.says}")


def patches(wish: Wish, *, value: Any, name: str) -> Iterator[str]:
    """Patches that may bring a wish about: a strategic merge, which kustomize may put lists in another order for."""
    if wish.is_gone:
        yield _merge_text(wish, value, {"$patch": "delete"}, name)
        return
    merged = _merged(wish.steps, wish.after, value, is_built_in=wish.object.group in _BUILT_IN)
    if merged is not None:
        yield _merge_text(wish, value, merged, name)
    if merged is None or any(isinstance(each, int) for each in wish.steps):
        yield writing.dump([_operation(wish)])


def _merge_text(wish: Wish, value: Any, merged: Mapping[str, Any], name: str) -> str:
    metadata = {"name": name, **merged.get("metadata", {})}
    version = value.get("apiVersion") if isinstance(value, Mapping) else ""
    rest = {key: each for key, each in merged.items() if key not in ("metadata", "apiVersion", "kind")}
    return writing.dump({"apiVersion": version, "kind": wish.object.kind, "metadata": metadata, **rest})


def _merged(steps: Steps, new: Any, value: Any, *, is_built_in: bool) -> Any:
    """A strategic merge with one field; None where only a JSON patch can say it."""
    if not steps:
        return None if new is ABSENT else new
    step, rest = steps[0], steps[1:]
    inner = ways.at(value, (step,))
    if isinstance(step, int):
        return None
    following = rest[0] if rest else None
    if isinstance(following, int):
        key = _MERGED.get(step) if is_built_in else None
        item = ways.at(inner, (following,))
        item = new if item is ABSENT and len(rest) == 1 else item
        if key is None or not isinstance(item, Mapping) or key not in item or (len(rest) == 1 and new is ABSENT):
            return None
        below = _merged(rest[1:], new, item, is_built_in=is_built_in)
        return None if not isinstance(below, Mapping) else {step: [{key: item[key], **below}]}
    if not rest:
        return {step: None if new is ABSENT else new} if not isinstance(new, list) or inner is ABSENT else None
    below = _merged(rest, new, inner, is_built_in=is_built_in)
    return None if below is None else {step: below}


def _operation(wish: Wish) -> dict[str, Any]:
    pointer = "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in wish.steps)
    if wish.after is ABSENT:
        return {"op": "remove", "path": pointer}
    is_new_item = wish.before is ABSENT and isinstance(wish.steps[-1], int)
    if is_new_item:
        pointer = f"{pointer.rpartition('/')[0]}/-"
    return {"op": "add" if wish.before is ABSENT else "replace", "path": pointer, "value": wish.after}
