"""What is said over the control socket: wishes in, answers out, both JSON. Bytes are base64."""

import msgspec

from firstlight.lab.sources.declarations import Access, DeclaredWebhook, Level
from firstlight.lab.sources.oci_artifacts import SourceFile
from firstlight.lab.sources.push_webhooks import Delivery
from firstlight.lab.sources.source_faults import ServerName, SourceFault, SourceFaultKind


class ControlRequest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Something that the owner wants."""


class ControlAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What he gets to know."""


class CreateGit(ControlRequest, frozen=True):
    """A Git repository; if it is there, it stays, and only its access changes if that is given."""

    name: str
    access: Access | None = None
    """Everybody may read a new one for which nothing is said."""
    branch: str = "main"
    on_push: bool = False
    """Whether it is made only when somebody pushes to it."""


class RepositoryRequest(ControlRequest, frozen=True):
    """A repository."""

    name: str


class CreateCharts(ControlRequest, frozen=True):
    """A Helm repository; if it is there, it stays, and only its access changes if that is given."""

    name: str
    access: Access | None = None


class SetAccess(ControlRequest, frozen=True):
    """Who may use the repositories of the registry whose names begin so, from now on."""

    name: str
    access: Access


class SetWebhooks(ControlRequest, frozen=True):
    """Who is told of pushes from now on."""

    name: str
    webhooks: tuple[DeclaredWebhook, ...]


class CommitRequest(ControlRequest, frozen=True):
    """Files on a branch; one that is null is removed."""

    name: str
    files: dict[str, SourceFile | None]
    message: str
    branch: str = "main"
    replace: bool = False
    """Whether files that are not given are removed."""


class TagRequest(ControlRequest, frozen=True):
    """A tag in Git."""

    name: str
    tag: str
    target: str
    """A branch, a tag, or the hash of a commit."""


class PushChart(ControlRequest, frozen=True):
    """A chart for a Helm repository, or for the registry below a name."""

    name: str
    archive: bytes
    force: bool = False
    """Whether that version may be there with other content."""


class PushArtifact(ControlRequest, frozen=True):
    """A folder for the registry, in Flux's form."""

    name: str
    tags: tuple[str, ...]
    files: dict[str, SourceFile]
    source: str
    revision: str
    annotations: dict[str, str] = {}
    created: str = ""
    """When, as RFC 3339 has it; now if it is not given."""


class FaultRequest(ControlRequest, frozen=True):
    """Trouble for the clients of a server."""

    kind: SourceFaultKind
    server: ServerName = "git"
    repository: str = ""
    seconds: float = 0


class SourcesStatus(ControlAnswer, frozen=True):
    """Where everything is."""

    pid: int
    address: str
    git: str
    """What the address of a Git repository begins with."""
    registry: str
    """Host and port of the registry."""
    charts: str
    """What the address of a Helm repository begins with."""


class AccessSummary(ControlAnswer, frozen=True):
    """Who may do what."""

    anonymous: Level
    users: dict[str, Level] = {}


class GitRepository(ControlAnswer, frozen=True):
    """A Git repository."""

    name: str
    url: str
    branch: str
    exists: bool
    """Whether there was a push, if it is made by one."""
    who: AccessSummary
    webhooks: tuple[str, ...]
    refs: dict[str, str]


class GitRepositoryList(ControlAnswer, frozen=True):
    """All of them."""

    repositories: tuple[GitRepository, ...]


class MovedRef(ControlAnswer, frozen=True):
    """How a branch or a tag moved."""

    ref: str
    before: str
    after: str
    is_changed: bool


class OciRepository(ControlAnswer, frozen=True):
    """A repository of the registry."""

    name: str
    who: AccessSummary
    tags: dict[str, str]
    """The digest of each."""


class OciRepositoryList(ControlAnswer, frozen=True):
    """All that have something, and who may use which names."""

    repositories: tuple[OciRepository, ...]
    access: dict[str, AccessSummary]


class PushedArtifact(ControlAnswer, frozen=True):
    """What the registry, or a Helm repository, has now."""

    name: str
    url: str
    tag: str
    """Of a Helm repository the version."""
    digest: str


class ChartRepository(ControlAnswer, frozen=True):
    """A Helm repository."""

    name: str
    url: str
    who: AccessSummary
    files: tuple[str, ...]


class ChartRepositoryList(ControlAnswer, frozen=True):
    """All of them."""

    repositories: tuple[ChartRepository, ...]


class DeliveryList(ControlAnswer, frozen=True):
    """What webhooks were told."""

    deliveries: tuple[Delivery, ...]


class FaultList(ControlAnswer, frozen=True):
    """The faults in force."""

    faults: tuple[SourceFault, ...]
