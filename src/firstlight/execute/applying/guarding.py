"""Writes that only happen if nobody else has written since the look: the server compares, in one step with the write.

An engine that adopts an object in between makes a conflict of the write, and the object is looked at again.
"""

from collections.abc import Mapping
from typing import Any

_NEVER = "1"
"""The resource version of nothing: etcd begins with it, so that its first write has the next one. An apply that has a
resource version creates what is not there, and conflicts with whatever is there in another version."""


def guarded(value: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object to apply on nothing but what was seen.

    Args:
        value: The object.
        live: As it was seen; None if it was not there.
    """
    seen = ((live or {}).get("metadata") or {}).get("resourceVersion") or _NEVER
    return {**value, "metadata": {**(value.get("metadata") or {}), "resourceVersion": seen}}
