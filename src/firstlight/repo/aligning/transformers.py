"""Edits of ``images`` and ``replicas``, where a kustomization sets a field with them."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from firstlight.document import within
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning.holders import Found, Holder
from firstlight.repo.aligning.wish import Rank, Steps, Wish

_IMAGE = re.compile(r"^(?P<name>[^@]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?$")


def candidates(holder: Holder, wish: Wish, *, names: Collection[str]) -> Found:
    """Edits of what a kustomization has of both.

    Args:
        holder: The kustomization.
        wish: The field.
        names: What the object is called, and was called before.
    """
    if wish.steps[-1:] == ("image",) and isinstance(wish.before, str) and isinstance(wish.after, str):
        for number, entry in enumerate(holder.entries("images")):
            for steps, value in _image(entry, wish.before, wish.after):
                yield from holder.make(("images", number, *steps), value, Rank.WRITTEN, f"images in {holder.says}")
    if wish.steps[-1:] == ("replicas",):
        for number, entry in enumerate(holder.entries("replicas")):
            if within.text(entry, "name") in names:
                yield from holder.make(
                    ("replicas", number, "count"), wish.after, Rank.WRITTEN, f"replicas in {holder.says}"
                )


def _image(entry: Any, before: str, after: str) -> Iterator[tuple[Steps, Any]]:
    """What of an entry makes another image; one field, or none where it takes more."""
    old, new = parsed(before), parsed(after)
    if isinstance(entry, str):
        # As Argo CD has them: name=other:tag.
        if entry == before or entry.endswith(f"={before}"):
            yield (), f"{entry.removesuffix(before)}{after}"
        return
    name = within.text(entry, "newName") or within.text(entry, "name")
    if name != old["name"]:
        return
    differing = [each for each in ("name", "tag", "digest") if old[each] != new[each]]
    if len(differing) != 1:
        return
    field = {"name": "newName", "tag": "newTag", "digest": "digest"}[differing[0]]
    value = new[differing[0]]
    if value:
        yield (field,), value
    elif within.at(entry, field) is not None:
        yield (field,), ABSENT


def entry(wish: Wish) -> dict[str, str] | None:
    """A new entry of ``images`` that brings a wish about; None where it is no tag or digest that differs."""
    if wish.steps[-1:] != ("image",) or not isinstance(wish.before, str) or not isinstance(wish.after, str):
        return None
    old, new = parsed(wish.before), parsed(wish.after)
    if old["name"] != new["name"] or (old["digest"] and not new["digest"]):
        return None
    changed = {"tag": "newTag", "digest": "digest"}
    fields = {changed[each]: new[each] for each in changed if new[each] and old[each] != new[each]}
    return {"name": old["name"], **fields} if fields else None


def parsed(image: str) -> dict[str, str]:
    """The name, tag and digest of an image; empty where it has none."""
    found = _IMAGE.match(image)
    return {name: (found[name] if found else "") or "" for name in ("name", "tag", "digest")}
