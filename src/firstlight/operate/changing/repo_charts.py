"""HelmReleases whose chart is a directory of the repo itself: ready is not enough, the chart must be of the commit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.gates import flux, revisions
from firstlight.model.observation import Look
from firstlight.model.verdict import Verdict, Waiting

CHARTS = Look(api_version=f"{flux.SOURCES}/v1", kind="HelmChart")


def late(
    release: Mapping[str, Any],
    name: str,
    *,
    charts: Sequence[Mapping[str, Any]],
    sources: Sequence[Mapping[str, Any]],
    url: str,
    is_in: Callable[[str], bool],
) -> Verdict | None:
    """Why a HelmRelease has not come to the commit, though it may be ready; None where it has, or its chart has none.

    Args:
        release: As it is.
        name: What it is called.
        charts: All HelmCharts.
        sources: All GitRepositories.
        url: The repository that the commit is of.
        is_in: Whether a revision has the commit.
    """
    if not _is_ours(release, sources, url):
        return None
    wanted = text(release, "status", "helmChart")
    chart = next((each for each in charts if _called(each) == wanted), None)
    if chart is None:
        return Waiting(f"{name} has no chart yet")
    if not is_in(text(chart, "status", "observedSourceArtifactRevision")):
        return Waiting(f"{name}: its chart is not made of the commit yet")
    version, tried = text(chart, "status", "artifact", "revision"), text(release, "status", "lastAttemptedRevision")
    return Waiting(f"{name} is at {tried or 'nothing'}, and its chart is {version}") if tried != version else None


def _is_ours(release: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], url: str) -> bool:
    reference = mapping(release, "spec", "chart", "spec", "sourceRef")
    space = text(reference, "namespace") or text(release, "metadata", "namespace")
    called = f"{space}/{text(reference, 'name')}"
    return text(reference, "kind") == "GitRepository" and any(
        _called(each) == called and (not url or revisions.is_same_repository(url, text(each, "spec", "url")))
        for each in sources
    )


def _called(value: Mapping[str, Any]) -> str:
    return f"{text(value, 'metadata', 'namespace')}/{text(value, 'metadata', 'name')}"
