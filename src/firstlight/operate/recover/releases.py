"""A Helm release that was left pending: which component it is of, and whether it may be repaired at all."""

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.plan import Step
from firstlight.model.work import Install
from firstlight.operate.up import Prepared
from firstlight.ownership import engine_marks

_HELM_RELEASE = ("helm.toolkit.fluxcd.io/v2", "HelmRelease")


def step_of(release: str, prepared: Prepared) -> Step:
    """The step that runs Helm for a release.

    Args:
        release: ``NAMESPACE/NAME``.
        prepared: The whole plan of the cluster.

    Raises:
        errors.UsageError: No step of bootstrap installs it.
    """
    known = {
        f"{one.namespace}/{one.name}": step
        for step in prepared.work.plan.steps
        if isinstance(task := prepared.work.tasks[step.id], Install)
        for one in task.releases
    }
    if release not in known:
        there = f"It installs {', '.join(sorted(known))}." if known else "It installs none."
        raise errors.UsageError(
            f"bootstrap installs no release {release[:120]}", hint=f"{there} Roll others back: helm rollback"
        )
    return known[release]


async def refuse_owned(release: str, client: kube.Client) -> None:
    """See that no HelmRelease owns it: helm-controller takes up its own.

    Raises:
        errors.Refused: One does.
        errors.ClientError: The API does not answer.
    """
    namespace, _, name = release.partition("/")
    try:
        found = (await client.list(*_HELM_RELEASE)).items
    except kube.UnknownKind:
        return
    mark = engine_marks.release_of(found, name=name, namespace=namespace)
    if mark is not None:
        owner, _, own = mark.owner.partition(" ")[2].rpartition("/")
        raise errors.Refused(
            f"{mark.owner} owns the release {release}: helm-controller takes it up again",
            hint=f"Ask it to: flux reconcile helmrelease {own} -n {owner} --force",
        )
