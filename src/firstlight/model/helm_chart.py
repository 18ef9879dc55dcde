"""Helm's nouns: where a chart is, what it says of itself, and the releases of it in a cluster."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from firstlight.model.secret import Secret

ReleaseStatus = Literal[
    "unknown", "deployed", "uninstalled", "superseded", "failed", "uninstalling",
    "pending-install", "pending-upgrade", "pending-rollback",
]  # fmt: skip
ApplyMethod = Literal["server-side", "client-side", ""]
Wait = Literal["hookOnly", "watcher", "legacy"]
DryRun = Literal["none", "client", "server"]


@dataclasses.dataclass(frozen=True)
class LocalChart:
    """A chart in a directory, or an archive of one."""

    path: Path
    within: Path | None = None
    """The tree that its symbolic links must not leave; its own directory if it is not given."""


@dataclasses.dataclass(frozen=True)
class OciChart:
    """A chart in a registry: ``OciChart("oci://ghcr.io/org/charts/cilium", "1.17.0")``."""

    url: str
    version: str = ""
    """A version, or a range of them; the latest if it is not given."""
    digest: str = ""
    """``sha256:…``, which alone decides if it is given."""


@dataclasses.dataclass(frozen=True)
class RepositoryChart:
    """A chart in a repository with an index: ``RepositoryChart("https://helm.cilium.io", "cilium", "1.17.0")``."""

    repository: str
    name: str
    version: str = ""
    """A version, or a range of them; the latest if it is not given."""


ChartReference = LocalChart | OciChart | RepositoryChart


@dataclasses.dataclass(frozen=True)
class ChartDependency:
    """A chart that a chart needs."""

    name: str
    version: str = ""
    repository: str = ""
    condition: str = ""
    alias: str = ""


@dataclasses.dataclass(frozen=True)
class ChartMetadata:
    """What a chart says of itself."""

    name: str
    version: str
    app_version: str = ""
    api_version: str = ""
    kube_version: str = ""
    """Which Kubernetes it is for; empty if it does not say."""
    description: str = ""
    type: str = ""
    """``application`` or ``library``; empty means the former."""
    is_deprecated: bool = False
    dependencies: tuple[ChartDependency, ...] = ()


@dataclasses.dataclass(frozen=True)
class Pulled:
    """A chart that was fetched into a directory."""

    path: Path
    chart: ChartMetadata
    digest: str = ""
    """Of its manifest in a registry; empty if it comes from a repository."""


@dataclasses.dataclass(frozen=True)
class PushedChart:
    """A chart that is in a registry now."""

    reference: str
    digest: str


@dataclasses.dataclass(frozen=True)
class InstalledRelease:
    """A revision of a release in a cluster."""

    name: str
    namespace: str
    revision: int
    status: ReleaseStatus
    chart: str
    chart_version: str
    app_version: str = ""
    updated: datetime.datetime | None = None
    description: str = ""
    apply_method: ApplyMethod = ""
    """How its objects were written; empty where Helm does not say."""
    manifest: Secret | None = None
    """What was rendered, Secrets included; None where it was not asked for."""
    notes: str = dataclasses.field(default="", repr=False)

    @property
    def is_pending(self) -> bool:
        """Whether somebody is at work on it, or was when they died."""
        return self.status.startswith("pending-") or self.status == "uninstalling"


@dataclasses.dataclass(frozen=True)
class ReleaseOptions:
    """How a release is written to a cluster; the defaults are Helm's own."""

    server_side: bool | None = None
    """None: as the release was written before, and on the server if it is new."""
    force_conflicts: bool = False
    """Take fields from other managers, which only writing on the server can do."""
    take_ownership: bool = False
    """Also write objects that are there already and do not belong to the release."""
    create_namespace: bool = False
    skip_crds: bool = False
    no_hooks: bool = False
    wait: Wait = "hookOnly"
    wait_for_jobs: bool = False
    timeout: float = 300
    """Seconds for each single operation."""
    description: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of the Secret in which Helm keeps the release."""
    dry_run: DryRun = "none"
    skip_schema_validation: bool = False
