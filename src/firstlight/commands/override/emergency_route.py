"""Which way an emergency is met: is the cluster accessible, and does its engine work?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.engines import adapters
from firstlight.engines.adapter import EngineAdapter
from firstlight.gates.causes import message_codes
from firstlight.model.cluster import Cluster
from firstlight.model.override import EmergencyPath, EmergencyRoute

ACCESSIBLE, FUNCTIONAL = "is the cluster accessible", "does the engine work"


def unreachable(error: errors.FirstlightError) -> EmergencyRoute:
    """The way where the API does not answer."""
    return EmergencyRoute(path=EmergencyPath.RECOVERY, answers=((ACCESSIBLE, False, error.message),))


async def route(cluster: Cluster, client: kube.Client) -> EmergencyRoute:
    """Ask the two questions.

    Raises:
        errors.ClientError: The API stops answering.
    """
    ready = await client.ready()
    if not ready.is_ready:
        failed = ", ".join(ready.failed[:3]) or "it says no more"
        return EmergencyRoute(
            path=EmergencyPath.RECOVERY, answers=((ACCESSIBLE, False, f"the API is not ready: {failed}"),)
        )
    version = str((await client.version()).get("gitVersion") or "")
    accessible = (ACCESSIBLE, True, f"the API answers, Kubernetes {version}".rstrip())
    trouble = await _trouble(cluster, client)
    if trouble:
        return EmergencyRoute(path=EmergencyPath.OVERRIDE, answers=(accessible, (FUNCTIONAL, False, trouble)))
    seen = f"the controllers of {cluster.engine} run, and reach Git"
    return EmergencyRoute(path=EmergencyPath.EXPEDITED, answers=(accessible, (FUNCTIONAL, True, seen)))


async def _trouble(cluster: Cluster, client: kube.Client) -> str:
    """Why the engine does not bring what Git has; empty if it does."""
    if cluster.engine is None:
        return "no engine is declared"
    adapter = adapters.ADAPTERS[cluster.engine]
    needed = {*adapter.needed_controllers, *adapter.useful_controllers}
    found: dict[str, Mapping[str, Any]] = {}
    for kind in ("Deployment", "StatefulSet"):
        for each in (await client.list("apps/v1", kind)).items:
            # A chart may put the name of its release before that of a controller; the label has it alone.
            names = {text(each, "metadata", "name"), text(each, "metadata", "labels", "app.kubernetes.io/name")}
            found |= dict.fromkeys(names & needed, each)
    if missing := [each for each in adapter.needed_controllers if each not in found]:
        return f"there is no {missing[0]}"
    if down := [name for name, each in sorted(found.items()) if not _is_up(each)]:
        return f"{down[0]} has no ready pod"
    return await _unfetched(adapter, client)


def _is_up(workload: Mapping[str, Any]) -> bool:
    return int(mapping(workload, "status").get("readyReplicas") or 0) > 0


async def _unfetched(adapter: EngineAdapter, client: kube.Client) -> str:
    """Why Git is not read; empty if it is."""
    failure = adapter.fetch_failure
    try:
        items = (await client.list(failure.api_version, failure.kind)).items
    except kube.UnknownKind:
        return f"{failure.kind} is not served: {adapter.title} is not installed"
    for each in items:
        for condition in sequence(each, "status", "conditions"):
            if text(condition, "type") == failure.condition and text(condition, "status") in ("", "True"):
                name = f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
                said = text(condition, "message")
                code = "" if failure.is_only_git else message_codes.git_code(said)
                if failure.is_only_git or code:
                    why = message_codes.REPOSITORY_MESSAGES[code] if code else said
                    return failure.words.format(name=name, why=why)
    return ""
