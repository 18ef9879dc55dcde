"""The processes of a lab as the kernel sees them, however their parents died.

Every process that a lab starts carries the lab's directory in its environment; a process id is trusted only together
with that mark, so that a reused id is never killed.
"""

import contextlib
import os
import select
import signal
import time
from pathlib import Path

from firstlight import errors

MARK = "FIRSTLIGHT_LAB"


def of(home: Path) -> tuple[int, ...]:
    """The ids of all living processes of a lab, apart from this one."""
    wanted = f"{MARK}={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0") and not _is_dead(entry):
                found.append(int(entry.name))
    return tuple(found)


def kill(home: Path, *, timeout: float = 20) -> int:
    """Kill every process of a lab at once and wait until they have let go of everything; how many there were.

    Raises:
        errors.LabError: Some do not die.
    """
    victims: set[int] = set()
    deadline = time.monotonic() + timeout
    while living := of(home):
        victims.update(living)
        handles = [handle for pid in living if (handle := _kill(pid)) >= 0]
        try:
            for handle in handles:
                # Readable only after the process has closed its files: locks and ports are free then.
                if not select.select([handle], [], [], max(0, deadline - time.monotonic()))[0]:
                    raise errors.LabError(
                        f"processes of the lab in {home} do not die: {', '.join(map(str, of(home)))}",
                        hint="They hang in the kernel, on a disk or network file system perhaps.",
                    )
        finally:
            for handle in handles:
                os.close(handle)
    return len(victims)


def memory(pid: int, *, family: bool = False) -> int:
    """Resident bytes of a process, with those of its children if they are its own business; 0 if it is gone."""
    resident = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                resident = int(line.split()[1]) * 1024
        if family:
            resident += sum(memory(child) for child in _children(pid))
    return resident


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _kill(pid: int) -> int:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return -1
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    return handle


def _is_dead(entry: Path) -> bool:
    """Zombies keep an empty environment on most kernels; on others their state tells."""
    stat = (entry / "stat").read_text()
    return stat[stat.rindex(")") + 2] in "ZX"
