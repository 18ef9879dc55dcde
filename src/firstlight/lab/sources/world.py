"""All that the sources are made of, and how the pieces know of each other."""

import dataclasses

from firstlight.lab.sources.charts.index import Indexes
from firstlight.lab.sources.charts.repositories import ChartRepositories
from firstlight.lab.sources.declared import Declared
from firstlight.lab.sources.faults import Faults
from firstlight.lab.sources.git import history
from firstlight.lab.sources.git.commits import Commits
from firstlight.lab.sources.git.pkt_line import Update
from firstlight.lab.sources.git.repositories import Repositories
from firstlight.lab.sources.home import Home
from firstlight.lab.sources.registry.store import Store
from firstlight.lab.sources.registry.uploads import Uploads
from firstlight.lab.sources.webhooks import Message, Webhooks


@dataclasses.dataclass(frozen=True)
class Ports:
    """Where each server listens."""

    git: int
    registry: int
    charts: int


class World:
    """The sources of one home, on one address."""

    def __init__(self, home: Home, address: str, ports: Ports) -> None:
        self.address = address
        self.ports = ports
        self.declared = Declared(home)
        self.faults = Faults()
        self.webhooks = Webhooks()
        self.repositories = Repositories(home, self.declared)
        self.commits = Commits(home, self.repositories)
        self.store = Store(home)
        self.uploads = Uploads(home)
        self.charts = ChartRepositories(home, self.declared)
        self.indexes = Indexes()

    def git_url(self, name: str) -> str:
        """The address of a Git repository, without ``.git``."""
        return f"http://{self.address}:{self.ports.git}/git/{name}"

    @property
    def registry_host(self) -> str:
        """Where the registry is, as references have it."""
        return f"{self.address}:{self.ports.registry}"

    def charts_url(self, name: str) -> str:
        """The address of a Helm repository."""
        return f"http://{self.address}:{self.ports.charts}/charts/{name}"

    async def notify(self, name: str, updates: tuple[Update, ...], user: str) -> None:
        """Tell the webhooks of a repository what moved."""
        known = self.declared.git.get(name)
        if known is None or not known.webhooks:
            return
        for update in updates:
            commits = await history.commits(self.repositories, name, update)
            is_forced = await history.is_forced(self.repositories, name, update)
            message = Message(name, self.git_url(name), known.branch, update, user, is_forced, commits)
            self.webhooks.send(message, known.webhooks)
