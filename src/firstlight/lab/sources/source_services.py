"""All that the sources are made of, and how the pieces know of each other."""

import dataclasses

from firstlight.lab.sources import git_commits
from firstlight.lab.sources.chart_repositories import ChartIndexes, ChartRepositories
from firstlight.lab.sources.declarations import DeclaredSources, SourcesHome
from firstlight.lab.sources.git_commits import CommitMaker
from firstlight.lab.sources.git_repositories import BareRepositories, RefUpdate
from firstlight.lab.sources.push_webhooks import PushMessage, Webhooks
from firstlight.lab.sources.registry_store import BlobUploads, RegistryStore
from firstlight.lab.sources.source_faults import SourceFaults


@dataclasses.dataclass(frozen=True)
class SourcePorts:
    """Where each server listens."""

    git: int
    registry: int
    charts: int


class SourceServices:
    """The sources of one home, on one address."""

    def __init__(self, home: SourcesHome, address: str, ports: SourcePorts) -> None:
        self.address = address
        self.ports = ports
        self.declared = DeclaredSources(home)
        self.faults = SourceFaults()
        self.webhooks = Webhooks()
        self.repositories = BareRepositories(home, self.declared)
        self.commits = CommitMaker(home, self.repositories)
        self.store = RegistryStore(home)
        self.uploads = BlobUploads(home)
        self.charts = ChartRepositories(home, self.declared)
        self.indexes = ChartIndexes()

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

    async def notify(self, name: str, updates: tuple[RefUpdate, ...], user: str) -> None:
        """Tell the webhooks of a repository what moved."""
        known = self.declared.git.get(name)
        if known is None or not known.webhooks:
            return
        for update in updates:
            commits = await git_commits.pushed_commits(self.repositories, name, update)
            is_forced = await git_commits.is_forced(self.repositories, name, update)
            message = PushMessage(name, self.git_url(name), known.branch, update, user, is_forced, commits)
            self.webhooks.send(message, known.webhooks)
