"""Who runs: for the journal, and for others who ask."""

import getpass
import os
import re
import secrets
import socket
import time

_WHO = re.compile(r"[^@]*@(?P<host>[^:]+):[0-9]+")
"""More may follow: whoever holds a lease also says for which run."""


def who() -> str:
    """``user@host:pid``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())  # a container may have users without names
    return f"{user}@{socket.gethostname()}:{os.getpid()}"


def ran_here(who: str) -> bool:
    """Whether somebody ran on this host."""
    found = _WHO.match(who)
    return found is not None and found["host"] == socket.gethostname()


# The id of a run: the time, the cluster, and letters that tell two of the same second apart.


_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""None that is taken for another."""
_LONGEST = 40
"""Letters of the cluster's name: file names have limits."""


def make_run_id(cluster: str, *, now: float | None = None) -> str:
    """A new id: ``20261116T063000Z-infra-ab12``; sorted by name, runs are sorted by time."""
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    name = re.sub(r"[^a-z0-9]+", "-", cluster.lower())[:_LONGEST].strip("-") or "cluster"
    return f"{at}-{name}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def is_run_id(text: str) -> bool:
    """Whether it can be the id of a run, and so the name of a file."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text) is not None
