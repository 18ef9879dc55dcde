"""Maps merged as helmfile merges them."""

from collections.abc import Mapping
from typing import Any

from firstlight.repo.go_template.limits import MAX_DEPTH


def override(base: Mapping[str, Any], over: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Maps are merged by key; everything else, lists too, is replaced."""
    merged = dict(base)
    for key, value in over.items():
        here = merged.get(key)
        if isinstance(here, Mapping) and isinstance(value, Mapping) and depth < MAX_DEPTH:
            merged[key] = override(here, value, depth=depth + 1)
        else:
            merged[key] = value
    return merged


def layered(base: Mapping[str, Any], over: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Maps are merged by key, lists are joined, and what is empty replaces nothing: for bases and templates."""
    merged = dict(base)
    for key, value in over.items():
        here = merged.get(key)
        if isinstance(here, Mapping) and isinstance(value, Mapping) and depth < MAX_DEPTH:
            merged[key] = layered(here, value, depth=depth + 1)
        elif isinstance(here, list) and isinstance(value, list):
            merged[key] = [*here, *value]
        elif here is None or value not in (None, ""):
            merged[key] = value
    return merged
