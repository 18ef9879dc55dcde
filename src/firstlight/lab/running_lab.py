"""A lab to use: bring it up, look at it, break it, put it back, take it down. Called by the command line and tests."""

import asyncio
import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from firstlight import errors
from firstlight.clients import command, interpreter
from firstlight.clients.sandbox import program_limits
from firstlight.lab import lab_directory, lab_settings, part_keeper, procfs
from firstlight.lab.faults import FaultProxy
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.socket_client import SocketClient
from firstlight.lab.sources.sources_client import SourcesClient

START_TIMEOUT = 180
"""Seconds until a lab must be ready: it takes 6 on an idle machine and has been seen to take 60 on a busy one."""
STOP_TIMEOUT = 30
QUORUM_TIMEOUT = 15
"""Seconds after which a control plane that most of its machines are missing of is given up."""
SILENCE = 3.0
"""Seconds without an answer after which a supervisor that holds no lock is given up."""
POLL = 0.1

Action = Literal["kill", "stop", "continue", "slow"]


class Lab:
    """One lab, running or not."""

    def __init__(self, home: lab_directory.LabDirectory) -> None:
        self.home = home
        self.faults = FaultProxy(home)
        self._supervisor = SocketClient(home.control, what=f"the supervisor of lab {home.name}")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, straight to the API server."""
        return self.home.kubeconfig

    def sources(self) -> SourcesClient:
        """The Git, OCI and Helm repositories of the lab, where its settings ask for them."""
        return SourcesClient(self.home.sources_control)

    def is_running(self) -> bool:
        """Whether its supervisor lives; the kernel knows."""
        try:
            fd = os.open(self.home.lock, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    async def up(
        self,
        programs: Mapping[str, Path],
        *,
        settings: lab_settings.LabSettings | None = None,
        progress: Callable[[LabStatus], None] = lambda _: None,
        timeout: float = START_TIMEOUT,
        owner: int = 0,
    ) -> LabStatus:
        """Bring the lab up, or what is missing of it; with new settings, change it.

        Args:
            programs: Where the components are.
            settings: What it is to be; as it was, or with three nodes, if not given. Machines that are off stay off.
            progress: Called with the status whenever it was looked at.
            timeout: Seconds until it must be ready.
            owner: A process whose end, however it ends, is the end of the lab's processes too; 0 for none.

        Raises:
            errors.LabError: A part cannot start, or is not ready in time; the message says which and why.
        """
        if sys.platform != "linux":
            raise errors.Refused(
                "the lab runs on Linux only", hint="Use a Linux machine, a virtual one or a container."
            )
        self.home.make()
        before = self._settings()
        wanted = settings or before or lab_settings.DEFAULT
        if before is not None:
            self._refuse_change(before, wanted)
        if not await self._start_unless_running(programs, wanted, owner=owner):
            await self._supervisor.call("POST", "/retry")
            if wanted != self._settings():
                await self._supervisor.call("POST", "/settings", body=msgspec.json.encode(wanted))
        return await self._wait_ready(progress, timeout=timeout)

    async def status(self) -> LabStatus:
        """What every part does now.

        Raises:
            errors.Unreachable: The lab does not run.
        """
        return msgspec.json.decode(await self._supervisor.call("GET", "/status"), type=LabStatus)

    async def wait_ready(self, *, timeout: float = START_TIMEOUT) -> LabStatus:
        """Wait until every part is ready that has something to do.

        Raises:
            errors.LabError: A part cannot start, or is not ready in time; the message says which and why.
        """
        return await self._wait_ready(lambda _: None, timeout=timeout)

    async def process(self, part: str, action: Action, *, share: float = 0.1) -> None:
        """Kill, stop, continue or slow down the process of a part."""
        await self._supervisor.call("POST", f"/parts/{quote(part, safe='')}/{action}?share={share}")

    async def machine(self, name: str, power: Literal["on", "off"]) -> None:
        """Switch a machine on, or pull its plug; it stays so, also over restarts of the lab."""
        await self._supervisor.call("POST", f"/machines/{quote(name, safe='')}/{power}")

    async def save(self, name: str) -> None:
        """Keep a cold copy of the cluster's state; everything pauses for some seconds."""
        _check_state_name(name)
        await self._supervisor.call("POST", f"/save/{quote(name, safe='')}", timeout=120)
        await self.wait_ready()

    async def restore(self, name: str) -> None:
        """Put a saved state back."""
        _check_state_name(name)
        await self._supervisor.call("POST", f"/restore/{quote(name, safe='')}", timeout=120)
        await self.wait_ready()

    async def down(self, *, keep: bool = False) -> None:
        """Stop every process, however broken the lab is; then delete everything unless it is to be kept."""
        # The disks of machines that are to be deleted need no orderly end, which takes a while with several members.
        if self.is_running() and (keep or not self.home.machines.exists()):
            # A supervisor that hangs, or is stopped, is killed below like everything else.
            with contextlib.suppress(errors.FirstlightError):
                await self._supervisor.call("POST", "/stop", timeout=3)
                await self._wait_stopped()
        await asyncio.to_thread(procfs.kill_processes, self.home.path)
        if not keep:
            self.home.remove()

    def settings(self) -> lab_settings.LabSettings:
        """What the lab was asked to be."""
        found = self._settings()
        if found is None:
            raise errors.UsageError(f"there is no lab {self.home.name}", hint="Make it: firstlight lab up")
        return found

    def _settings(self) -> lab_settings.LabSettings | None:
        try:
            return msgspec.json.decode(self.home.settings.read_bytes(), type=lab_settings.LabSettings)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise errors.ConfigError(
                f"cannot be read: {error}", path=str(self.home.settings),
                hint=f"Start afresh: firstlight lab down -n {self.home.name}",
            ) from error  # fmt: skip

    def _refuse_change(self, before: lab_settings.LabSettings, wanted: lab_settings.LabSettings) -> None:
        if bool(before.machines) != bool(wanted.machines):
            had, asked = ("machines", "nodes") if before.machines else ("nodes", "machines")
            raise errors.Refused(
                f"lab {self.home.name} has {had}, and cannot have {asked} instead",
                hint=f"Take it down first: firstlight lab down -n {self.home.name}; or choose another name.",
            )
        if (before.pod_cidr, before.service_cidr) != (wanted.pod_cidr, wanted.service_cidr):
            raise errors.Refused(
                "pod and service networks of a lab cannot change while it runs",
                hint=f"Take it down first: firstlight lab down -n {self.home.name}",
            )

    async def _start_unless_running(
        self, programs: Mapping[str, Path], wanted: lab_settings.LabSettings, *, owner: int
    ) -> bool:
        """Start a supervisor if none serves; whether this call did."""
        with self.home.starting.open("w") as starting:
            await asyncio.to_thread(fcntl.flock, starting, fcntl.LOCK_EX)
            if await self._is_serving():
                return False
            # What a killed supervisor may have left behind must be gone before its successor binds the same ports.
            await asyncio.to_thread(procfs.kill_processes, self.home.path)
            await self._wait_stopped()
            lab_directory.write_whole(self.home.settings, msgspec.json.encode(wanted))
            await self._start_supervisor(programs, owner)
            for _ in range(500):
                if self.is_running():
                    break
                await asyncio.sleep(0.02)
            return True

    async def _is_serving(self) -> bool:
        """Whether a supervisor answers; one that starts or stops at this moment is waited for."""
        deadline = time.monotonic() + STOP_TIMEOUT
        while self.is_running() and time.monotonic() < deadline:
            with contextlib.suppress(errors.Unreachable, errors.TimedOut):
                await self._supervisor.call("GET", "/status", timeout=5)
                return True
            await asyncio.sleep(0.05)
        return False

    async def _start_supervisor(self, programs: Mapping[str, Path], owner: int) -> None:
        encoded = msgspec.json.encode({name: str(path) for name, path in programs.items()}).decode()
        env = {**interpreter.environment(os.environ), procfs.LAB_MARK: str(self.home.path)}
        supervisor = interpreter.module("firstlight.lab.supervisor", str(self.home.path), encoded, str(owner))
        await command.run(supervisor, env=env, cwd=self.home.path, within=program_limits.FREE)

    async def _wait_stopped(self) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT
        while time.monotonic() < deadline:
            if not self.is_running():
                return
            await asyncio.sleep(0.05)

    async def _wait_ready(self, progress: Callable[[LabStatus], None], *, timeout: float) -> LabStatus:
        deadline = time.monotonic() + timeout
        silent_since = time.monotonic()
        status: LabStatus | None = None
        while time.monotonic() < deadline:
            try:
                status = await self.status()
            except (errors.Unreachable, errors.TimedOut):
                if not self.is_running() and time.monotonic() - silent_since > SILENCE:
                    if not self.home.exists():
                        raise errors.LabError(f"lab {self.home.name} was taken down meanwhile") from None
                    raise errors.LabError(
                        f"the supervisor of lab {self.home.name} has gone: "
                        + part_keeper.last_words(self.home.logs / "supervisor.log"),
                        hint=f"Its log: {self.home.logs / 'supervisor.log'}",
                    ) from None
            else:
                silent_since = time.monotonic()
                progress(status)
                if status.is_ready:
                    return status
                self._raise_if_hopeless(status)
                if time.monotonic() > deadline - timeout + QUORUM_TIMEOUT:
                    self._raise_if_without_quorum(status)
            await asyncio.sleep(POLL)
        parts = status.parts if status else ()
        busy = [part for part in parts if part.state != "ready" and not part.idle and not part.workload]
        waiting = [f"{part.name} ({part.detail or part.state})" for part in busy]
        raise errors.LabError(
            f"lab {self.home.name} is not ready after {timeout:g} s: {', '.join(waiting) or 'no answer'}",
            hint=f"Logs: firstlight lab logs -n {self.home.name}",
        )

    def _raise_if_without_quorum(self, status: LabStatus) -> None:
        if status.has_lost_quorum:
            names = [machine.name for machine in status.off if machine.role == "control-plane"]
            raise errors.LabError(
                f"the control plane of lab {self.home.name} has lost its quorum: {', '.join(names)} are off",
                hint=f"Switch them on: firstlight lab machine on {names[0]} -n {self.home.name}",
            )

    def _raise_if_hopeless(self, status: LabStatus) -> None:
        for part in status.parts:
            if part.workload:
                continue
            if part.state == "failed":
                raise errors.LabError(
                    f"{part.name} of lab {self.home.name} cannot start: {part.detail}",
                    hint=f"Its log: firstlight lab logs {part.name} -n {self.home.name}",
                )
            if part.state == "stopped":
                raise errors.LabError(
                    f"{part.name} of lab {self.home.name} is stopped",
                    hint=f"Let it go on: firstlight lab fault process {part.name} continue -n {self.home.name}",
                )


def _check_state_name(name: str) -> None:
    if not lab_directory.LAB_NAME.fullmatch(name):
        raise errors.UsageError(
            f"{name!r} cannot be the name of a saved state", hint="Use lower-case letters, digits and hyphens."
        )


def named(name: str) -> Lab:
    """The lab with a name, whether it exists or not."""
    return Lab(lab_directory.lab_named(name))
