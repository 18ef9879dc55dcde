"""Clusters that are asked: which kinds, all at once, and what becomes of those that do not answer."""

import ast
import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors, repo
from firstlight.clients.kube import ObjectListing
from firstlight.clients.kube.discovery import ApiCatalog, ApiResource
from firstlight.commands import audit
from firstlight.commands.audit import live_objects

HOMES = [Path(str(each.__file__)).parent for each in (audit, repo)]
"""Where rules are, and where those parts of them are that others use as well."""


class Cluster:
    """Answers lists, and notes what was asked."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds
        self.asked: list[tuple[str, str, str, bool]] = []

    async def catalog(self) -> ApiCatalog:
        found: dict[tuple[str, str], ApiResource] = {}
        for each in self.kinds:
            version, _, kind = each.rpartition("/")
            group, _, number = version.rpartition("/")
            found[version, kind] = ApiResource(group, number, kind, kind.lower() + "s", True)
        return ApiCatalog(found, {"": "v1", "cilium.io": "v2"})

    async def list(self, version: str, kind: str, *, fields: str = "", metadata_only: bool = False) -> ObjectListing:
        self.asked.append((version, kind, fields, metadata_only))
        noted = {"kubectl.kubernetes.io/last-applied-configuration": "{secret}", "kept": "yes"}
        metadata = {"name": "one", "managedFields": [1], "annotations": noted}
        return ObjectListing(({"metadata": metadata},), "1")


def opener(cluster: Any) -> live_objects.ClientOpener:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        if isinstance(cluster, Exception):
            raise cluster
        yield cluster

    return opened


async def test_only_kinds_that_are_served_are_listed_in_the_preferred_version() -> None:
    pool = "CiliumLoadBalancerIPPool"
    cluster = Cluster("v1/Secret", "v1/Node", f"cilium.io/v2alpha1/{pool}", f"cilium.io/v2/{pool}", "v1/Pod")

    found, problems = await live_objects.look(cluster)  # type: ignore[arg-type]

    assert problems == ()
    assert sorted(cluster.asked) == [
        ("cilium.io/v2", pool, "", False), ("v1", "Node", "", False), ("v1", "Secret", "", True),
    ]  # fmt: skip
    (node,) = found.of("/Node")
    assert node == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "annotations": {"kept": "yes"}}}
    assert found.of("/Service") == ()


async def test_a_cluster_that_does_not_answer_does_not_hide_the_others() -> None:
    ways = {"good": opener(Cluster("v1/Node")), "bad": opener(errors.Unreachable("nobody is there"))}
    said: list[str] = []

    found, unreached, unseen = await live_objects.asked(ways, say=said.append)

    assert (list(found), unreached, unseen) == (["good"], {"bad": "nobody is there"}, ())
    assert said[0] == "asking 2 clusters"
    assert said[-1] == "asking clusters, 2 of 2"


async def test_another_cluster_than_the_one_that_is_meant_is_refused() -> None:
    with pytest.raises(errors.Refused, match="another"):
        await live_objects.asked({"one": opener(errors.Refused("it is another")), "two": opener(Cluster("v1/Node"))})


async def test_one_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_objects, "PATIENCE", 0.01)
    cluster = Cluster()
    monkeypatch.setattr(cluster, "catalog", lambda: asyncio.sleep(60))

    assert (await live_objects.asked({"slow": opener(cluster)}))[1] == {"slow": "it did not answer within 0 s"}


def test_every_kind_that_rules_look_at_is_asked_for() -> None:
    looked = {kind for home in HOMES for file in home.rglob("*.py") for kind in _kinds(ast.parse(file.read_text()))}

    assert "/Node" in looked
    assert "cilium.io/CiliumLoadBalancerIPPool" in looked
    assert looked <= {each.kind for each in live_objects.KINDS}


def _kinds(module: ast.Module) -> set[str]:
    """What is given to ``of`` of what a cluster answered: a text, or a name of one or of several."""
    texts = {name: value for node in module.body if isinstance(node, ast.Assign) for name, value in _named(node)}
    loops: Mapping[str, ast.expr] = {
        node.target.id: node.iter
        for node in ast.walk(module)
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name)
    }
    found: set[str] = set()
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "of"):
            continue
        for argument in node.args[:1]:
            meant = loops.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
            for each in ast.walk(meant):
                if isinstance(each, ast.Constant):
                    found.add(str(each.value))
                elif isinstance(each, ast.Name):
                    found.add(texts.get(each.id, ""))
    return {each for each in found if "/" in each}


def _named(node: ast.Assign) -> Iterator[tuple[str, str]]:
    """Names of texts, also several at once."""
    (target, value) = node.targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    for name, each in pairs:
        if isinstance(name, ast.Name) and isinstance(each, ast.Constant):
            yield name.id, str(each.value)
