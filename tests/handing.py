"""What tests of handovers ask of a cluster: whose objects are, which pods there are, and what anybody deleted."""

import time
from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.observe import audit_log
from tests import runs

AGENT = ("apps/v1", "DaemonSet", "kube-flannel-ds", "kube-system")
"""The CNI of the platforms of the tests."""
NOTE = "example.org/note"
"""An annotation that tests remove from Git."""


def client(stage: runs.Stage) -> kube.Client:
    """The API of a stage's lab, as its administrator."""
    return kube.Client(kube.load(stage.lab.kubeconfig))


async def get(client: kube.Client, what: tuple[str, str, str, str]) -> Any:
    """An object by its apiVersion, kind, name and namespace."""
    return await client.get(what[0], what[1], what[2], namespace=what[3])


async def pods(client: kube.Client) -> Mapping[str, tuple[str, int]]:
    """The uid and the restarts of every pod."""
    found = (await client.list("v1", "Pod")).items
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": (
            each["metadata"]["uid"],
            sum(one.get("restartCount", 0) for one in each["status"].get("containerStatuses", ())),
        )
        for each in found
    }


def managers(obj: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Who owns fields of an object, those aside that only write its status."""
    entries = [each for each in obj["metadata"]["managedFields"] if not each.get("subresource")]
    return {(each["manager"], each["operation"]) for each in entries} - {("kube-controller-manager", "Update")}


def deletions(stage: runs.Stage, *, since: float) -> list[str]:
    """What anybody has deleted; leases and events come and go."""
    found = audit_log.writes(stage.lab.home.audit_log, since=since, until=time.time(), is_asked=lambda *_: True)
    return [str(each) for each in found if each.verb.startswith("delete") and not each.what.startswith("leases")]
