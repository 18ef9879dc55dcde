"""Moves carried out for tests as they are typed, and what is asked of a cluster afterwards."""

import time
from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.lab.running_lab import Lab
from firstlight.observe import audit_log
from tests.changing import Clone

WHY = "a test of moves"


async def pushed(clone: Clone, *arguments: str) -> str:
    """A move carried out as far as it goes before somebody merges it; its branch."""
    told = await clone.run("move", *arguments, "--no-render", "--carry-out", "--no-wait", "--yes", "--anyway", "a test")
    assert told.code == 3, f"{told.out}\n{told.err}"
    return clone.git("branch", "--show-current")


def merge(clone: Clone, branch: str) -> str:
    """Somebody merges a branch; the commit."""
    clone.git("switch", "--quiet", "main")
    clone.git("merge", "--quiet", "--no-edit", branch)
    clone.git("push", "--quiet", "origin", "main")
    return clone.git("rev-parse", "HEAD")


async def resume(clone: Clone) -> None:
    """Go on with a change that was merged."""
    told = await clone.change("resume", "--yes")
    assert told.code == 0, f"{told.out}\n{told.err}"


async def carry(clone: Clone, *arguments: str) -> None:
    """A move carried out: pushed, merged by somebody else, and gone on with."""
    merge(clone, await pushed(clone, *arguments))
    await resume(clone)


async def pods(client: kube.Client, space: str, *, prefix: str = "") -> set[str]:
    """The UIDs of pods."""
    items = (await client.list("v1", "Pod", namespace=space)).items
    return {each["metadata"]["uid"] for each in items if each["metadata"]["name"].startswith(prefix)}


def managers(obj: Mapping[str, Any]) -> set[str]:
    """Who has fields of an object, its status aside."""
    return {each["manager"] for each in obj["metadata"]["managedFields"] if not each.get("subresource")}


def deleted(lab: Lab, space: str, *, since: float) -> list[str]:
    """What anybody has deleted in a namespace, Leases aside."""
    found = audit_log.writes(lab.home.audit_log, since=since, until=time.time(), is_asked=lambda *_: True)
    assert any(f"{space}/" in each.what for each in found), "the log has what was written"
    every = [each for each in found if each.verb.startswith("delete") and f"{space}/" in each.what]
    return [str(each) for each in every if not each.what.startswith("leases")]
