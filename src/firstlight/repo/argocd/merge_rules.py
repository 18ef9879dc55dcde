"""The ways in which Argo CD lays one value over another."""

from collections.abc import Mapping
from typing import Any


def over(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's way: mappings are merged, everything else is replaced, and null takes away."""
    merged = dict(base)
    for key, value in top.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = over(merged[key], value)
        else:
            merged[key] = value
    return merged


def patched(base: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386), as ``.argocd-source.yaml`` is applied."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), value)
    return merged


def strategically_patched(base: Any, patch: Any, *steps: str) -> Any:
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
            merged[key] = strategically_patched(merged.get(key), value, *steps, key)
    return merged


def filled(dest: Any, source: Any) -> Any:
    """Mergo's way without override: what is empty in ``dest`` comes from ``source``."""
    if isinstance(dest, Mapping) and isinstance(source, Mapping):
        merged = dict(dest)
        for key, value in source.items():
            merged[key] = filled(dest[key], value) if key in dest else value
        return merged
    return source if _is_empty(dest) else dest


def overridden(dest: Any, source: Any) -> Any:
    """Mergo's way with override: what is not empty in ``source`` replaces what is in ``dest``."""
    if isinstance(dest, Mapping) and isinstance(source, Mapping):
        merged = dict(dest)
        for key, value in source.items():
            merged[key] = overridden(dest[key], value) if key in dest else value
        return merged
    return dest if _is_empty(source) else source


def _is_empty(value: Any) -> bool:
    return value in (None, "", False, 0) or (isinstance(value, Mapping | list) and not value)
