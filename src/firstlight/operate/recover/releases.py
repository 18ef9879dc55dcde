"""A Helm release that was left pending: which component it is of, and whether it may be repaired at all."""

from collections.abc import Iterable

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.component import Component, Owner, Side
from firstlight.model.plan import Step
from firstlight.model.work import Install
from firstlight.operate.up import Prepared
from firstlight.ownership import engine_marks
from firstlight.plan import facts

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


def is_kept(release: str, components: Iterable[Component]) -> bool:
    """Whether the repo says that bootstrap keeps a release, whatever HelmRelease rests beside it.

    Args:
        release: ``NAMESPACE/NAME``.
        components: Those of the cluster.
    """
    kept = [each for each in components if facts.in_bootstrap(each) and each.owner == Owner.BOOTSTRAP]
    charts = [chart for each in kept for side in (Side.BOOTSTRAP, Side.GITOPS) for chart in facts.charts(each, side)]
    return release in {f"{each.namespace}/{each.release}" for each in charts}


async def refuse_owned(release: str, client: kube.Client, *, is_kept: bool = False) -> None:
    """See that no HelmRelease owns it: helm-controller takes up its own.

    Args:
        release: ``NAMESPACE/NAME``.
        client: The API.
        is_kept: Whether the repo says that bootstrap keeps it.

    Raises:
        errors.Refused: One does.
        errors.ClientError: The API does not answer.
    """
    namespace, _, name = release.partition("/")
    try:
        found = (await client.list(*_HELM_RELEASE)).items
    except kube.UnknownKind:
        return
    mark = engine_marks.release_of(found, name=name, namespace=namespace, is_kept=is_kept)
    if mark is not None:
        owner, _, own = mark.owner.partition(" ")[2].rpartition("/")
        raise errors.Refused(
            f"{mark.owner} owns the release {release}: helm-controller takes it up again",
            hint=f"Ask it to: flux reconcile helmrelease {own} -n {owner} --force",
        )
