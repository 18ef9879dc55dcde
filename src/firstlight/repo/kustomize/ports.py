"""Lists whose items are told apart by several fields, such as ports: merged as kustomize does it, step by step.

It is not simple, and where only one side names the protocol of a port, what the patch says gets lost. What comes out is
what a cluster gets, so the steps are those of kustomize's own ``walk`` package, in plain lists.
"""

from collections.abc import Callable, Sequence
from typing import Any

Keys = Sequence[str]


def merged(
    target: Sequence[Any], patch: Sequence[Any], keys: Keys, *, merge: Callable[[Any, Any], Any], removed: object
) -> list[Any]:
    """A list with a patch merged into it.

    Args:
        target: The list, which is not changed.
        patch: What is merged.
        keys: The fields that tell items apart.
        merge: Merges an item of the patch into one of the list, or into nothing.
        removed: What that gives where the patch removes the item.
    """
    old = [dict(each) if isinstance(each, dict) else each for each in target]
    known = list(dict.fromkeys(_values(each, keys) for each in (*patch, *old) if isinstance(each, dict)))
    _align(known)
    used = [key for number, key in enumerate(keys) if any(each[number] for each in known)] or list(keys)
    items: list[Any] = []
    for each in known:
        wanted = [text for key, text in zip(keys, each, strict=True) if key in used]
        named = [(key, text) for key, text in zip(used, wanted, strict=True) if text] or list(
            zip(used, wanted, strict=True)
        )
        before, after = _first(old, named), _first(patch, named)
        new = before if after is None else merge(before, after)
        if new is removed or not new:
            _put(old, None, used, wanted)
            continue
        if before is not None and new is not before:
            before.clear()
            before.update(new)
            new = before
        for key, text in zip(used, wanted, strict=True):
            if key not in new and text:
                new[key] = int(text) if text.isdecimal() else text
        _put(items, new, used, wanted)
    for item in old:
        _append(items, item, used)
    return items


def _values(item: dict[str, Any], keys: Keys) -> tuple[str, ...]:
    return tuple("" if item.get(key) is None else str(item[key]) for key in keys)


def _align(known: list[tuple[str, ...]]) -> None:
    """Items that differ only in what one of them leaves out are taken for the same."""
    for first in range(len(known)):
        for second in range(len(known)):
            pairs = list(zip(known[first], known[second], strict=True))
            if any(a == b for a, b in pairs) and all(a == b or not a or not b for a, b in pairs):
                known[first] = known[second] = tuple(a or b for a, b in pairs)


def _first(items: Sequence[Any], named: Sequence[tuple[str, str]]) -> Any:
    for item in items:
        if isinstance(item, dict) and all(key in item and str(item[key]) == text for key, text in named):
            return item
    return None


def _append(items: list[Any], item: Any, keys: Keys) -> None:
    texts = []
    for key in keys:
        if isinstance(item, dict) and item.get(key) is not None:
            texts.append(str(item[key]))
        else:
            items.append(item)
    if len(keys) > 1:
        _put(items, None, keys, texts)
    _put(items, item, keys, texts)


def _put(items: list[Any], new: Any, keys: Keys, texts: Keys) -> None:
    """Replace the items with these keys, or remove them; what is new to the list goes to its end."""
    kept: list[Any] = []
    is_found = False
    for item in items:
        if item is None or item == {}:
            continue
        if not isinstance(item, dict):
            kept.append(item)
        elif not _matches(item, keys, texts):
            kept += [item] if texts else []
        else:
            is_found = True
            kept += [] if new is None else [new]
    items[:] = kept
    if new is not None and not is_found:
        items.append(new)


def _matches(item: dict[str, Any], keys: Keys, texts: Keys) -> bool:
    """Whether an item has the keys; fields for which no text is left are not looked at, which is kustomize's doing."""
    if not texts:
        return False
    pairs = list(zip(keys, texts, strict=False))
    return all(item.get(key) is not None and (not text or str(item[key]) == text) for key, text in pairs)
