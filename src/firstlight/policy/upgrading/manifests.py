"""What ``talosctl upgrade-k8s`` would do to objects, held against who owns them: Git's are not touched by Talos.

Talos brings its manifests into force with every upgrade of Kubernetes. An inline manifest from the day of the bootstrap
puts an object back to what it was then, and one that Talos once had and has no more is deleted: so CNIs are lost.
"""

import re
from collections.abc import Iterator, Sequence

from firstlight.model.kubernetes_upgrade import KubernetesUpgrade
from firstlight.model.node_upgrade import Refusal

SHOWN = 5
_DEPRECATED = re.compile(r"(?P<resource>[a-z]+\.v\d\S*)\s+(?P<count>\d+)")
_RELEASE = "Let Talos release what Git owns: firstlight handover."
_ACCEPT = "Or agree to it: --accept-manifests"


def refusals(
    *, written: Sequence[str], deleted: Sequence[str], besides: Sequence[str], unknown: str = "", is_pruned: bool = True
) -> Iterator[Refusal]:
    """What nobody has agreed to.

    Args:
        written: Objects of Git that would be written over.
        deleted: Objects of Git that would be deleted.
        besides: What else would be deleted.
        unknown: Why it is not known.
        is_pruned: Whether anything would be deleted at all.
    """
    if unknown:
        yield Refusal(f"what the upgrade would do to Talos's manifests is not known: {unknown}", _ACCEPT)
    if written:
        yield Refusal(f"it would write over {_some(written)}, which Git owns", f"{_RELEASE} {_ACCEPT}")
    if deleted and is_pruned:
        yield Refusal(f"it would delete {_some(deleted)}, which Git owns", f"{_RELEASE} Or delete nothing: --no-prune")
    if besides and is_pruned:
        hint = f"Delete nothing: --no-prune. {_ACCEPT}"
        yield Refusal(f"it would delete {_some(besides)}, which no manifest brings any more", hint)


def changes(upgrade: KubernetesUpgrade) -> tuple[str, ...]:
    """What happens to each object that does not stay as it is."""
    return tuple(f"{each.action} {each.subject}" for each in upgrade.manifests if each.action != "unchanged")


def deprecated(upgrade: KubernetesUpgrade) -> Iterator[str]:
    """The kinds that the new version serves no more in the version that is used, as talosctl counts them."""
    for line in upgrade.text.splitlines():
        if match := _DEPRECATED.fullmatch(line.strip()):
            yield f"{match['count']} {match['resource']}: deprecated or gone in the new version"


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
