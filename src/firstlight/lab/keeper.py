"""Keeps one part running: starts it when what it needs is ready, and again when it dies."""

import asyncio
import contextlib
import os
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
START_LIMIT = 5
"""Deaths before it was ever ready, after which a part is given up: its flags or files are wrong."""
SLOW_PERIOD = 0.2
LOG_LIMIT = 64 << 20


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
        self._state: State = "waiting"
        self._detail = ""
        self._since = time.time()
        self._restarts = 0

    @property
    def state(self) -> State:
        """What it does now."""
        return self._state

    def status(self) -> PartStatus:
        """What to say of it."""
        pid = self._process.pid if self._process and self._process.returncode is None else 0
        return PartStatus(
            name=self.part.name, what=self.part.what, reality=self.part.reality, state=self._state,
            detail=self._detail, pid=pid, restarts=self._restarts, since=self._since,
            memory=processes.memory(pid) if pid else 0,
        )  # fmt: skip

    async def run(self) -> None:
        """Keep it running until cancelled."""
        deaths = 0
        try:
            while True:
                await self._wait_for_turn()
                self._retry.clear()
                self._gone.clear()
                was_ready = await self._live()
                self._gone.set()
                if not self._may_run.is_set():
                    continue
                deaths = 0 if was_ready else deaths + 1
                code = self._process.returncode if self._process else "nothing"
                if deaths >= START_LIMIT:
                    self._set("failed", f"exited with {code} {deaths} times: {self._last_words()}")
                    await self._retry.wait()
                    deaths = 0
                self._restarts += 1
                self._set("waiting", f"exited with {code}; starts again")
                await asyncio.sleep(min(0.1 * 2**deaths, 2))
        finally:
            await self._stop()

    async def rest(self) -> None:
        """Stop it, and keep it stopped until ``resume``."""
        self._may_run.clear()
        await self._stop()
        await self._gone.wait()
        self._set("resting", "stopped while etcd's data is copied")

    def resume(self) -> None:
        """Let it run again."""
        self._set("waiting", "")
        self._may_run.set()

    def retry(self) -> None:
        """Try again what was given up."""
        if self._state == "failed":
            self._set("waiting", "")
            self._retry.set()

    def kill(self) -> None:
        """SIGKILL: it comes back by itself."""
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP: it holds its connections and answers nothing."""
        self._end_slowing()
        self._signal(signal.SIGSTOP)
        self._set(
            "stopped",
            "stopped by SIGSTOP; go on: firstlight lab fault process " + self.part.name + " continue",
        )

    def unpause(self) -> None:
        """SIGCONT, and full speed."""
        self._end_slowing()
        self._signal(signal.SIGCONT)
        self._set("ready", "")

    def slow(self, share: float) -> None:
        """Let it run only a share of the time."""
        self._end_slowing()
        self._slowing = asyncio.create_task(self._duty_cycle(share))
        self._set("slowed", f"runs {share:.0%} of the time")

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
        self._shorten_log()
        try:
            self._process = await command.spawn(self.part.argv, log=self._log, env=self._env, cwd=self._cwd)
        except errors.ClientError as error:
            self._log.write_text(error.message)
            return False
        self._set("starting", f"waits for {self.part.probe}")
        if not self._may_run.is_set():  # asked to rest while it was being started
            await self._stop()
        return await self._follow(self._process)

    async def _follow(self, process: asyncio.subprocess.Process) -> bool:
        died = asyncio.create_task(process.wait())
        async with aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(_short(self.part.probe.socket)) if self.part.probe.socket else None
        ) as session:
            while not died.done() and not await self._answers(session, process.pid):
                await asyncio.wait({died}, timeout=POLL)
        if died.done():
            return False
        self._set("ready", "")
        await died
        self._end_slowing()
        return True

    async def _answers(self, session: aiohttp.ClientSession, pid: int) -> bool:
        probe = self.part.probe
        if probe.mark is not None:
            with contextlib.suppress(OSError):
                return probe.mark.read_text() == str(pid)
            return False
        try:
            async with session.get(
                probe.url, ssl=self._tls, server_hostname=certificates.SERVER_NAME if "https" in probe.url else None,
                timeout=aiohttp.ClientTimeout(total=2),
            ) as response:  # fmt: skip
                if response.status != 200:
                    self._detail = f"{probe.url} answers {response.status}"
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def _stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._end_slowing()
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), self.part.grace)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _duty_cycle(self, share: float) -> None:
        try:
            while True:
                self._signal(signal.SIGSTOP)
                await asyncio.sleep(SLOW_PERIOD * (1 - share))
                self._signal(signal.SIGCONT)
                await asyncio.sleep(SLOW_PERIOD * share)
        finally:
            self._signal(signal.SIGCONT)

    def _end_slowing(self) -> None:
        if self._slowing is not None:
            self._slowing.cancel()
            self._slowing = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def _shorten_log(self) -> None:
        """Keep one older file, so that a lab that lives for weeks does not fill the disk."""
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > LOG_LIMIT:
                self._log.rename(self._log.with_suffix(".log.old"))

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = self._log.read_text(errors="replace").strip().splitlines()
            return lines[-1][-300:] if lines else "it printed nothing"
        return "it printed nothing"

    def _set(self, state: State, detail: str) -> None:
        if (state, detail) != (self._state, self._detail):
            self._state, self._detail, self._since = state, detail, time.time()


def _short(path: Path) -> str:
    """A unix socket's path may have 108 bytes; relative to the working directory it is short."""
    return os.path.relpath(path)
