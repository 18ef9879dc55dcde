"""Who holds something: a name that tells others whom to ask, and this computer whether the holder still lives."""

import os
import re

from firstlight.journal import author

_HOLDER = re.compile(r"[^:]*:(?P<process>[0-9]{1,10}):.+")


def name(run: str) -> str:
    """This process: ``ann@desk:4711:20261116T063000Z-infra-ab12``."""
    return f"{author.who()}:{run}"


def is_dead(holder: str) -> bool:
    """Whether a holder was a process of this computer that is gone; of others nobody knows."""
    found = _HOLDER.fullmatch(holder)
    if found is None or not author.is_here(holder):
        return False
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
