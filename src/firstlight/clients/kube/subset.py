"""Whether a live object contains all that was wanted: how a create recognises its own work after a cut."""

import base64
from collections.abc import Mapping
from typing import Any


def is_subset(wanted: object, live: object) -> bool:
    """Whether everything in ``wanted`` is in ``live``, which may hold more: defaults, status."""
    if isinstance(wanted, Mapping):
        if not isinstance(live, Mapping):
            return not wanted and live is None
        return all(is_subset(value, live.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(live, list):
            return not wanted and live is None
        rest = iter(live)
        return all(any(is_subset(item, candidate) for candidate in rest) for item in wanted)
    if wanted in (None, "") and live is None:
        return True  # the server leaves out what is empty
    return wanted == live and isinstance(wanted, bool) == isinstance(live, bool)


def is_object_subset(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """The same for whole objects, knowing that ``stringData`` of a Secret comes back as ``data``."""
    if wanted.get("kind") == "Secret" and wanted.get("stringData"):
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in wanted["stringData"].items()}
        wanted = {key: value for key, value in wanted.items() if key != "stringData"}
        wanted["data"] = {**(wanted.get("data") or {}), **encoded}
    return is_subset(wanted, live)
