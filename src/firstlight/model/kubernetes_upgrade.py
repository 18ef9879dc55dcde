"""What ``talosctl upgrade-k8s`` does, or would do: new versions of components, and the sync of Talos's manifests."""

import dataclasses
from typing import Literal

InventoryPolicy = Literal["MustMatch", "AdoptIfNoInventory", "AdoptAll"]
Action = Literal["created", "configured", "unchanged", "pruned", "changed"]


@dataclasses.dataclass(frozen=True)
class ComponentUpdate:
    """A component of one machine that gets another version."""

    component: str
    node: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class ManifestChange:
    """What happens to one object of the manifests.

    ``changed`` is what clusters below Talos 1.13 say, which do not tell created from configured.
    """

    action: Action
    subject: str
    """Kind, namespace and name, with slashes; below Talos 1.13 with the API version before the kind."""
    diff: str = ""
    """As a patch; masked if the object is a Secret."""


@dataclasses.dataclass(frozen=True)
class KubernetesUpgrade:
    """The whole run."""

    is_dry_run: bool
    updates: tuple[ComponentUpdate, ...]
    manifests: tuple[ManifestChange, ...]
    text: str
    """All that was printed, with the contents of Secrets masked."""

    @property
    def pruned(self) -> tuple[ManifestChange, ...]:
        """Objects that are deleted, or would be."""
        return tuple(change for change in self.manifests if change.action == "pruned")
