"""The engine: everything that it follows is synced, and at the commit that was rendered."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.gates import argocd, flux, parts
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.observation import Look, View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

KUSTOMIZATIONS = Look(api_version="kustomize.toolkit.fluxcd.io/v1", kind="Kustomization")
APPLICATIONS = Look(api_version="argoproj.io/v1alpha1", kind="Application")


def question(cluster: Cluster, revision: str) -> Question:
    """All Kustomizations, or all Applications."""
    looks = {Engine.FLUX: (KUSTOMIZATIONS, flux.GIT), Engine.ARGOCD: (APPLICATIONS,)}
    part = parts.Part(
        looks[cluster.engine] if cluster.engine else (), lambda view: judge(view, cluster=cluster, revision=revision)
    )
    hint = "See: flux get all -A" if cluster.engine == Engine.FLUX else "See: argocd app list"
    return parts.question(Gate(Subject.ENGINE), "engine", part, hint=hint)


def judge(view: View, *, cluster: Cluster, revision: str) -> Verdict:
    """The worst of what it follows, or how many there are at which commit."""
    if cluster.engine is None:
        return Skipped("no engine is declared")
    is_flux = cluster.engine == Engine.FLUX
    look = KUSTOMIZATIONS if is_flux else APPLICATIONS
    if look in view.unserved:
        return Waiting(f"{look.kind} is not served: {cluster.engine} is not installed")
    followed = view.all(look)
    if not followed:
        return Waiting(f"there is no {look.kind}: {cluster.engine} follows nothing yet")

    def judged(value: Mapping[str, Any]) -> Verdict:
        name = f"{look.kind} {text(value, 'metadata', 'namespace')}/{text(value, 'metadata', 'name')}"
        if not is_flux:
            return argocd.application(value, name, expected=revision, url=cluster.url, now=view.now)
        if (paused := flux.suspended(value, name)) is not None:
            return paused
        sources = view.all(flux.GIT)
        return flux.kustomization(value, name, expected=revision, url=cluster.url, sources=sources, now=view.now)

    verdict = parts.worst(judged(each) for each in followed)
    if not isinstance(verdict, Passed):
        return verdict
    plural = "" if len(followed) == 1 else "s"
    return Passed(f"{len(followed)} {look.kind}{plural} synced" + (f" at {revision[:7]}" if revision else ""))
