"""What is said over the control socket: wishes in, answers out, both JSON. Bytes are base64."""

import msgspec

from firstlight.lab.sources.access import Access, Level
from firstlight.lab.sources.declared import Webhook
from firstlight.lab.sources.faults import Fault, Kind, ServerName
from firstlight.lab.sources.files import File
from firstlight.lab.sources.webhooks import Delivery


class Wish(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Something that the owner wants."""


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """What he gets to know."""


class CreateGit(Wish, frozen=True):
    """A Git repository; if it is there, it stays, and only its access changes if that is given."""

    name: str
    access: Access | None = None
    """Everybody may read a new one for which nothing is said."""
    branch: str = "main"
    on_push: bool = False
    """Whether it is made only when somebody pushes to it."""


class Named(Wish, frozen=True):
    """A repository."""

    name: str


class CreateCharts(Wish, frozen=True):
    """A Helm repository; if it is there, it stays, and only its access changes if that is given."""

    name: str
    access: Access | None = None


class SetAccess(Wish, frozen=True):
    """Who may use the repositories of the registry whose names begin so, from now on."""

    name: str
    access: Access


class SetWebhooks(Wish, frozen=True):
    """Who is told of pushes from now on."""

    name: str
    webhooks: tuple[Webhook, ...]


class WantCommit(Wish, frozen=True):
    """Files on a branch; one that is null is removed."""

    name: str
    files: dict[str, File | None]
    message: str
    branch: str = "main"
    replace: bool = False
    """Whether files that are not given are removed."""


class WantTag(Wish, frozen=True):
    """A tag in Git."""

    name: str
    tag: str
    target: str
    """A branch, a tag, or the hash of a commit."""


class PushChart(Wish, frozen=True):
    """A chart for a Helm repository, or for the registry below a name."""

    name: str
    archive: bytes
    force: bool = False
    """Whether that version may be there with other content."""


class PushArtifact(Wish, frozen=True):
    """A folder for the registry, in Flux's form."""

    name: str
    tags: tuple[str, ...]
    files: dict[str, File]
    source: str
    revision: str
    annotations: dict[str, str] = {}
    created: str = ""
    """When, as RFC 3339 has it; now if it is not given."""


class WantFault(Wish, frozen=True):
    """Trouble for the clients of a server."""

    kind: Kind
    server: ServerName = "git"
    repository: str = ""
    seconds: float = 0


class Status(Answer, frozen=True):
    """Where everything is."""

    pid: int
    address: str
    git: str
    """What the address of a Git repository begins with."""
    registry: str
    """Host and port of the registry."""
    charts: str
    """What the address of a Helm repository begins with."""


class Who(Answer, frozen=True):
    """Who may do what."""

    anonymous: Level
    users: dict[str, Level] = {}


class GitRepository(Answer, frozen=True):
    """A Git repository."""

    name: str
    url: str
    branch: str
    exists: bool
    """Whether there was a push, if it is made by one."""
    who: Who
    webhooks: tuple[str, ...]
    refs: dict[str, str]


class GitRepositories(Answer, frozen=True):
    """All of them."""

    repositories: tuple[GitRepository, ...]


class Moved(Answer, frozen=True):
    """How a branch or a tag moved."""

    ref: str
    before: str
    after: str
    is_changed: bool


class OciRepository(Answer, frozen=True):
    """A repository of the registry."""

    name: str
    who: Who
    tags: dict[str, str]
    """The digest of each."""


class OciRepositories(Answer, frozen=True):
    """All that have something, and who may use which names."""

    repositories: tuple[OciRepository, ...]
    access: dict[str, Who]


class Pushed(Answer, frozen=True):
    """What the registry, or a Helm repository, has now."""

    name: str
    url: str
    tag: str
    """Of a Helm repository the version."""
    digest: str


class ChartRepository(Answer, frozen=True):
    """A Helm repository."""

    name: str
    url: str
    who: Who
    files: tuple[str, ...]


class ChartRepositories(Answer, frozen=True):
    """All of them."""

    repositories: tuple[ChartRepository, ...]


class Deliveries(Answer, frozen=True):
    """What webhooks were told."""

    deliveries: tuple[Delivery, ...]


class Faults(Answer, frozen=True):
    """The faults in force."""

    faults: tuple[Fault, ...]
