"""A node is emptied as its API allows: what goes by itself is waited for, what is held told, what is stuck ends it."""

import types
from collections.abc import Callable
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import kube_errors
from firstlight.commands.node import cordon_drain
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.execute.world import World

TARGET = kube_errors.ApiTarget("evict", "https://api")
OWNER = [{"kind": "ReplicaSet", "name": "web", "controller": True}]


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "metadata": {
            "name": name, "namespace": "shop", "uid": name, "labels": labels, "ownerReferences": OWNER, **metadata
        }
    }  # fmt: skip


def budget(name: str, app: str) -> dict[str, Any]:
    status = {"desiredHealthy": 1, "currentHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 0}
    spec = {"selector": {"matchLabels": {"app": app}}}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec, "status": status}


class Api:
    """A node's pods, and what becomes of an eviction."""

    def __init__(self, pods: list[dict[str, Any]], answer: Callable[[str], None], *budgets: dict[str, Any]) -> None:
        self.pods = pods
        self.answer = answer
        self.budgets = budgets
        self.asked: list[str] = []

    async def list(self, api_version: str, kind: str, *, fields: str = "") -> kube.ObjectListing:
        return kube.ObjectListing(tuple(self.pods if kind == "Pod" else self.budgets), "1")

    async def evict(self, name: str, *, namespace: str, uid: str) -> None:
        self.asked.append(name)
        self.answer(name)
        self.pods = [each for each in self.pods if each["metadata"]["name"] != name]


async def drained(api: Api, *, patience: float = 60.0) -> list[str]:
    told: list[str] = []
    world = cast(World, types.SimpleNamespace(kube=api))
    await cordon_drain.evict("worker-1", world, wishes=DrainOptions(patience=patience), tell=told.append)
    return told


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cordon_drain, "POLL", 0.0)


async def test_a_budget_is_asked_again_until_it_lets_go() -> None:
    left = [1, 1]

    def answer(name: str) -> None:
        if left:
            left.pop()
            raise kube.TooManyRequests(TARGET, code=429)

    api = Api([pod("web")], answer, budget("web", "web"))

    told = await drained(api)

    assert api.asked == ["web"] * 3
    assert told == [
        "shop/web of ReplicaSet web is held by the budget shop/web (wants 1 of 1 healthy, and so never lets one go)",
        "waits until shop/web has ended",
    ]


async def test_patience_is_over() -> None:
    def answer(name: str) -> None:
        raise kube.TooManyRequests(TARGET, code=429)

    with pytest.raises(errors.Refused, match="worker-1 is not drained: shop/web of ReplicaSet web is held") as caught:
        await drained(Api([pod("web")], answer, budget("web", "web")), patience=0.0)

    assert "kubectl uncordon worker-1" in caught.value.hint


async def test_several_budgets_are_not_waited_for() -> None:
    def answer(name: str) -> None:
        raise kube.ServerError(TARGET, code=500, detail="This pod has more than one PodDisruptionBudget")

    with pytest.raises(errors.Refused, match="several budgets, which nobody can evict: shop/a, shop/b"):
        await drained(Api([pod("web")], answer, budget("a", "web"), budget("b", "web")))


async def test_a_pod_whose_namespace_is_deleted_goes_with_it() -> None:
    api: Api

    def answer(name: str) -> None:
        api.pods = []
        cause = kube_errors.StatusCause(field="metadata.namespace", reason="NamespaceTerminating", message="it goes")
        raise kube.Forbidden(TARGET, code=403, causes=[cause])

    api = Api([pod("web")], answer)

    assert await drained(api) == ["waits until shop/web has ended"]


async def test_what_is_forbidden_is_said() -> None:
    def answer(name: str) -> None:
        raise kube.Forbidden(TARGET, code=403, detail="no")

    with pytest.raises(kube.Forbidden):
        await drained(Api([pod("web")], answer))


async def test_a_pod_that_is_leaving_is_not_asked_again() -> None:
    api = Api([pod("web", deletionTimestamp="2026-11-16T06:00:00Z")], lambda name: None)

    with pytest.raises(errors.Refused, match="waits until shop/web has ended"):
        await drained(api, patience=0.0)

    assert api.asked == []
