"""Whether workloads make the same pods as before."""

import dataclasses

from firstlight.model.certificate import CertificateClaim, ClaimProof
from firstlight.model.handover import ObjectSeen, OwnerSeen, PodSeen
from firstlight.ownership import evidence
from firstlight.ownership.evidence import PodProofs

WEB = ObjectSeen(group="apps", kind="Deployment", namespace="web", name="main", uid="1", template="sha256:a")


def pod(name: str, *, node: str = "n1", restarts: int = 0, revision: str = "7c9f", namespace: str = "web") -> PodSeen:
    """A pod of the Deployment."""
    return PodSeen(
        namespace=namespace, name=name, uid=f"uid-{name}", owner=f"ReplicaSet/main-{revision}", node=node,
        restarts=restarts, revision=revision,
    )  # fmt: skip


def proofs(
    before: list[PodSeen],
    after: list[PodSeen],
    *,
    then: ObjectSeen | None = WEB,
    now: ObjectSeen = WEB,
    replicas: int | None = None,
) -> dict[CertificateClaim, ClaimProof]:
    """By claim, with a node n1."""
    found = evidence.prove_same_pods(then, now, PodProofs(before=before, after=after, nodes={"n1"}), replicas=replicas)
    return {each.claim: each for each in found}


def test_the_same() -> None:
    found = proofs([pod("a"), pod("b")], [pod("a"), pod("b"), pod("elsewhere", namespace="other")])

    assert all(each.holds and each.is_tried for each in found.values())
    assert found[CertificateClaim.SAME_PODS].says == "2 of 2"
    assert found[CertificateClaim.SAME_REVISION].says == "7c9f"


def test_what_makes_no_pods_claims_nothing() -> None:
    assert proofs([], [], now=dataclasses.replace(WEB, kind="ConfigMap", template="")) == {}


def test_another_template() -> None:
    found = proofs([pod("a")], [pod("a")], now=dataclasses.replace(WEB, template="sha256:b"))
    assert found[CertificateClaim.SAME_TEMPLATE].says == "it is sha256:b, and was sha256:a"
    assert not found[CertificateClaim.SAME_TEMPLATE].holds


def test_another_replica_set() -> None:
    found = proofs([pod("a")], [pod("a"), pod("b", revision="5d4c")])
    assert not found[CertificateClaim.SAME_REVISION].holds
    assert "5d4c" in found[CertificateClaim.SAME_REVISION].says


def test_a_restart() -> None:
    found = proofs([pod("a", restarts=1)], [pod("a", restarts=3)])
    assert (found[CertificateClaim.SAME_PODS].holds, found[CertificateClaim.SAME_PODS].says) == (
        False,
        "pod a was restarted 2 times",
    )


def test_a_replaced_pod() -> None:
    found = proofs([pod("a")], [pod("b")])
    assert (found[CertificateClaim.SAME_PODS].holds, found[CertificateClaim.SAME_PODS].says) == (
        False,
        "pod a is not there any more",
    )


def test_a_pod_goes_with_its_node() -> None:
    found = proofs([pod("a"), pod("b", node="n9")], [pod("a"), pod("c")])
    assert found[CertificateClaim.SAME_PODS].holds
    assert found[CertificateClaim.SAME_PODS].says == "1 of 2, b went with its node n9, 1 came since"


def test_a_new_pod_on_a_new_node_is_no_failure() -> None:
    assert proofs([pod("a")], [pod("a"), pod("b", node="n2")])[CertificateClaim.SAME_PODS].holds


def test_an_autoscaler_may_take_pods_away() -> None:
    scaled = dataclasses.replace(
        WEB, owners=(OwnerSeen(manager="kube-controller-manager", operation="Update", subresource="scale"),)
    )
    assert proofs([pod("a"), pod("b")], [pod("a")], now=scaled)[CertificateClaim.SAME_PODS].holds
    assert not proofs([pod("a"), pod("b")], [pod("a"), pod("c")], now=scaled)[CertificateClaim.SAME_PODS].holds, (
        "replaced"
    )
    assert not proofs([pod("a"), pod("b")], [pod("a")])[CertificateClaim.SAME_PODS].holds, "nobody scales it"
    assert proofs([pod("a"), pod("b")], [], replicas=0)[CertificateClaim.SAME_PODS].holds, (
        "who scales to nothing leaves no trace"
    )
    assert not proofs([pod("a"), pod("b")], [pod("a")], replicas=2)[CertificateClaim.SAME_PODS].holds, "one is missing"


def test_without_a_before_it_is_said() -> None:
    for then in (None, dataclasses.replace(WEB, uid="")):
        found = proofs([], [pod("a")], then=then)
        assert list(found) == [CertificateClaim.SAME_TEMPLATE]
        assert not found[CertificateClaim.SAME_TEMPLATE].is_tried


def test_pods_of_jobs_end_by_themselves() -> None:
    job = dataclasses.replace(WEB, group="batch", kind="CronJob")
    assert list(proofs([], [], then=job, now=job)) == [CertificateClaim.SAME_TEMPLATE]


def test_a_daemon_set_knows_its_pods() -> None:
    daemons = dataclasses.replace(WEB, kind="DaemonSet")
    one = dataclasses.replace(pod("a"), owner="DaemonSet/main")
    assert not proofs([one], [], then=daemons, now=daemons)[CertificateClaim.SAME_PODS].holds
