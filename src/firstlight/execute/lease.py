"""Who may write: a Lease in kube-system that expires by itself, held by compare-and-swap.

A lease alone is no fence: a holder that was stopped for a minute does not know that it lost it. So every step takes it
anew before it writes, and a run that finds another's name there writes nothing any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.journal import run_identity, state_files

NAME = "firstlight"
NAMESPACE = "kube-system"
MANAGER = "firstlight"
SECONDS = 15
"""After which a holder that does not renew counts as gone: a killed run holds up the next one no longer than this."""
RENEW = 5.0
POLL = 0.25


class Lease:
    """The right to write to a cluster, taken when there is something to write and not before."""

    def __init__(
        self, client: kube.Client, *, holder: str, now: Callable[[], float] = time.time, tell: Callable[[str], None]
    ) -> None:
        """Prepare.

        Args:
            client: The cluster.
            holder: Who this is; unique for each run.
            now: The wall clock.
            tell: Told what is waited for.
        """
        self._client = client
        self._holder = holder
        self._now = now
        self._tell = tell
        self._held: dict[str, Any] | None = None
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        self.lost: asyncio.Future[errors.Refused] = asyncio.get_running_loop().create_future()
        """Done, with the reason, when another run has taken it."""

    @property
    def is_held(self) -> bool:
        """Whether it was taken and not given back."""
        return self._held is not None

    async def claim(self) -> bool:
        """Take or keep the lease, before every write of a step; whether it was taken only now.

        Raises:
            errors.Refused: Another run holds it, or has taken it over.
        """
        async with self._lock:
            if self.lost.done():
                raise self.lost.result()
            is_new = self._held is None
            self._held = await (self._take() if self._held is None else self._swap(self._held))
            if is_new:
                self._renewal = asyncio.create_task(self._renew_for_ever())
            return is_new

    async def release(self) -> None:
        """Give it back, so that the next run need not wait."""
        async with self._lock:  # a renewal that is under way must not make the version stale
            if self._renewal is not None:
                self._renewal.cancel()
            held, self._held = self._held, None
            if held is not None and not self.lost.done():
                # Without an answer it expires by itself.
                with contextlib.suppress(errors.ClientError):
                    metadata = held["metadata"]
                    await self._client.delete(
                        held["apiVersion"], "Lease", NAME, namespace=NAMESPACE,
                        uid=metadata["uid"], resource_version=metadata["resourceVersion"],
                    )  # fmt: skip
        if self._renewal is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._renewal

    async def _take(self) -> dict[str, Any]:
        """Take it from nobody, from itself, or from one that is seen not to renew it: clocks may differ."""
        seen: object = None
        since = 0.0
        while True:
            there = await self._look()
            if there is None:
                with contextlib.suppress(kube.AlreadyExists):
                    return dict(await self._client.create(self._body(), manager=MANAGER))
                continue
            spec = there.get("spec") or {}
            who, renewed = str(spec.get("holderIdentity") or ""), spec.get("renewTime")
            patience = spec.get("leaseDurationSeconds") or SECONDS
            is_free = who in ("", self._holder) or is_holder_dead(who)
            if not is_free and seen is not None and renewed != seen:
                raise errors.Refused(
                    f"another run works on this cluster: {who}, since {_clock(spec.get('acquireTime'))}",
                    hint="Watch it: firstlight status --watch; or wait until it has ended.",
                )
            if not is_free and seen is None:
                seen, since = renewed, time.monotonic()
                self._tell(f"waits whether {who} still lives, at most {patience} s")
            if is_free or time.monotonic() - since > patience:
                with contextlib.suppress(kube.Conflict):
                    return await self._write(there)
            await asyncio.sleep(POLL)

    async def _swap(self, held: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._write(held)
        except (kube.Conflict, kube.NotFound):
            there = await self._look()
            spec = (there or {}).get("spec") or {}
            if there is not None and spec.get("holderIdentity") == self._holder:
                return await self._write(there)
            who = spec.get("holderIdentity") or "somebody"
            raise errors.Refused(
                f"{who} has taken this cluster over meanwhile: nothing more is written",
                hint="See what it does: firstlight status; then run again.",
            ) from None

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RENEW)
            try:
                async with self._lock:
                    if self._held is not None:
                        self._held = await self._swap(self._held)
            except errors.Refused as error:
                # What is under way must stop: somebody else writes now.
                if not self.lost.done():
                    self.lost.set_result(error)
                return
            except errors.ClientError:
                continue  # it fails again where it matters: before the next write

    async def _look(self) -> dict[str, Any] | None:
        try:
            return dict(await self._client.get("coordination.k8s.io/v1", "Lease", NAME, namespace=NAMESPACE))
        except kube.NotFound:
            return None

    async def _write(self, there: dict[str, Any]) -> dict[str, Any]:
        """Renew it as of the version that was seen; the server refuses if it has changed since."""
        spec = there.get("spec") or {}
        same = spec.get("holderIdentity") == self._holder
        body = self._body()
        if same and spec.get("acquireTime"):
            body["spec"]["acquireTime"] = spec["acquireTime"]
        patch = {
            "metadata": {"resourceVersion": there["metadata"]["resourceVersion"]},
            "spec": body["spec"],
        }
        return dict(
            await self._client.patch(
                "coordination.k8s.io/v1", "Lease", NAME, patch, manager=MANAGER, namespace=NAMESPACE
            )
        )

    def _body(self) -> dict[str, Any]:
        stamp = datetime.datetime.fromtimestamp(self._now(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": SECONDS,
                "acquireTime": stamp,
                "renewTime": stamp,
            },
        }


def _seconds(stamp: object) -> float:
    try:
        return datetime.datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _clock(stamp: object) -> str:
    when = _seconds(stamp)
    return datetime.datetime.fromtimestamp(when, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if when else "unknown"


# Who holds something: a name that tells others whom to ask, and this computer whether the holder still lives.


_HOLDER = re.compile(r"[^:]*:(?P<process>[0-9]{1,10}):(?P<place>[0-9a-f]{8}):.+")


def holder_name(run: str) -> str:
    """This process: ``ann@desk:4711:5f0c2a91:20261116T063000Z-infra-ab12``."""
    return f"{run_identity.who()}:{_place()}:{run}"


def is_holder_dead(holder: str) -> bool:
    """Whether a holder was a process that would be seen from here, and is gone; of others nobody knows."""
    found = _HOLDER.fullmatch(holder)
    if found is None or not run_identity.ran_here(holder) or found["place"] != _place():
        return False
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _place() -> str:
    """Where process numbers mean the same: computers and containers may share a host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot, space = "", str(os.getpid())  # nobody is known to be dead then
    return hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:8]


# One run for a cluster on this computer, before there is an API that could hold a lease. The kernel ends it.


@contextlib.contextmanager
def local_lock(path: Path, *, who: str) -> Iterator[None]:
    """Hold a lock file while a run goes on.

    Args:
        path: The file; its directory is made.
        who: Written into it, for those who find it locked.

    Raises:
        errors.Refused: Another run holds it, or it is a link to some other file.
    """
    state_files.enter(path)
    fd = _opened(path)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(fd) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{who}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def check_local_lock(path: Path) -> None:
    """See that nobody holds it now, before a person is asked anything; to hold it is for later.

    Raises:
        errors.Refused: Another run holds it, or it is a link to some other file.
    """
    state_files.check(path)
    if not path.exists():
        return
    fd = _opened(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(fd) from None
    finally:
        os.close(fd)


def _taken(fd: int) -> errors.Refused:
    holder = os.pread(fd, 4096, 0).decode(errors="replace").strip() or "another process"
    return errors.Refused(
        f"another run works on this cluster: {holder}",
        hint="Watch it: firstlight status --watch; or wait until it has ended.",
    )


def _opened(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise errors.Refused(f"{path} cannot be opened: {error.strerror or error}", hint="Remove it.") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise errors.Refused(f"{path} is no file", hint="Remove it.")
    return fd
