"""What ``talosctl upgrade-k8s`` does, or would do: new versions of components, and the sync of Talos's manifests."""

import dataclasses
import enum
from typing import Literal

from firstlight.model.cluster import Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

InventoryPolicy = Literal["MustMatch", "AdoptIfNoInventory", "AdoptAll"]
ManifestAction = Literal["created", "configured", "unchanged", "pruned", "changed"]


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

    action: ManifestAction
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


# An upgrade of Talos or Kubernetes before it begins: which machine goes from which version to which, in what order.


class UpgradeProduct(enum.StrEnum):
    """What is upgraded."""

    TALOS = "talos"
    KUBERNETES = "kubernetes"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeCandidate:
    """A machine as it was found, and what the repo would install on it."""

    machine: Machine
    talos: str = ""
    """``v1.13.0``; empty where it does not tell."""
    why: str = ""
    """What is the matter, in words that follow its name: ``does not answer (…)``; empty where it runs."""
    image: str = ""
    """The installer that its declaration comes to, patches included."""
    installed: str = ""
    """The installer that its config names now."""
    extensions: tuple[str, ...] = ()
    """What it runs besides Talos, by name; its schematic is not among them."""
    schematic: str = ""
    """The id of the schematic that it was installed from, if it tells."""
    kubelet: str = ""
    """The version of its kubelet."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredVersion:
    """What the repo says of a version."""

    version: str = ""
    """Empty where it says nothing."""
    place: Place | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineUpgrade:
    """One machine from one version to another."""

    machine: Machine
    before: str
    after: str
    image: str = ""
    """The installer, of Talos only."""
    is_done: bool = False
    """It has that version already, or a later one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRound:
    """All machines to one version, in their order: the next one begins when the one before is well."""

    version: str
    moves: tuple[MachineUpgrade, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to do."""
        return all(each.is_done for each in self.moves)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """The whole of it."""

    cluster: str
    product: UpgradeProduct
    rounds: tuple[UpgradeRound, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()
    """Why it must not begin."""
    warnings: tuple[Diagnostic, ...] = ()
    changes: tuple[str, ...] = ()
    """What becomes of the objects of Talos's own manifests: ``configured Deployment/kube-system/coredns``."""
    repo: str = ""
    """Which line of the repo has to change, or that it says the version already."""

    @property
    def is_done(self) -> bool:
        """Whether every machine has its version."""
        return all(each.is_done for each in self.rounds)

    @property
    def waiting(self) -> tuple[MachineUpgrade, ...]:
        """What is still to be done."""
        return tuple(move for each in self.rounds for move in each.moves if not move.is_done)
