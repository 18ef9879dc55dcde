"""A client of the sources of a lab: what its owner can do with them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from firstlight.lab.socket_client import SocketClient
from firstlight.lab.sources import files as source_files
from firstlight.lab.sources import messages
from firstlight.lab.sources.access import Access
from firstlight.lab.sources.declared import Webhook
from firstlight.lab.sources.faults import Fault, Kind, ServerName
from firstlight.lab.sources.files import File
from firstlight.lab.sources.webhooks import Delivery

T = TypeVar("T")
PUSHING = 300.0
"""Seconds for what may be large."""


class Sources:
    """Speaks to one socket. Every method raises what ``SocketClient.call`` does."""

    def __init__(self, socket: Path) -> None:
        self._client = SocketClient(socket, what="the lab's sources")

    async def status(self) -> messages.Status:
        """Where everything is."""
        return await self._ask("GET", "/status", messages.Status)

    # -- Git

    async def create_git(
        self, name: str, *, access: Access | None = None, branch: str = "main", on_push: bool = False
    ) -> messages.GitRepository:
        """Make a repository, or let the first push make it; one that is there stays, but for access that is given."""
        wish = messages.CreateGit(name, access, branch, on_push)
        return await self._ask("POST", "/git/create", messages.GitRepository, wish)

    async def delete_git(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/git/delete", messages.Named(name))

    async def list_git(self) -> tuple[messages.GitRepository, ...]:
        """All repositories."""
        return (await self._ask("GET", "/git", messages.GitRepositories)).repositories

    async def set_webhooks(self, name: str, webhooks: Sequence[Webhook]) -> None:
        """Who is told of every push from now on."""
        await self._send("POST", "/git/webhooks", messages.SetWebhooks(name, tuple(webhooks)))

    async def deliveries(self, repository: str = "") -> tuple[Delivery, ...]:
        """What webhooks were told, the oldest first."""
        found = (await self._ask("GET", "/git/deliveries", messages.Deliveries)).deliveries
        return tuple(each for each in found if not repository or each.repository == repository)

    async def commit(
        self,
        name: str,
        files: Mapping[str, bytes | File | None],
        *,
        message: str,
        branch: str = "main",
        replace: bool = False,
    ) -> messages.Moved:
        """Put files on a branch, as if they had been pushed.

        Args:
            name: The repository.
            files: By path; None removes one.
            message: That of the commit.
            branch: Made if it is not there.
            replace: Whether files that are not given are removed.
        """
        given = {path: File(file) if isinstance(file, bytes) else file for path, file in files.items()}
        wish = messages.WantCommit(name, given, message, branch, replace)
        return await self._ask("POST", "/git/commit", messages.Moved, wish, timeout=PUSHING)

    async def commit_directory(
        self, name: str, directory: Path, *, message: str, branch: str = "main"
    ) -> messages.Moved:
        """Let a branch be what a directory is, as if it had been pushed."""
        return await self.commit(
            name, dict(source_files.read(directory)), message=message, branch=branch, replace=True
        )  # fmt: skip

    async def tag(self, name: str, tag: str, *, target: str = "main") -> messages.Moved:
        """Let a tag name a commit, a branch or another tag."""
        return await self._ask("POST", "/git/tag", messages.Moved, messages.WantTag(name, tag, target))

    # -- the registry

    async def list_oci(self) -> messages.OciRepositories:
        """All repositories that have something, and who may use which names."""
        return await self._ask("GET", "/registry", messages.OciRepositories)

    async def set_oci_access(self, prefix: str, access: Access) -> None:
        """Who may use the repositories whose names begin so; the empty beginning is all of them."""
        await self._send("POST", "/registry/access", messages.SetAccess(prefix, access))

    async def clear_oci_access(self, prefix: str) -> None:
        """Let a shorter beginning decide again."""
        await self._send("POST", "/registry/access/clear", messages.Named(prefix))

    async def delete_oci(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/registry/delete", messages.Named(name))

    async def push_oci_chart(self, prefix: str, archive: bytes, *, force: bool = False) -> messages.Pushed:
        """Put a chart into the repository of its own name below a prefix, as ``helm push`` does."""
        wish = messages.PushChart(prefix, archive, force)
        return await self._ask("POST", "/registry/chart", messages.Pushed, wish, timeout=PUSHING)

    async def push_artifact(
        self,
        name: str,
        content: Path | Mapping[str, bytes | File],
        *,
        tags: Sequence[str] = ("latest",),
        source: str,
        revision: str,
        annotations: Mapping[str, str] | None = None,
        created: str = "",
    ) -> messages.Pushed:
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
        found = source_files.read(content) if isinstance(content, Path) else content
        given = {path: File(file) if isinstance(file, bytes) else file for path, file in found.items()}
        wish = messages.PushArtifact(name, tuple(tags), given, source, revision, dict(annotations or {}), created)
        return await self._ask("POST", "/registry/artifact", messages.Pushed, wish, timeout=PUSHING)

    # -- Helm repositories

    async def create_charts(self, name: str, *, access: Access | None = None) -> messages.ChartRepository:
        """Make a repository; one that is there stays, but for access that is given."""
        return await self._ask("POST", "/charts/create", messages.ChartRepository, messages.CreateCharts(name, access))

    async def delete_charts(self, name: str) -> None:
        """Take a repository away."""
        await self._send("POST", "/charts/delete", messages.Named(name))

    async def list_charts(self) -> tuple[messages.ChartRepository, ...]:
        """All repositories."""
        return (await self._ask("GET", "/charts", messages.ChartRepositories)).repositories

    async def push_chart(self, name: str, archive: bytes, *, force: bool = False) -> messages.Pushed:
        """Put a chart into a repository."""
        wish = messages.PushChart(name, archive, force)
        return await self._ask("POST", "/charts/push", messages.Pushed, wish, timeout=PUSHING)

    # -- faults

    async def fault(self, kind: Kind, *, server: ServerName = "git", repository: str = "", seconds: float = 0) -> Fault:
        """Let a server refuse, hang or hang up, for all its repositories or some, for a time or until it is cleared."""
        return await self._ask("POST", "/faults", Fault, messages.WantFault(kind, server, repository, seconds))

    async def faults(self) -> tuple[Fault, ...]:
        """The faults in force, with how often each has struck."""
        return (await self._ask("GET", "/faults", messages.Faults)).faults

    async def clear_faults(self, fault: str = "") -> None:
        """End one fault, or all."""
        await self._client.call("DELETE", f"/faults/{fault}" if fault else "/faults")

    async def _ask(
        self, method: str, path: str, kind: type[T], wish: messages.Wish | None = None, *, timeout: float = 60
    ) -> T:
        body = msgspec.json.encode(wish) if wish is not None else b""
        return msgspec.json.decode(await self._client.call(method, path, body=body, timeout=timeout), type=kind)

    async def _send(self, method: str, path: str, wish: messages.Wish) -> None:
        await self._client.call(method, path, body=msgspec.json.encode(wish))
