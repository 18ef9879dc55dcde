"""Keeps one part running: starts it when what it needs is ready, and again when it dies; knows whether it answers."""

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
from firstlight.lab import certificates, processes
from firstlight.lab.part import Part
from firstlight.model.lab_status import PartStatus, State

POLL = 0.05
CHECK_SECONDS = 2.0
"""How often a part that was ready is asked whether it still is."""
START_LIMIT = 5
"""Early deaths in a row after which a part is given up: its flags or files are wrong."""
LONG_LIFE = 10.0
"""Seconds after which a death is not an early one, if it was ready."""
SLOW_PERIOD = 0.2
LOG_LIMIT = 64 << 20
SILENT = "does not answer"


class Keeper:
    """One part and its process."""

    def __init__(
        self, part: Part, *, log: Path, cwd: Path, env: Mapping[str, str], tls: ssl.SSLContext,
        is_ready: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self.part = part
        self._log = log
        self._cwd = cwd
        self._env = {**env, **part.env}
        self._tls = tls
        self._others_ready = is_ready
        self._process: asyncio.subprocess.Process | None = None
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._gone = asyncio.Event()
        self._gone.set()
        self._retry = asyncio.Event()
        self._slowing: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._was_killed = False
        self._state: State = "waiting"
        self._detail = ""
        self._since = time.time()
        self._restarts = 0

    @property
    def is_ready(self) -> bool:
        """Whether it answered when it was last asked."""
        return self._state == "ready"

    def status(self) -> PartStatus:
        """What to say of it."""
        pid = self._pid()
        state, detail = self._state, self._detail
        if pid and self._is_stopped:
            state, detail = "stopped", "by SIGSTOP, until it is continued"
        elif pid and self._slowing is not None and state == "ready":
            state, detail = "slowed", "runs only part of the time"
        return PartStatus(
            name=self.part.name, what=self.part.what, reality=self.part.reality, state=state, detail=detail, pid=pid,
            restarts=self._restarts, since=self._since, memory=processes.memory(pid) if pid else 0,
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
                self._set("waiting", f"{ending}; starts again")
                await asyncio.sleep(min(0.1 * 2**deaths, 2))
        finally:
            self._set("resting", "the lab is stopping")
            await self._stop()

    async def rest(self, why: str) -> None:
        """Stop it, and keep it stopped until ``resume``."""
        self._may_run.clear()
        await self._stop()
        await self._gone.wait()
        self._set("resting", why)

    def resume(self) -> None:
        """Let it run again."""
        self._set("waiting", "")
        self._may_run.set()
        self._retry.set()

    def retry(self) -> None:
        """Try again what was given up."""
        if self._state == "failed":
            self._set("waiting", "")
            self._retry.set()

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

    async def _wait_for_turn(self) -> None:
        while True:
            await self._may_run.wait()
            missing = [name for name in self.part.needs if not self._others_ready(name)]
            if not missing:
                return
            self._set("waiting", "needs " + ", ".join(missing))
            await asyncio.sleep(POLL)

    async def _live(self) -> bool:
        """A life from the start to the end; whether it was ever ready."""
        self._process = None
        try:
            self._process = await command.spawn(self.part.argv, log=self._log, env=self._env, cwd=self._cwd)
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
                await asyncio.wait({died}, timeout=CHECK_SECONDS if self.is_ready else POLL)
        return was_ready

    async def _ask(self, session: aiohttp.ClientSession, pid: int) -> str:
        """What is wrong with it; empty if nothing is."""
        probe = self.part.probe
        if probe.mark is not None:
            with contextlib.suppress(OSError):
                if probe.mark.read_text() == str(pid):
                    return ""
            return SILENT
        name = certificates.SERVER_NAME if probe.url.startswith("https") else None
        timeout = aiohttp.ClientTimeout(total=2)
        try:
            async with session.get(probe.url, ssl=self._tls, server_hostname=name, timeout=timeout) as response:
                return "" if response.status == 200 else f"{probe.url} answers {response.status}"
        except aiohttp.ClientSSLError as error:
            return f"{probe.url}: {error}"
        except (aiohttp.ClientError, OSError, TimeoutError):
            return SILENT

    async def _stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        self.unpause()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), self.part.grace)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
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
                os.kill(pid, number)

    def _set(self, state: State, detail: str) -> None:
        if state != self._state:
            self._since = time.time()
        self._state, self._detail = state, detail


def last_words(log: Path) -> str:
    """The last line of a log that sounds like a reason, else the last line."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        lines = file.read().decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if re.search(r"panic|fatal|error|no space|invalid", line, re.IGNORECASE)]
        if lines:
            return (telling or lines)[-1].strip()[-300:]
    return "it printed nothing"
