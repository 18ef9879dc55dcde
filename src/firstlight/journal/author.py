"""Who runs: for the journal, and for others who ask."""

import getpass
import os
import re
import socket

_WHO = re.compile(r"[^@]*@(?P<host>[^:]+):[0-9]+")
"""More may follow: whoever holds a lease also says for which run."""


def who() -> str:
    """``user@host:pid``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())  # a container may have users without names
    return f"{user}@{socket.gethostname()}:{os.getpid()}"


def is_here(who: str) -> bool:
    """Whether somebody ran on this host."""
    found = _WHO.match(who)
    return found is not None and found["host"] == socket.gethostname()
