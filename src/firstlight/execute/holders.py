"""Who holds something: a name that tells others whom to ask, and this computer whether the holder still lives."""

import hashlib
import os
import re
from pathlib import Path

from firstlight.journal import author

_HOLDER = re.compile(r"[^:]*:(?P<process>[0-9]{1,10}):(?P<place>[0-9a-f]{8}):.+")


def name(run: str) -> str:
    """This process: ``ann@desk:4711:5f0c2a91:20261116T063000Z-infra-ab12``."""
    return f"{author.who()}:{_place()}:{run}"


def is_dead(holder: str) -> bool:
    """Whether a holder was a process that would be seen from here, and is gone; of others nobody knows."""
    found = _HOLDER.fullmatch(holder)
    if found is None or not author.is_here(holder) or found["place"] != _place():
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
