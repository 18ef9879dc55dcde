"""Whether drift may be corrected: only on the cluster that is meant, and only to the commit that its engine has."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import identity
from firstlight.model.owner import ObjectOwner
from firstlight.operate import drift_revisions
from firstlight.operate.drift_scene import Scene
from firstlight.report import drift as report


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ground:
    """How it is known which cluster is meant."""

    state: Path
    """``.firstlight`` of the repo, where ``up`` has written down which cluster is which."""
    uid: str = ""
    """That of kube-system, as the user names it."""


async def check_cluster(name: str, client: kube.Client, *, ground: Ground, confirm: Callable[[str], bool]) -> None:
    """Refuse another cluster than the one that is meant; where none was written down, a person must know it.

    Args:
        name: Of the cluster.
        client: The API.
        ground: How it is known.
        confirm: Asked whether it is the one, where only a person can tell.

    Raises:
        errors.Refused: It is another cluster, or nobody says that it is this one.
        errors.ClientError: The API does not answer.
    """
    found = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    uid = str(found["metadata"]["uid"])
    known = identity.known(ground.state, name)
    for each in (known, ground.uid):
        if each and each != uid:
            raise errors.Refused(
                f"{client.config.server} is not {name}: its kube-system has the UID {uid}, and {each} is meant",
                hint="Check the kubeconfig and its context.",
            )
    if known or ground.uid:
        return
    what = f"{client.config.server}, whose kube-system has the UID {uid}"
    if not confirm(f"It was never written down here which cluster {name} is. This would write to {what}."):
        raise errors.Refused(
            f"it is not known whether this is {name}: {what}; nothing was written",
            hint=f"If it is: --uid {uid}; firstlight up {name} writes it down.",
        )


async def check_commit(scene: Scene, owners: Iterable[ObjectOwner], client: kube.Client) -> None:
    """Refuse to put back what is not the commit that the engine has.

    Args:
        scene: What was rendered.
        owners: Who is to put it back.
        client: The API.

    Raises:
        errors.Refused: The work tree is not as its commit, or the engine has another one, or nobody knows which.
        errors.ClientError: The API does not answer.
    """
    for each in scene.problems:
        if each.rule == report.UNCOMMITTED:
            raise errors.Refused(f"{each.message}; nothing is to be put back to that", hint=each.way_out)
    if not scene.revision:
        raise errors.Refused(
            "what was rendered is of no known commit, so that nobody can tell whether it is what the engine has",
            hint="Commit and push; from a registry, the engine alone corrects: flux reconcile, or argocd app sync.",
        )
    found = await drift_revisions.applied(scene.cluster, owners, client, revision=scene.revision)
    if found.others:
        how = report.to_the_same_commit(scene.problems)
        raise errors.Refused(
            f"the engine has applied {'; '.join(found.others)}, not {scene.revision[:12]}: nothing is to be put back",
            hint=f"First {how}; then again.",
        )
    if found.unknown:
        raise errors.Refused(
            f"which commit of this repo {', '.join(found.unknown)} has applied is not known: nothing is to be put back",
            hint="See what it says: kubectl describe; and whether gitops.url is what its source follows.",
        )
