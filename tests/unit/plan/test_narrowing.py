"""A handover of some components: its tasks are about those alone."""

import dataclasses

from firstlight.commands.handover import handover
from firstlight.commands.up import tasks
from firstlight.commands.up.up import PreparedRun
from firstlight.gates.gate_parts import GateContext
from firstlight.model import work as model_work
from firstlight.plan import build, selection
from tests.unit.plan import platforms

NET = "{apiVersion: v1, kind: ConfigMap, metadata: {name: net, namespace: kube-system}}"
DNS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: dns, namespace: kube-system}}"
CERTIFICATE = "handover:certificate"


def prepared(*components: str) -> PreparedRun:
    """The handover of a cluster with an inline CNI that Talos releases, and DNS; or of some of it."""
    platform, renditions = platforms.make({
        "clusters": {"home": {"engine": "flux", "machines": {"controlplane": 1}}},
        "components": {
            "flux": {"phase": "engine", "role": "engine", "bootstrapForm": "kubectl command"},
            "net": {"phase": "inline", "side": "hybrid", "inline": 1, "form": "Kustomization"},
            "dns": {"phase": "core", "side": "hybrid", "bootstrapForm": "kubectl command", "form": "Kustomization"},
        },
        "renditions": {"net": {"bootstrap": NET, "gitops": NET}, "dns": {"bootstrap": DNS, "gitops": DNS}},
    })  # fmt: skip
    (cluster,) = platform.clusters
    whole = build.build(platform, cluster, renditions=renditions)
    plan = selection.handover(whole, components)
    work = tasks.work(
        platform, cluster, selection.within(whole, plan), renditions=renditions, installations={}, drafts=(),
        revision="c0ffee",
    )  # fmt: skip
    work = dataclasses.replace(work, plan=plan, tasks={each.id: work.tasks[each.id] for each in plan.steps})
    ground = GateContext(cluster=cluster, revision="c0ffee", objects={}, own={})
    made = PreparedRun(platform=platform, cluster=cluster, work=work, ground=ground, renditions=renditions, problems=())
    return handover.narrowed(made, handover.HandoverRequest(cluster="home", components=components))


def certificate(*components: str) -> model_work.Certify:
    found = prepared(*components).work.tasks[CERTIFICATE]
    assert isinstance(found, model_work.Certify)
    return found


def test_everything() -> None:
    assert certificate().released == ("net",)
    assert {each.component for each in certificate().passing} == {"net", "dns"}


def test_what_is_not_released_in_this_run_is_not_demanded_by_its_certificate() -> None:
    found = certificate("dns")

    assert [each.component for each in found.passing] == ["dns"]
    assert found.released == ()
    assert found.staying == ()


def test_what_is_released_in_this_run_is_demanded() -> None:
    assert certificate("net").released == ("net",)


def test_what_somebody_agreed_to_comes_with_the_task() -> None:
    asked = handover.HandoverRequest(cluster="home", is_restart_accepted=True)
    found = handover.narrowed(prepared(), asked).work.tasks[CERTIFICATE]
    assert isinstance(found, model_work.Certify)
    assert found.is_restart_accepted
    assert not certificate().is_restart_accepted
