"""Where in a document secrets stand, told by what stands beside them: Secrets in other objects, patches, arguments."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.repo.changing import lists, secret_names
from firstlight.repo.changing.comparing import Steps

_PLAIN = frozenset({
    "apiVersion", "kind", "metadata", "name", "namespace", "type", "immutable", "group", "version", "labelSelector",
    "annotationSelector", "optional", "key", "valuesKey", "targetPath", "sops",
})  # fmt: skip
"""What a Secret, or what names one, may have in it besides secrets."""
_DATA = re.compile(r"/?(?:data|stringData)(?:/|$)")
_ITEM = "[]"


class Places:
    """The places of secrets in one document."""

    def __init__(self, value: Any) -> None:
        self._wide: set[Steps] = set()
        self._exact: set[Steps] = set()
        for is_exact, steps in _found(value):
            (self._exact if is_exact else self._wide).add(_narrow(steps) if is_exact else _broad(steps))

    def holds(self, steps: Steps) -> bool:
        """Whether something is in one of them."""
        if self._wide and any(_broad(steps[:end]) in self._wide for end in range(len(steps) + 1)):
            return True
        return bool(self._exact) and any(_narrow(steps[:end]) in self._exact for end in range(1, len(steps) + 1))


def is_keys(value: Any) -> bool:
    """Whether a document is nothing but keys: a kubeconfig or a talosconfig."""
    if not isinstance(value, Mapping):
        return False
    if "contexts" in value and ("context" in value or "users" in value):
        return True
    return isinstance(value.get("users"), list) and ("clusters" in value or value.get("kind") == "Config")


def _broad(steps: Steps) -> Steps:
    """A way with any item of a list in the place of each: items may be told apart in another manner."""
    return tuple(_ITEM if each.startswith("[") else each for each in steps)


def _narrow(steps: Steps) -> Steps:
    """A way to one item of the innermost list."""
    last = max((at for at, each in enumerate(steps) if each.startswith("[")), default=-1)
    return _broad(steps[:last]) + steps[last:] if last >= 0 else steps


def _found(value: Any) -> Iterator[tuple[bool, Steps]]:
    """Ways to secrets, each with whether it is of this item of a list only."""
    waiting: list[tuple[Steps, Any]] = [((), value)]
    while waiting:
        steps, each = waiting.pop()
        if isinstance(each, Mapping):
            for is_exact, way in _of_mapping(each):
                yield is_exact, (*steps, *way)
            waiting += (((*steps, str(key)), child) for key, child in each.items())
        elif isinstance(each, list):
            keys = lists.keys_of(each)
            for at, child in enumerate(each):
                number = f"[{at}]"
                if at and _is_flag(each[at - 1]):
                    yield True, (*steps, number)
                waiting.append(((*steps, number), child))
                if keys:
                    waiting.append(((*steps, lists.label(child, keys)), {} if _is_deep(child) else child))


def _is_deep(value: Any) -> bool:
    """Whether there is more in an item than its own values; what is in it is found by its number, too."""
    return not isinstance(value, Mapping) or any(isinstance(each, Mapping | list) for each in value.values())


def _of_mapping(value: Mapping[str, Any]) -> Iterator[tuple[bool, Steps]]:
    kind, target, path, name = (value.get(each) for each in ("kind", "target", "path", "name"))
    if kind == "Secret":
        yield from ((False, (str(key),)) for key in value if key not in _PLAIN)
    if kind == "ExtensionServiceConfig":
        yield from ((False, (key,)) for key in ("environment", "configFiles"))
    if isinstance(target, Mapping) and "Secret" in str(target.get("kind")):
        yield from ((False, (key,)) for key in ("patch", "patches"))
    if isinstance(path, str) and "op" in value and _DATA.match(path):
        yield False, ("value",)
    if isinstance(path, str) and "op" in value and secret_names.is_secret(path.rpartition("/")[2]):
        yield True, ("value",)
    if isinstance(name, str) and "value" in value and secret_names.is_secret(name):
        yield True, ("value",)
    if is_keys(value):
        yield False, ()


def _is_flag(value: Any) -> bool:
    """Whether an argument is a flag that the next one is the secret of."""
    return (
        isinstance(value, str)
        and value.startswith("-")
        and "=" not in value
        and secret_names.is_secret(value.lstrip("-"))
    )
