"""The two questions that choose the way of an emergency."""

import types
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.override import emergency_route
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.override import EmergencyPath
from firstlight.model.place import Place

UP = {"readyReplicas": 1}
FETCHED = {"type": "FetchFailed", "status": "False"}


class Api:
    """An API with some workloads and sources."""

    def __init__(
        self,
        workloads: dict[str, dict[str, Any]],
        *,
        conditions: tuple[Any, ...] = (),
        labels: dict[str, str] | None = None,
        failed: str = "",
    ) -> None:
        self._workloads = workloads
        self._conditions = conditions
        self._labels = labels
        self._failed = failed

    async def ready(self) -> Any:
        return types.SimpleNamespace(is_ready=not self._failed, failed=(self._failed,))

    async def version(self) -> dict[str, Any]:
        return {"gitVersion": "v1.34.1"}

    async def list(self, version: str, kind: str) -> Any:
        items = [
            {"metadata": {"name": name, "labels": self._labels if name.startswith("argo-") else None}, "status": each}
            for name, each in self._workloads.items()
        ]
        if kind in ("GitRepository", "Application"):
            items = [
                {"metadata": {"name": "home", "namespace": "flux-system"}, "status": {"conditions": self._conditions}}
            ]
        elif kind == "StatefulSet":
            items = []
        return types.SimpleNamespace(items=items)


async def chosen(api: Api, engine: Engine | None = Engine.FLUX) -> tuple[EmergencyPath, str]:
    cluster = Cluster(name="infra", place=Place("firstlight.yaml"), engine=engine)
    found = await emergency_route.route(cluster, cast(kube.Client, api))
    return found.path, found.answers[-1][2]


FLUX = {"source-controller": UP, "kustomize-controller": UP, "helm-controller": UP}


@pytest.mark.parametrize(
    ("api", "path", "seen"),
    [
        (Api(FLUX, conditions=(FETCHED,)), EmergencyPath.EXPEDITED, "run, and reach Git"),
        (Api({**FLUX, "kustomize-controller": {}}), EmergencyPath.OVERRIDE, "kustomize-controller has no ready pod"),
        (Api({**FLUX, "helm-controller": {}}), EmergencyPath.OVERRIDE, "helm-controller has no ready pod"),
        (Api({"source-controller": UP}), EmergencyPath.OVERRIDE, "there is no kustomize-controller"),
        (
            Api(FLUX, conditions=({"type": "FetchFailed", "status": "True", "message": "no route to host"},)),
            EmergencyPath.OVERRIDE,
            "GitRepository flux-system/home cannot be fetched: no route to host",
        ),
        (Api(FLUX, failed="etcd"), EmergencyPath.RECOVERY, "the API is not ready: etcd"),
    ],
)
async def test_what_is_seen_chooses_the_way(api: Api, path: EmergencyPath, seen: str) -> None:
    found, said = await chosen(api)
    assert found is path
    assert seen in said


LABELLED = {"app.kubernetes.io/name": "argocd-application-controller"}
ARGOCD = {"argocd-application-controller": UP, "argocd-repo-server": UP}
UNREAD = {"type": "ComparisonError", "message": "failed to list refs: dial tcp 10.0.0.9:22: i/o timeout"}
UNBUILT = {"type": "ComparisonError", "message": "kustomize build failed: no such file"}


@pytest.mark.parametrize(
    ("api", "path", "seen"),
    [
        (Api(ARGOCD), EmergencyPath.EXPEDITED, "run, and reach Git"),
        (Api(ARGOCD, conditions=(UNBUILT,)), EmergencyPath.EXPEDITED, "run, and reach Git"),
        (
            Api(ARGOCD, conditions=(UNREAD,)),
            EmergencyPath.OVERRIDE,
            "Application flux-system/home is not compared with Git: the Git server is not reached",
        ),
        (Api({"argocd-repo-server": UP}), EmergencyPath.OVERRIDE, "there is no argocd-application-controller"),
        (
            Api({"argocd-repo-server": UP, "argo-argocd-application-controller": UP}, labels=LABELLED),
            EmergencyPath.EXPEDITED,
            "run",
        ),
    ],
)
async def test_what_is_seen_of_argocd_chooses_the_way(api: Api, path: EmergencyPath, seen: str) -> None:
    found, said = await chosen(api, Engine.ARGOCD)
    assert found is path
    assert seen in said


async def test_without_an_engine_nothing_brings_it() -> None:
    assert await chosen(Api({}), None) == (EmergencyPath.OVERRIDE, "no engine is declared")


def test_an_api_that_does_not_answer_is_brought_back_first() -> None:
    found = emergency_route.unreachable(errors.Unreachable("nothing answers", target="x"))
    assert (found.path, found.answers[0][1]) == (EmergencyPath.RECOVERY, False)
