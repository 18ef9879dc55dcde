"""The id of a run: the time, the cluster, and letters that tell two of the same second apart."""

import re
import secrets
import time

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""None that is taken for another."""
_LONGEST = 40
"""Letters of the cluster's name: file names have limits."""


def make(cluster: str, *, now: float | None = None) -> str:
    """A new id: ``20261116T063000Z-infra-ab12``; sorted by name, runs are sorted by time."""
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    name = re.sub(r"[^a-z0-9]+", "-", cluster.lower())[:_LONGEST].strip("-") or "cluster"
    return f"{at}-{name}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def is_one(text: str) -> bool:
    """Whether it can be the id of a run, and so the name of a file."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text) is not None
