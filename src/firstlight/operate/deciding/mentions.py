"""Where a repo still speaks of an address range that a change takes away: nobody sees that in the change."""

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

from firstlight.model.change import Change, Matter
from firstlight.repo.work_tree import YAML, WorkTree

_RANGES = frozenset({"podSubnets", "serviceSubnets", "clusterPodNets", "clusterSvcNets", "pods", "services"})
_MATTERS = (Matter.MACHINE, Matter.PLATFORM)
_OF_CILIUM = re.compile(
    r"\b(ipv[46]NativeRoutingCIDR|ipv[46]-native-routing-cidr|clusterPoolIPv[46]PodCIDRList|cluster-pool-ipv[46]-cidr)\b"
)
_MOST = 12


def of_ranges(changes: Iterable[Change], tree: WorkTree) -> tuple[str, ...]:
    """Each line that has a range which goes, or that Cilium is told its own by, as ``values.yaml:12``."""
    old = {each for change in changes if change.matter in _MATTERS for each in _gone(change)}
    if not old:
        return ()
    found = [place for path in tree.files if path.endswith(YAML) for place in _places(tree, path, old)]
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return (*found[:_MOST], *more)


def _gone(change: Change) -> Iterator[str]:
    """The ranges that were there, and are not any more."""
    fields = [each for each in change.fields if _RANGES & set(each.steps)]
    kept = {text for each in fields for text in _networks(each.after)}
    yield from (text for each in fields for text in _networks(each.before) if text not in kept)


def _networks(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str) and "/" in each:
            with contextlib.suppress(ValueError):
                yield str(ipaddress.ip_network(each))


def _places(tree: WorkTree, path: str, old: set[str]) -> Iterator[str]:
    text = tree.text(path) or ""
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.partition(" #")[0]
        key = _OF_CILIUM.search(said)
        if key is not None:
            yield f"{path}:{number} ({key[1]})"
        elif not said.lstrip().startswith("#") and any(_has(said, each) for each in old):
            yield f"{path}:{number}"


def _has(line: str, network: str) -> bool:
    return re.search(rf"(?<![\d.:]){re.escape(network)}(?!\d)", line) is not None
