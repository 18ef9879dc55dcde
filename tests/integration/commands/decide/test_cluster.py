"""``firstlight decide`` with a cluster that is looked at, or does not answer."""

import asyncio
from pathlib import Path

from firstlight.clients import kube
from firstlight.commands.decide import cluster_look
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.place import Place
from tests.integration.commands.decide.git_repo import PEERS, Decide, replace


async def looked(kubeconfig: Path) -> cluster_look.ClusterSight:
    async with kube.Client(kube.load(kubeconfig)) as client:
        return await cluster_look.look_at_cluster(client, Cluster(name="infra", place=Place("a"), engine=Engine.FLUX))


def test_a_cluster_that_does_not_answer_is_a_fact(repo: Path, tmp_path: Path, decide: Decide) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: x}}]\n"
    )
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide("--kubeconfig", str(kubeconfig), "--cluster", "infra")

    assert decide.code == 0
    assert any("the cluster does not work" in each for each in found["doubts"])
    seen = asyncio.run(looked(kubeconfig))
    assert (seen.is_reached, seen.operational) == (False, False)
    decide("--kubeconfig", str(kubeconfig), "--cluster", "nowhere")
    assert decide.code == 64


def test_a_cluster_that_is_looked_at(lab: Lab, repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide("--kubeconfig", str(lab.kubeconfig), "--cluster", "infra")

    assert decide.code == 0
    assert found["side"] == "gitops"
    seen = asyncio.run(looked(lab.kubeconfig))
    assert (seen.is_reached, seen.operational) == (True, True)
    # The lab's nodes are not the machines of the repo: it is said, and the answer is still given.
    assert any("does not work" in each and "infra-1" in each for each in found["doubts"])
