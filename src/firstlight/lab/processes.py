"""The processes of a lab as the kernel sees them, however their parents died.

Every process that a lab starts carries the lab's directory in its environment; a process id is trusted only together
with that mark, so that a reused id is never killed.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

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
    """Kill every process of a lab at once and wait until none is left; how many there were."""
    victims: set[int] = set()
    deadline = time.monotonic() + timeout
    while living := of(home):
        for pid in living:
            victims.add(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return len(victims)


def memory(pid: int) -> int:
    """Resident bytes of a process; 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _is_dead(entry: Path) -> bool:
    """Zombies keep an empty environment on most kernels; on others their state tells."""
    stat = (entry / "stat").read_text()
    return stat[stat.rindex(")") + 2] in "ZX"
