"""How items of lists are told apart, and where their order means something."""

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from firstlight.repo.secrecy import secret_text

Keys = tuple[str, ...]

_SHORT = 10
"""Characters of a text in which no token or address with a password can be."""

_COMBINATIONS: tuple[Keys, ...] = (
    ("name",), ("namespace", "name"), ("kind", "name"), ("kind", "namespace", "name"), ("group", "kind", "name"),
    ("containerPort",), ("containerPort", "protocol"), ("port",), ("port", "protocol"), ("mountPath",),
    ("mountPath", "subPath"), ("devicePath",), ("ip",), ("topologyKey",), ("topologyKey", "whenUnsatisfiable"),
    ("secretKey",), ("recipient",), ("fp",), ("arn",), ("hostname",), ("interface",), ("network",), ("device",),
    ("destination",), ("host",), ("path",), ("repoURL", "chart"), ("repoURL", "path"), ("repo",), ("ref",), ("alert",),
    ("record",), ("uid",), ("id",), ("key",), ("idName",), ("cidr",), ("address",),
)  # fmt: skip
"""What tells items apart, the surest first; of several keys any but the first may be missing."""

_ORDERED = frozenset({
    "initContainers", "patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers", "generators",
    "validators", "replacements", "valuesFrom", "substituteFrom", "valueFiles", "values", "valuesTemplate", "secrets",
    "cmds", "steps", "middlewares", "filters", "http", "plugins", "bases", "environments", "hooks", "postRenderers",
    "configPatches", "additionalValuesFiles", "envFrom", "route", "routes", "receivers", "pipeline",
    "sources", "keys", "providers",
})  # fmt: skip
"""Lists in which a later item wins over, or comes after, an earlier one, though each has a name."""

_SETS = frozenset({
    "resources", "crds", "finalizers", "accessModes", "verbs", "apiGroups", "resourceNames", "nonResourceURLs", "hosts",
    "hostnames", "dnsNames", "ipAddresses", "uris", "usages", "add", "drop", "certSANs", "namespaces", "policyTypes",
    "officialExtensions", "needs", "shortNames", "categories", "required", "enum", "mountOptions",
    "dependsOn", "sourceRepos", "sourceNamespaces", "podCIDRs", "loadBalancerSourceRanges", "externalIPs", "topics",
    "additionalApiServerCertSans", "additionalMachineCertSans", "bandwidths", "machines",
})  # fmt: skip
"""Lists of plain values of which only the members count. All engines sort the resources of a kustomization anew."""


def encoded(value: Any) -> bytes:
    """A value as bytes that are the same for the same value, whatever the order of keys; ``true`` is not ``1``."""
    try:
        return msgspec.json.encode(value, order="sorted", enc_hook=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(value).encode(errors="backslashreplace")


def is_plain(value: Any) -> bool:
    """Whether it is neither a mapping nor a list."""
    return not isinstance(value, Mapping | list)


def keys_of(*lists: Sequence[Any]) -> Keys | None:
    """The keys that tell the items of every list apart; None where none do."""
    items = [item for each in lists for item in each]
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    for keys in _COMBINATIONS:
        if all(_identifies(item, keys) for item in items) and all(_is_unique(each, keys) for each in lists):
            return keys
    return None


def _identifies(item: Mapping[str, Any], keys: Keys) -> bool:
    first = item.get(keys[0])
    if isinstance(first, bool) or not isinstance(first, str | int) or first == "":
        return False
    return all(isinstance(item.get(key), str | int | None) for key in keys[1:])


def _is_unique(items: Sequence[Mapping[str, Any]], keys: Keys) -> bool:
    return len({label(item, keys) for item in items}) == len(items)


def label(item: Mapping[str, Any], keys: Keys) -> str:
    """An item of a list as a step: ``[name=web]``."""
    return "[" + ",".join(f"{key}={_told(item[key])}" for key in keys if item.get(key) is not None) + "]"


def _told(value: Any) -> str:
    """What tells an item apart, without a password or a token that is part of it."""
    shown = str(value)
    return secret_text.masked(shown) if len(shown) > _SHORT else shown


def is_ordered(name: str, items: Sequence[Any]) -> bool:
    """Whether the order of items means something that have names.

    Args:
        name: The key that the list stands under.
        items: What is in it.
    """
    if name == "env":  # a variable sees only those above it
        return any(isinstance(item, Mapping) and "$(" in str(item.get("value", "")) for item in items)
    if name == "rules":  # those of Kyverno have names, and are tried in this order
        return any(isinstance(item, Mapping) and "name" in item for item in items)
    return name in _ORDERED


def is_set(name: str, parent: Any) -> bool:
    """Whether only the members of a list of plain values count.

    Args:
        name: The key that the list stands under.
        parent: The mapping that has the key.
    """
    if name == "values":
        return isinstance(parent, Mapping) and "operator" in parent
    return name in _SETS


def multiset(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Indexes of what only one of two lists has, the order aside: of the first, and of the second."""
    return _beyond(before, after), _beyond(after, before)


def _beyond(mine: Sequence[Any], theirs: Sequence[Any]) -> list[int]:
    left = collections.Counter(encoded(each) for each in theirs)
    found = []
    for number, each in enumerate(mine):
        code = encoded(each)
        if left[code] > 0:
            left[code] -= 1
        else:
            found.append(number)
    return found
