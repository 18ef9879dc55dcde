"""The engine: everything that it follows is synced, and at the commit that was rendered."""

from collections.abc import Collection, Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.gates import argocd, flux, parts
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import ObjectId
from firstlight.model.observation import Look, View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

KUSTOMIZATIONS = Look(api_version="kustomize.toolkit.fluxcd.io/v1", kind="Kustomization")
APPLICATIONS = Look(api_version="argoproj.io/v1alpha1", kind="Application")


def question(cluster: Cluster, revision: str, *, resting: Collection[ObjectId] = ()) -> Question:
    """All Kustomizations, or all Applications.

    Args:
        cluster: Whose engine.
        revision: The commit that was rendered; empty where it is not known.
        resting: Those that Git lets rest: bootstrap keeps what they declare, and nobody waits for them.
    """
    looks = {Engine.FLUX: (KUSTOMIZATIONS, flux.GIT), Engine.ARGOCD: (APPLICATIONS,)}
    part = parts.Part(
        looks[cluster.engine] if cluster.engine else (),
        lambda view: judge(view, cluster=cluster, revision=revision, resting=resting),
    )
    hint = "See: flux get all -A" if cluster.engine == Engine.FLUX else "See: argocd app list"
    return parts.question(Gate(Subject.ENGINE), "engine", part, hint=hint)


def judge(view: View, *, cluster: Cluster, revision: str, resting: Collection[ObjectId] = ()) -> Verdict:
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
        space, called = text(value, "metadata", "namespace"), text(value, "metadata", "name")
        name = f"{look.kind} {space}/{called}"
        rest = flux.suspended if is_flux else argocd.skipped
        is_declared = ObjectId(look.api_version.rpartition("/")[0], look.kind, space, called) in resting
        if (paused := rest(value, name, is_declared=is_declared)) is not None:
            return paused
        if not is_flux:
            return argocd.application(value, name, expected=revision, url=cluster.url, now=view.now)
        sources = view.all(flux.GIT)
        return flux.kustomization(value, name, expected=revision, url=cluster.url, sources=sources, now=view.now)

    verdicts = [judged(each) for each in followed]
    verdict = parts.worst(verdicts)
    if not isinstance(verdict, Passed):
        return verdict
    at_rest = sum(isinstance(each, Skipped) for each in verdicts)
    count = len(followed) - at_rest
    plural = "" if count == 1 else "s"
    rests = f", {at_rest} at rest" if at_rest else ""
    return Passed(f"{count} {look.kind}{plural} synced" + (f" at {revision[:7]}" if revision else "") + rests)
