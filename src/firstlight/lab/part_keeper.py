"""Keeps one part running: starts it when what it needs is ready, and again when it dies; knows whether it answers.

Signals go to the part's whole process group: a machine has an etcd of its own below it. A machine may also reboot
(it is started again, and nobody counts that as a fault) and power off (it stays so until it is switched on).
"""

import asyncio
import contextlib
import os
import re
import signal
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import aiohttp

from firstlight import errors
from firstlight.clients import command
from firstlight.lab import certificates, lab_directory, procfs
from firstlight.lab.lab_part import POLL, Part
from firstlight.lab.lab_status import PartStatus, State

CHECK_SECONDS = 2.0
"""How often a part that was ready is asked whether it still is."""
START_LIMIT = 5
"""Early deaths in a row after which a part is given up: its flags or files are wrong."""
LONG_LIFE = 10.0
"""Seconds after which a death is not an early one, if it was ready."""
SLOW_PERIOD = 0.2
LOG_LIMIT = 64 << 20
SILENT = "does not answer"
POWERED_OFF, REBOOT = 0, 3
"""Exit codes of machines."""


class Keeper:
    """One part and its process."""

    def __init__(
        self, part: Part, *, log: Path, cwd: Path, env: Mapping[str, str], tls: Callable[[], ssl.SSLContext | None],
        is_ready: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self.part = part
        self.boots = 0
        """How often its process was started."""
        self.started = 0.0
        """When it was last started, in seconds since the epoch."""
        self._log = log
        self._cwd = cwd
        self._env = dict(env)
        self._tls = tls
        self._others_ready = is_ready
        self._process: asyncio.subprocess.Process | None = None
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._gone = asyncio.Event()
        self._gone.set()
        self._retry = asyncio.Event()
        self._switched = asyncio.Event()
        self._slowing: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._is_idle = False
        self._was_killed = False
        self._has_exited = False
        self._state: State = "waiting"
        self._detail = ""
        self._since = time.time()
        self._restarts = 0

    @property
    def is_ready(self) -> bool:
        """Whether it answered when it was last asked."""
        return self._state == "ready"

    @property
    def has_failed(self) -> bool:
        """Whether its process has ended by itself: it starts again soon, or was given up."""
        return self._state == "failed" or self._has_exited

    @property
    def is_off(self) -> bool:
        """Whether it is a machine that is switched off."""
        return self.part.switch is not None and self.part.switch.exists()

    @property
    def is_live(self) -> bool:
        """Whether its process runs, and is not stopped."""
        return bool(self._pid()) and not self._is_stopped

    @property
    def is_stopped(self) -> bool:
        """Whether its process is there and stopped."""
        return bool(self._pid()) and self._is_stopped

    @property
    def failed_for(self) -> float:
        """Seconds since it was given up; 0 if it was not."""
        return time.time() - self._since if self._state == "failed" else 0

    @property
    def may_run(self) -> bool:
        """Whether it is not held at rest."""
        return self._may_run.is_set()

    def status(self) -> PartStatus:
        """What to say of it."""
        pid = self._pid()
        state, detail = self._state, self._detail
        if pid and self._is_stopped:
            state, detail = "stopped", "by SIGSTOP, until it is continued"
        elif pid and self._slowing is not None and state == "ready":
            state, detail = "slowed", "runs only part of the time"
        is_off = self.is_off and not pid
        return PartStatus(
            name=self.part.name, what=self.part.what, reality=self.part.reality, state=state, detail=detail, pid=pid,
            restarts=self._restarts, since=self._since, idle=self._is_idle or (is_off and self.may_run),
            memory=procfs.resident_memory(pid, family=self.part.switch is not None) if pid else 0,
            workload=self.part.workload,
        )  # fmt: skip

    async def run(self) -> None:
        """Keep it running until cancelled."""
        deaths = 0
        try:
            while True:
                await self._wait_for_turn()
                self._retry.clear()
                self._gone.clear()
                begun = time.monotonic()
                try:
                    was_ready = await self._live()
                finally:
                    self._unslow()
                    self._is_stopped = False
                    self._gone.set()
                if not self._may_run.is_set():
                    continue
                if self._has_gone_on_purpose():
                    await asyncio.sleep(POLL)  # so that one that reboots for ever leaves time for others
                    continue
                if self._was_killed:  # as was asked for: no fault of its own
                    self._was_killed = False
                elif was_ready and time.monotonic() - begun > LONG_LIFE:
                    deaths = 0
                else:
                    deaths += 1
                ending = f"exited with {self._process.returncode}" if self._process else "did not start"
                if deaths >= START_LIMIT:
                    self._set("failed", f"{ending} {deaths} times: {last_words(self._log)}")
                    await self._retry.wait()
                    deaths = 0
                self._restarts += 1
                self._set("waiting", f"{ending}; starts again", exited=self._process is not None)
                await asyncio.sleep(min(0.1 * 2**deaths, 2))
        finally:
            self._set("resting", "the lab is stopping")
            await self._stop()

    async def rest(self, why: str, *, state: State = "resting", idle: bool = False, at_once: bool = False) -> None:
        """Stop it, and keep it stopped until ``resume``.

        Args:
            why: What the status says of it.
            state: How the status calls that.
            idle: Whether that is as it should be.
            at_once: Kill it, since what it would finish with is gone.
        """
        self._may_run.clear()
        await self._stop(at_once=at_once)
        await self._gone.wait()
        self._is_idle = idle
        self._set(state, why)

    def resume(self, part: Part | None = None) -> None:
        """Let it run again, as another part if one is given."""
        self.part = part or self.part
        self._is_idle = False
        self._set("waiting", "")
        self._may_run.set()
        self._retry.set()
        self._switched.set()

    def retry(self) -> None:
        """Try again what was given up."""
        if self._state == "failed":
            self._set("waiting", "")
            self._retry.set()

    def switch_off(self, why: str) -> None:
        """Pull the plug of a machine; it stays off until it is switched on, also over restarts of the lab."""
        assert self.part.switch is not None
        lab_directory.write_whole(self.part.switch, why.encode())
        self._signal(signal.SIGKILL)
        self._retry.set()

    def switch_on(self) -> None:
        """Let a machine that is off start."""
        assert self.part.switch is not None
        self.part.switch.unlink(missing_ok=True)
        self._switched.set()

    def kill(self) -> None:
        """SIGKILL: it comes back by itself."""
        self._was_killed = True
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP: it holds its connections and answers nothing."""
        self._unslow()
        self._signal(signal.SIGSTOP)
        self._is_stopped = True

    def unpause(self) -> None:
        """SIGCONT, and full speed."""
        self._unslow()
        self._signal(signal.SIGCONT)
        self._is_stopped = False

    def slow(self, share: float) -> None:
        """Let it run only a share of the time."""
        self.unpause()
        self._slowing = asyncio.create_task(self._duty_cycle(share))

    def shorten_log(self) -> None:
        """Keep one older file, so that a lab that lives for weeks does not fill the disk."""
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > LOG_LIMIT:
                # The process appends to the file that it has open, so the file stays and its content goes.
                older = self._log.with_suffix(".log.old")
                older.unlink(missing_ok=True)
                with self._log.open("rb") as source, older.open("wb") as target:
                    os.sendfile(target.fileno(), source.fileno(), 0, LOG_LIMIT)
                os.truncate(self._log, 0)

    def _has_gone_on_purpose(self) -> bool:
        """Whether a machine was switched off, powered itself off, or reboots: nothing of that is a failure."""
        if self.part.switch is None or self._process is None:
            return False
        if self._process.returncode == POWERED_OFF and not self.is_off:
            lab_directory.write_whole(self.part.switch, b"powered off")
        if self.is_off or self._process.returncode == REBOOT:
            self._was_killed = False
            self._set("waiting", "reboots")
            return True
        return False

    async def _wait_for_turn(self) -> None:
        while True:
            await self._may_run.wait()
            if self.part.switch is not None and self.is_off:
                self._switched.clear()
                self._set("resting", self.part.switch.read_text())
                await self._switched.wait()
                continue
            missing = [name for name in self.part.needs if not self._others_ready(name)]
            if not missing:
                return
            self._set("waiting", "needs " + ", ".join(missing))
            await asyncio.sleep(POLL)

    async def _live(self) -> bool:
        """A life from the start to the end; whether it was ever ready."""
        self._process = None
        for path in self.part.stale:
            path.unlink(missing_ok=True)
        self.boots += 1
        self.started = time.time()
        try:
            env = {**self._env, **self.part.env}
            self._process = await command.spawn(self.part.argv, log=self._log, env=env, cwd=self._cwd)
        except (OSError, errors.FirstlightError) as error:
            with contextlib.suppress(OSError), self._log.open("a") as log:
                log.write(f"{error}\n")
            return False
        self._set("starting", f"waits for {self.part.probe}")
        if not self._may_run.is_set():  # asked to rest while it was being started
            await self._stop()
        return await self._follow(self._process)

    async def _follow(self, process: asyncio.subprocess.Process) -> bool:
        died = asyncio.create_task(process.wait())
        was_ready = False
        socket = self.part.probe.socket
        connector = aiohttp.UnixConnector(os.path.relpath(socket)) if socket else None
        async with aiohttp.ClientSession(connector=connector) as session:
            while not died.done():
                problem = await self._ask(session, process.pid)
                if not problem:
                    was_ready = True
                    self._set("ready", "")
                elif was_ready:
                    self._set("unready", problem)
                elif problem != SILENT:
                    self._set("starting", problem)
                await asyncio.wait({died}, timeout=CHECK_SECONDS if self.is_ready else self.part.probe.pause)
        if self.part.switch is not None:
            await _end_group(process.pid)
        return was_ready

    async def _ask(self, session: aiohttp.ClientSession, pid: int) -> str:
        """What is wrong with it; empty if nothing is."""
        probe = self.part.probe
        if probe.mark is not None:
            with contextlib.suppress(OSError):
                if probe.mark.read_text() == str(pid):
                    return ""
            return SILENT
        if probe.connected is not None:
            return "" if await asyncio.to_thread(procfs.is_connected, pid, probe.connected) else f"waits for {probe}"
        if probe.listening is not None:
            return "" if await asyncio.to_thread(procfs.is_listening, pid, probe.listening) else f"waits for {probe}"
        name = certificates.SERVER_NAME if probe.url.startswith("https") else None
        timeout = aiohttp.ClientTimeout(total=2)
        try:
            async with session.get(
                probe.url, ssl=self._tls() or True, server_hostname=name, timeout=timeout
            ) as response:
                return "" if response.status == 200 else f"{probe.url} answers {response.status}"
        except aiohttp.ClientSSLError as error:
            return f"{probe.url}: {error}"
        except (aiohttp.ClientError, OSError, TimeoutError):
            return SILENT

    async def _stop(self, *, at_once: bool = False) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        self.unpause()
        if not at_once:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), self.part.grace)
                return
        self._signal(signal.SIGKILL)
        await process.wait()

    async def _duty_cycle(self, share: float) -> None:
        while True:
            self._signal(signal.SIGSTOP)
            await asyncio.sleep(SLOW_PERIOD * (1 - share))
            self._signal(signal.SIGCONT)
            await asyncio.sleep(SLOW_PERIOD * share)

    def _unslow(self) -> None:
        if self._slowing is not None:
            self._slowing.cancel()
            self._slowing = None

    def _pid(self) -> int:
        return self._process.pid if self._process and self._process.returncode is None else 0

    def _signal(self, number: signal.Signals) -> None:
        if pid := self._pid():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def _set(self, state: State, detail: str, *, exited: bool = False) -> None:
        if state != self._state:
            self._since = time.time()
        self._state, self._detail, self._has_exited = state, detail, exited


async def _end_group(leader: int) -> None:
    """Kill what a dead process has left behind in its group: it would hold ports and locks of the next one."""
    with contextlib.suppress(ProcessLookupError):
        for _ in range(40):  # what nobody reaps stays, and holds nothing
            os.killpg(leader, signal.SIGKILL)
            await asyncio.sleep(POLL)


def last_words(log: Path) -> str:
    """The last line of a log that sounds like a reason, else the last line."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        lines = file.read().decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if re.search(r"panic|fatal|error|no space|invalid", line, re.IGNORECASE)]
        if lines:
            return (telling or lines)[-1].strip()[-300:]
    return "it printed nothing"
