"""Running other programs: argv only, never a shell; bounded in time, output and whatever else they could exhaust.

``run`` waits for an answer and is what every client of a command-line tool uses; ``within`` says which limits it has.
``spawn`` starts a process that stays, with its output in a log file; the lab runs its parts with it.
Secrets are handed over by memory files.
"""

import asyncio
import contextlib
import ctypes
import dataclasses
import errno
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.sandbox import isolation
from firstlight.clients.sandbox.program_limits import FREE, ProgramLimits
from firstlight.model.secret import Secret

OUTPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of output that ``run`` accepts: several times the largest rendered repository seen (1.4 MB inline)."""

_OUT_OF_MEMORY = re.compile(
    r"^fatal error: (?:runtime: )?(?:cannot allocate memory|out of memory)|^runtime: out of memory|^MemoryError\b"
    r"|: out of memory|[Cc]annot allocate memory|std::bad_alloc",
    re.MULTILINE,
)
"""How programs say that they got no more; there is no exit code for it."""
_FILE_TOO_LARGE = re.compile(r"^SIGXFSZ: file size limit exceeded|\b[Ff]ile too large$", re.MULTILINE)

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class Completed:
    """What a program answered."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: str


async def run(
    argv: Sequence[str],
    *,
    timeout: float = 60,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    pass_fds: Sequence[int] = (),
    check: bool = True,
    on_stdout: Callable[[str], None] | None = None,
    on_stderr: Callable[[str], None] | None = None,
    dies_with_parent: bool = False,
    within: ProgramLimits = FREE,
) -> Completed:
    """Run a program to its end.

    Args:
        argv: The program and its arguments; never a secret, since every user of the machine can read them.
        timeout: Seconds after which it and its children are killed.
        env: The whole environment; the caller's own if it is not given.
        cwd: Where it runs.
        stdin: What it reads; secrets may go this way.
        pass_fds: Files it inherits, such as those of ``memory_file``.
        check: Raise ``CommandFailed`` if it exits with anything but 0.
        on_stdout: Called with each line of standard output as it comes.
        on_stderr: Called with each line of standard error as it comes, for progress.
        dies_with_parent: The kernel kills it when this process ends, however it ends; for work of many minutes.
        within: What it may use, a kind of ``sandbox.limits``.

    Raises:
        errors.Unreachable: There is no such program.
        errors.TimedOut: It took longer than ``timeout``.
        errors.LimitExceeded: It wanted more than ``within`` allows.
        errors.CommandFailed: It exited with an error, and ``check`` is set.
    """
    child: asyncio.subprocess.Process | isolation.Child
    if within.is_free:
        child = await _start(
            argv, env=env, cwd=cwd, pass_fds=pass_fds, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            preexec_fn=_dying_with(os.getpid()) if dies_with_parent else None,
        )  # fmt: skip
    else:
        child = await _start_within(
            argv, within, env=env, cwd=cwd, pass_fds=pass_fds, has_stdin=bool(stdin), dies_with_parent=dies_with_parent
        )
    try:
        async with asyncio.timeout(timeout):
            stdout, stderr, _ = await asyncio.gather(
                _read(child.stdout, argv, on_stdout),
                _read_lines(child.stderr, on_stderr),
                _feed(child.stdin, stdin),
            )
            ended = await child.wait()
    except TimeoutError as error:
        raise errors.TimedOut(f"{argv[0]} did not finish within {timeout:g} s", target=argv[0]) from error
    finally:
        await _kill_group(child)
    if isinstance(ended, isolation.ChildEnded):
        if exceeded := _exceeded(ended, stderr, within):
            raise errors.LimitExceeded(f"{argv[0]} {exceeded}", target=argv[0], hint=_LARGER)
        ended = ended.code
    if check and ended != 0:
        raise errors.CommandFailed(argv, code=ended, stderr=stderr)
    return Completed(tuple(argv), ended, stdout, stderr)


_LARGER = "see what it is given: no repo in ordinary use needs that much"


def _exceeded(ended: isolation.ChildEnded, stderr: str, within: ProgramLimits) -> str:
    """Which limit ended a program; empty where none did."""
    if ended.code == 0:
        return ""
    if ended.code == -signal.SIGKILL:  # not by us: who takes too long does not get here
        if within.cpu and ended.cpu >= within.cpu / 2:  # the kernel enforces ticks, and tells what was really used
            return f"used more than {within.cpu} s of processor time"
        return "was killed by the kernel: is the computer out of memory?"
    if within.data and _OUT_OF_MEMORY.search(stderr):
        return f"needs more than {within.data >> 20} MiB of memory"
    if within.file and (ended.code == -signal.SIGXFSZ or _FILE_TOO_LARGE.search(stderr)):
        return f"wrote a file of more than {within.file >> 20} MiB"
    return ""


async def _start_within(
    argv: Sequence[str],
    within: ProgramLimits,
    *,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    pass_fds: Sequence[int],
    has_stdin: bool,
    dies_with_parent: bool,
) -> isolation.Child:
    try:
        child = await isolation.start(
            argv, within, env=program_path.environment(os.environ if env is None else env), cwd=cwd,
            has_stdin=has_stdin, inherited=pass_fds, dies_with_parent=dies_with_parent,
        )  # fmt: skip
    except isolation.NotStarted as error:
        raise _not_started(argv, cwd, error) from error
    isolation.note_missing(within, child.missing)
    return child


def _not_started(argv: Sequence[str], cwd: Path | None, error: isolation.NotStarted) -> Exception:
    if error.what == "cwd":
        return errors.ClientError(f"{cwd} is not a directory", target=argv[0])
    if error.what == "exec" and error.errno in (errno.ENOENT, errno.ENOTDIR):
        return errors.Unreachable(f"there is no program {argv[0]}", target=argv[0])
    if error.what == "exec" and error.errno == errno.EACCES:
        return errors.NotExecutable(f"{argv[0]} cannot be executed", target=argv[0])
    return OSError(error.errno, f"{argv[0]} was not started ({error.what}): {error.strerror}")


async def spawn(
    argv: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    dies_with_parent: bool = True,
) -> asyncio.subprocess.Process:
    """Start a process that stays, in a session of its own, with its output appended to ``log``.

    Args:
        argv: The program and its arguments.
        log: Where its output goes.
        env: The whole environment; the caller's own if it is not given.
        cwd: Where it runs.
        pass_fds: Files it inherits.
        dies_with_parent: The kernel kills it when this process ends, however it ends.
    """
    with log.open("ab") as out:
        return await _start(
            argv, env=env, cwd=cwd, pass_fds=pass_fds, stdin=subprocess.DEVNULL, stdout=out.fileno(),
            stderr=subprocess.STDOUT, preexec_fn=_dying_with(os.getpid()) if dies_with_parent else None,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MemoryFile:
    """A file that exists only in memory; ``path`` is valid in this process and in those that inherit ``fd``."""

    fd: int
    path: str


@contextlib.contextmanager
def memory_file(content: Secret) -> Iterator[MemoryFile]:
    """Give a program, or a library, that insists on a file the content of a secret without writing it to a disk."""
    fd = os.memfd_create("firstlight", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(content.reveal())
        os.lseek(fd, 0, os.SEEK_SET)
        yield MemoryFile(fd, f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


async def _start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    pass_fds: Sequence[int],
    stdin: int,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    preexec_fn: Callable[[], None] | None = None,
) -> asyncio.subprocess.Process:
    environ = program_path.environment(os.environ if env is None else env)
    try:
        return await asyncio.create_subprocess_exec(
            *argv, env=environ, cwd=cwd, pass_fds=pass_fds, stdin=stdin, stdout=stdout, stderr=stderr,
            start_new_session=True, preexec_fn=preexec_fn,
        )  # fmt: skip
    except FileNotFoundError as error:
        if cwd is not None and not cwd.is_dir():
            raise errors.ClientError(f"{cwd} is not a directory", target=argv[0]) from error
        raise errors.Unreachable(f"there is no program {argv[0]}", target=argv[0]) from error
    except PermissionError as error:
        raise errors.NotExecutable(f"{argv[0]} cannot be executed", target=argv[0]) from error


def _dying_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the kernel was told
            os._exit(1)

    return prepare


async def _read(
    stream: asyncio.StreamReader | None, argv: Sequence[str], listener: Callable[[str], None] | None = None
) -> bytes:
    assert stream is not None
    chunks: list[bytes] = []
    pending = b""
    size = 0
    while chunk := await stream.read(1 << 16):
        size += len(chunk)
        if size > OUTPUT_LIMIT:
            raise errors.ClientError(f"{argv[0]} printed more than {OUTPUT_LIMIT >> 20} MiB", target=argv[0])
        chunks.append(chunk)
        if listener is not None:
            pending = _told(pending + chunk, listener)
    if listener is not None and pending:
        listener(pending.decode(errors="replace"))
    return b"".join(chunks)


async def _read_lines(stream: asyncio.StreamReader | None, listener: Callable[[str], None] | None) -> str:
    """The last part of standard error: enough to explain a failure, however much a program prints."""
    assert stream is not None
    kept = b""
    pending = b""
    while chunk := await stream.read(1 << 16):
        kept = (kept + chunk)[-(1 << 20) :]
        if listener is not None:
            pending = _told(pending + chunk, listener)
    if listener is not None and pending:
        listener(pending.decode(errors="replace"))
    return kept.decode(errors="replace")


def _told(text: bytes, listener: Callable[[str], None]) -> bytes:
    """Tell all whole lines; what begins the next one is given back."""
    *lines, rest = text.split(b"\n")
    for line in lines:
        listener(line.decode(errors="replace"))
    return rest


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _kill_group(process: asyncio.subprocess.Process | isolation.Child) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        await process.wait()
    finally:
        if isinstance(process, isolation.Child):
            process.close()
