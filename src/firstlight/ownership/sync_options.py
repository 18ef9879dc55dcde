"""The options by which Argo CD is told how to sync: those of an Application, and those of a single object."""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence

ANNOTATION = "argocd.argoproj.io/sync-options"
SERVER_SIDE = "ServerSideApply=true"
REPLACE = "Replace=true"


def of_application(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of an Application."""
    return tuple(str(each) for each in sequence(definition, "spec", "syncPolicy", "syncOptions"))


def of_object(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of an object, which it has besides those of its Application."""
    written = str(mapping(value, "metadata", "annotations").get(ANNOTATION) or "")
    return tuple(each.strip() for each in written.split(",") if each.strip())


def is_server_side(definition: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether Argo CD applies all objects of an Application by server-side apply; ``Replace`` would win over that.

    Args:
        definition: The Application.
        objects: What it applies, as far as that is known.
    """
    said, given = of_application(definition), list(objects)
    if REPLACE in said:
        return False
    return SERVER_SIDE in said or (bool(given) and all(SERVER_SIDE in of_object(each) for each in given))
