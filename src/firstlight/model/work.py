"""What each step of a plan is to do, as data: the objects, charts, drafts and references that its action needs.

A plan says what comes after what; the work says with what. No secret value is in it, only references.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from firstlight.model import helm_chart
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.machine_config import MachineDraft
from firstlight.model.plan import Plan
from firstlight.model.platform import FoundationSecret
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Configure:
    """Give machines their configs."""

    drafts: tuple[MachineDraft, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SyncTemplate:
    """Give Omni a cluster template; it configures machines and bootstraps etcd by itself."""

    template: Path
    directory: Path
    """Where the files are that the template names."""
    cluster: str
    """Its name in Omni, which may be another than here."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEtcd:
    """Start etcd, once in the life of a cluster."""

    first: Machine
    control_planes: tuple[Machine, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FetchKubeconfig:
    """Come by the way to the API."""

    control_planes: tuple[Machine, ...]
    omni: str = ""
    """The name of the cluster in Omni, where that is asked instead of machines."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TalosApplies:
    """Wait until Talos has applied its manifests; it does so by itself."""

    manifests: tuple[str, ...] = ()
    """Names of inline manifests."""
    objects: tuple[ObjectId, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """Server-side apply of objects, as the manager that owns them in the end."""

    objects: tuple[Object, ...]
    manager: str
    managers: Mapping[ObjectId, str] = dataclasses.field(default_factory=dict)
    """Those that somebody else owns in the end."""
    once: frozenset[ObjectId] = frozenset()
    """Those that are only created: if one is there, as whatever, it is left alone; a later step has the whole of it.
    Were a FluxInstance applied again without its ``sync``, its operator would delete everything that Git brought."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A Helm release, with everything that Helm is given."""

    name: str
    namespace: str
    chart: helm_chart.LocalChart
    """Fetched already, and pinned."""
    version: str
    values: Secret = dataclasses.field(repr=False)
    """As JSON: Git may hold some of it encrypted."""
    digest: str = ""
    """Of all files of the chart: charts change without a new version."""
    options: helm_chart.ReleaseOptions = dataclasses.field(default_factory=helm_chart.ReleaseOptions)
    hooks_disabled: bool = False
    once: bool = False
    """Only installed: a release that is deployed is left alone, whatever its values; a later step has all of them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """Helm releases, and the plain objects beside them."""

    releases: tuple[Installation, ...]
    objects: tuple[Object, ...] = ()
    """All that the component deploys, those of the releases included: gates and idempotency look at them."""
    beside: tuple[Object, ...] = ()
    """Those that no release brings; applied like others."""
    manager: str = ""
    """As whom the objects beside are applied."""
    managers: Mapping[ObjectId, str] = dataclasses.field(default_factory=dict)
    """Those beside that somebody else owns in the end."""
    is_kept: bool = False
    """Whether bootstrap keeps them: a HelmRelease that rests has let go of its release then."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CreateSecret:
    """A Secret of the foundation; its values are resolved when it is written."""

    secret: FoundationSecret
    manager: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SaveBaseline:
    """Keep how everything is before Git takes over."""

    objects: tuple[ObjectId, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOwners:
    """Make the engine's managers own what bootstrap applied under other names."""

    passing: tuple[Passing, ...]
    is_loss_allowed: bool = False
    """Whether somebody agreed that fields which Git does not have disappear: ``handover --allow-loss``."""
    is_again: bool = False
    """Whether what a final certificate covers is looked at again: what comes later is the engine's, until asked for."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFromTalos:
    """Make Talos forget what the engine owns: configs of all control planes, inventory, annotations."""

    manifests: tuple[str, ...]
    """Names of inline manifests, or URLs of extra ones, whose objects all pass to the engine."""
    passing: tuple[Passing, ...]
    """What of it the engine owns; nothing is released before that is so."""
    control_planes: tuple[Machine, ...]
    kept: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Components that Talos keeps although the engine takes them over, and why."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Certify:
    """Prove that the handover was complete and harmless, and keep the evidence."""

    passing: tuple[Passing, ...]
    released: tuple[str, ...] = ()
    """Inline manifests that Talos must not have any more."""
    control_planes: tuple[Machine, ...] = ()
    staying: tuple[ObjectId, ...] = ()
    """What passes, and Talos or Omni keeps as well: their manifest is not released."""
    kept: tuple[str, ...] = ()
    """Components that bootstrap keeps."""
    is_restart_accepted: bool = False
    """Whether somebody agreed already that pods are others than before: ``handover --accept-restarts``."""
    is_again: bool = False
    """Whether what was proven before is tried again, and proven anew where it does not hold: ``handover``."""
    revision: str = ""
    key: Path | None = None
    """The user's SSH key that signs it, if asked for: ``handover --sign KEY``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Write nothing: the gates tell."""

    revision: str = ""
    """The commit that the engine must have applied; empty where any will do."""
    objects: tuple[Object, ...] = ()
    """What somebody else brings, where the gate does not name it: the source, the roots."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Not done here; the reason is shown."""

    why: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Cannot be done as the repo has it, and what needs it must not begin."""

    why: str
    hint: str = ""


Task = (
    Configure
    | SyncTemplate
    | BootstrapEtcd
    | FetchKubeconfig
    | TalosApplies
    | Apply
    | Install
    | CreateSecret
    | SaveBaseline
    | MigrateOwners
    | ReleaseFromTalos
    | Certify
    | Watch
    | Leave
    | Refuse
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """A plan with what each of its steps is to do."""

    cluster: Cluster
    plan: Plan
    tasks: Mapping[str, Task]
    """By step id; each step has one."""
    revision: str = ""
    """The commit that was rendered."""
