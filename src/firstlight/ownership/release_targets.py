"""Whether helm-controller would take the release of a HelmRelease for another one than it has known, and uninstall it.

It compares what its status has of the last revision with what the HelmRelease and its chart say now, also where
somebody else has upgraded the release since.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.ownership import engine_marks


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """What is called otherwise."""

    what: str
    """For people: ``namespace``, ``chart``."""
    known: str
    """As helm-controller has it in its status."""
    now: str


def changed(definition: Mapping[str, Any], live: Mapping[str, Any], *, chart: str = "") -> Changed | None:
    """What of a release is called otherwise now, so that its controller would uninstall it first; None if nothing is.

    Args:
        definition: The HelmRelease as Git has it, with its namespace.
        live: The same in the cluster.
        chart: The name of the chart; empty where it is not known.
    """
    history = sequence(live, "status", "history")
    storage = text(live, "status", "storageNamespace")
    if not history or not storage:
        return None  # it knows no release, and takes what is there
    spec, own = mapping(definition, "spec"), text(live, "metadata", "namespace")
    found = [
        ("namespace of its history", storage, text(spec, "storageNamespace") or own),
        ("namespace", text(history[0], "namespace"), text(spec, "targetNamespace") or own),
        ("name", text(history[0], "name"), engine_marks.release_name(definition)),
    ]
    if chart and text(spec, "upgrade", "chartNameChangeStrategy") != "InPlaceUpdate":
        found.append(("chart", text(history[0], "chartName"), chart))
    return next((Changed(*each) for each in found if each[1] != each[2]), None)


def uninstalls(definition: Mapping[str, Any]) -> bool:
    """Whether a HelmRelease uninstalls its release where an upgrade fails."""
    return text(definition, "spec", "upgrade", "remediation", "strategy") == "uninstall"
