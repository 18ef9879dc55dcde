"""A client of the sources of a lab: what its owner can do with them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from firstlight.lab.socket_client import SocketClient
from firstlight.lab.sources import control_messages, oci_artifacts
from firstlight.lab.sources.declarations import Access, DeclaredWebhook
from firstlight.lab.sources.oci_artifacts import SourceFile
from firstlight.lab.sources.push_webhooks import Delivery
from firstlight.lab.sources.source_faults import ServerName, SourceFault, SourceFaultKind

T = TypeVar("T")
PUSHING = 300.0
"""Seconds for what may be large."""


class SourcesClient:
    """Speaks to one socket. Every method raises what ``SocketClient.call`` does."""

    def __init__(self, socket: Path) -> None:
        self._client = SocketClient(socket, what="the lab's sources")

    async def status(self) -> control_messages.SourcesStatus:
        """Where everything is."""
        return await self._ask("GET", "/status", control_messages.SourcesStatus)

    # -- Git

    async def create_git(
        self, name: str, *, access: Access | None = None, branch: str = "main", on_push: bool = False
    ) -> control_messages.GitRepository:
        """Make a repository, or let the first push make it; one that is there stays, but for access that is given."""
        wish = control_messages.CreateGit(name, access, branch, on_push)
        return await self._ask("POST", "/git/create", control_messages.GitRepository, wish)

    async def delete_git(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/git/delete", control_messages.RepositoryRequest(name))

    async def list_git(self) -> tuple[control_messages.GitRepository, ...]:
        """All repositories."""
        return (await self._ask("GET", "/git", control_messages.GitRepositoryList)).repositories

    async def set_webhooks(self, name: str, webhooks: Sequence[DeclaredWebhook]) -> None:
        """Who is told of every push from now on."""
        await self._send("POST", "/git/webhooks", control_messages.SetWebhooks(name, tuple(webhooks)))

    async def deliveries(self, repository: str = "") -> tuple[Delivery, ...]:
        """What webhooks were told, the oldest first."""
        found = (await self._ask("GET", "/git/deliveries", control_messages.DeliveryList)).deliveries
        return tuple(each for each in found if not repository or each.repository == repository)

    async def commit(
        self,
        name: str,
        files: Mapping[str, bytes | SourceFile | None],
        *,
        message: str,
        branch: str = "main",
        replace: bool = False,
    ) -> control_messages.MovedRef:
        """Put files on a branch, as if they had been pushed.

        Args:
            name: The repository.
            files: By path; None removes one.
            message: That of the commit.
            branch: Made if it is not there.
            replace: Whether files that are not given are removed.
        """
        given = {path: SourceFile(file) if isinstance(file, bytes) else file for path, file in files.items()}
        wish = control_messages.CommitRequest(name, given, message, branch, replace)
        return await self._ask("POST", "/git/commit", control_messages.MovedRef, wish, timeout=PUSHING)

    async def commit_directory(
        self, name: str, directory: Path, *, message: str, branch: str = "main"
    ) -> control_messages.MovedRef:
        """Let a branch be what a directory is, as if it had been pushed."""
        return await self.commit(
            name, dict(oci_artifacts.read_folder(directory)), message=message, branch=branch, replace=True
        )  # fmt: skip

    async def tag(self, name: str, tag: str, *, target: str = "main") -> control_messages.MovedRef:
        """Let a tag name a commit, a branch or another tag."""
        return await self._ask(
            "POST", "/git/tag", control_messages.MovedRef, control_messages.TagRequest(name, tag, target)
        )

    # -- the registry

    async def list_oci(self) -> control_messages.OciRepositoryList:
        """All repositories that have something, and who may use which names."""
        return await self._ask("GET", "/registry", control_messages.OciRepositoryList)

    async def set_oci_access(self, prefix: str, access: Access) -> None:
        """Who may use the repositories whose names begin so; the empty beginning is all of them."""
        await self._send("POST", "/registry/access", control_messages.SetAccess(prefix, access))

    async def clear_oci_access(self, prefix: str) -> None:
        """Let a shorter beginning decide again."""
        await self._send("POST", "/registry/access/clear", control_messages.RepositoryRequest(prefix))

    async def delete_oci(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/registry/delete", control_messages.RepositoryRequest(name))

    async def push_oci_chart(
        self, prefix: str, archive: bytes, *, force: bool = False
    ) -> control_messages.PushedArtifact:
        """Put a chart into the repository of its own name below a prefix, as ``helm push`` does."""
        wish = control_messages.PushChart(prefix, archive, force)
        return await self._ask("POST", "/registry/chart", control_messages.PushedArtifact, wish, timeout=PUSHING)

    async def push_artifact(
        self,
        name: str,
        content: Path | Mapping[str, bytes | SourceFile],
        *,
        tags: Sequence[str] = ("latest",),
        source: str,
        revision: str,
        annotations: Mapping[str, str] | None = None,
        created: str = "",
    ) -> control_messages.PushedArtifact:
        """Put a directory into a repository, as ``flux push artifact`` does.

        Args:
            name: The repository.
            content: The directory, or its files.
            tags: Those that name it afterwards.
            source: Where it comes from; a Git address, as a rule.
            revision: Which one it is there, such as ``main@sha1:…``.
            annotations: More of them.
            created: When, as RFC 3339 has it; now if it is not given.
        """
        found = oci_artifacts.read_folder(content) if isinstance(content, Path) else content
        given = {path: SourceFile(file) if isinstance(file, bytes) else file for path, file in found.items()}
        wish = control_messages.PushArtifact(
            name, tuple(tags), given, source, revision, dict(annotations or {}), created
        )
        return await self._ask("POST", "/registry/artifact", control_messages.PushedArtifact, wish, timeout=PUSHING)

    # -- Helm repositories

    async def create_charts(self, name: str, *, access: Access | None = None) -> control_messages.ChartRepository:
        """Make a repository; one that is there stays, but for access that is given."""
        return await self._ask(
            "POST", "/charts/create", control_messages.ChartRepository, control_messages.CreateCharts(name, access)
        )

    async def delete_charts(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/charts/delete", control_messages.RepositoryRequest(name))

    async def list_charts(self) -> tuple[control_messages.ChartRepository, ...]:
        """All repositories."""
        return (await self._ask("GET", "/charts", control_messages.ChartRepositoryList)).repositories

    async def push_chart(self, name: str, archive: bytes, *, force: bool = False) -> control_messages.PushedArtifact:
        """Put a chart into a repository."""
        wish = control_messages.PushChart(name, archive, force)
        return await self._ask("POST", "/charts/push", control_messages.PushedArtifact, wish, timeout=PUSHING)

    # -- faults

    async def fault(
        self, kind: SourceFaultKind, *, server: ServerName = "git", repository: str = "", seconds: float = 0
    ) -> SourceFault:
        """Let a server refuse, hang or hang up, for all its repositories or some, for a time or until it is cleared."""
        return await self._ask(
            "POST", "/faults", SourceFault, control_messages.FaultRequest(kind, server, repository, seconds)
        )

    async def faults(self) -> tuple[SourceFault, ...]:
        """The faults in force, with how often each has struck."""
        return (await self._ask("GET", "/faults", control_messages.FaultList)).faults

    async def clear_faults(self, fault: str = "") -> None:
        """End one fault, or all."""
        await self._client.call("DELETE", f"/faults/{fault}" if fault else "/faults")

    async def _ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        wish: control_messages.ControlRequest | None = None,
        *,
        timeout: float = 60,
    ) -> T:
        body = msgspec.json.encode(wish) if wish is not None else b""
        return msgspec.json.decode(await self._client.call(method, path, body=body, timeout=timeout), type=kind)

    async def _send(self, method: str, path: str, wish: control_messages.ControlRequest) -> None:
        await self._client.call(method, path, body=msgspec.json.encode(wish))
