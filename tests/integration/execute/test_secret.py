"""Foundation secrets in the lab: created, left alone if they are right, never written where an engine has them."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.clients import secret_errors
from firstlight.execute.actions import create_secret
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret
from firstlight.model.secret import Secret
from firstlight.model.work import CreateSecret

PLACE = Place("firstlight.yaml", 7)
CANARY = "s3cr3t-canary"
MANAGER = "kustomize-controller"


class Sources:
    """Values by reference, and what a step told."""

    def __init__(self, client: clients_kube.Client, namespace: str, state: Path) -> None:
        self.values: dict[str, str] = {}
        self.told: list[str] = []
        self.namespace = namespace
        self.world = World(
            cluster=Cluster(name="lab", place=PLACE),
            programs=RunPrograms(),
            resolve=self._resolve,
            state=state,
            tell=lambda step, text: self.told.append(text),
        )
        self.world._kube = client

    async def _resolve(self, reference: str) -> Secret:
        if reference not in self.values:
            raise secret_errors.SecretNotFound("environment", reference, "the variable is not set")
        return Secret(self.values[reference])

    def task(self, values: Mapping[str, str], *, name: str = "token", manager: str = MANAGER) -> CreateSecret:
        """A task whose keys have these values."""
        self.values |= {f"env:{key}": value for key, value in values.items()}
        data = {key: f"env:{key}" for key in values}
        declared = FoundationSecret(name=name, namespace=self.namespace, data=data, place=PLACE)
        return CreateSecret(secret=declared, manager=manager)

    async def live(self, name: str = "token") -> dict[str, Any]:
        """The Secret in the cluster."""
        return await self.world.kube.get("v1", "Secret", name, namespace=self.namespace)


@pytest.fixture
def sources(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> Sources:
    return Sources(kube, namespace, tmp_path)


def values(live: dict[str, Any]) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in live["data"].items()}


async def test_created_once_then_nothing_then_only_what_differs(sources: Sources) -> None:
    place = f"{sources.namespace}/token"
    task = sources.task({"a": CANARY, "b.c": "two\n"})

    first = await create_secret.look(task, sources.world, "s")
    assert first is not None
    await first.perform()
    made = await sources.live()
    second = await create_secret.look(task, sources.world, "s")
    third = await create_secret.look(sources.task({"a": "changed", "b.c": "other"}), sources.world, "s")
    assert third is not None
    await third.perform()
    changed = await sources.live()

    assert first.writes == (f"create Secret {place}",)
    assert values(made) == {"a": CANARY, "b.c": "two\n"}
    assert made["type"] == "Opaque"
    assert [(each["manager"], each["operation"]) for each in made["metadata"]["managedFields"]] == [(MANAGER, "Apply")]
    assert second is None
    assert third.writes == (f"change keys a, b.c of Secret {place}",)
    assert third.danger == ""
    assert values(changed) == {"a": "changed", "b.c": "other"}
    assert CANARY not in f"{first!r}{third!r}{sources.told}"


async def test_a_key_that_is_no_longer_declared_goes_and_those_of_others_stay(sources: Sources) -> None:
    made = await create_secret.look(sources.task({"a": "1", "b": "2"}), sources.world, "s")
    assert made is not None
    await made.perform()
    theirs = {"data": {"theirs": base64.b64encode(b"3").decode()}}
    await sources.world.kube.patch("v1", "Secret", "token", theirs, manager="ada", namespace=sources.namespace)

    change = await create_secret.look(sources.task({"a": "1"}), sources.world, "s")
    assert change is not None
    await change.perform()

    assert change.writes == (f"remove key b of Secret {sources.namespace}/token",)
    assert values(await sources.live()) == {"a": "1", "theirs": "3"}
    assert await create_secret.look(sources.task({"a": "1"}), sources.world, "s") is None


async def test_what_somebody_wrote_by_hand_is_replaced_only_after_a_question(sources: Sources) -> None:
    obj = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": sources.namespace},
        "stringData": {"a": CANARY, "b": "same"},
    }  # fmt: skip
    await sources.world.kube.create(obj, manager="kubectl-create")

    same = await create_secret.look(sources.task({"b": "same"}), sources.world, "s")
    change = await create_secret.look(sources.task({"a": "new", "b": "same"}), sources.world, "s")
    assert change is not None
    await change.perform()

    assert same is None
    assert change.writes == (f"change key a of Secret {sources.namespace}/token",)
    assert "written by kubectl-create" in change.danger
    assert values(await sources.live()) == {"a": "new", "b": "same"}
    assert CANARY not in repr(change)


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        (
            {"labels": {
                "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            }},
            "Kustomization flux-system/apps",
        ),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "apps:/Secret:NAMESPACE/token"}}, "Application apps"),
        (
            {"ownerReferences": [
                {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "name": "token", "uid": "u-1"}
            ]},
            "ExternalSecret NAMESPACE/token",
        ),
        ({"labels": {"reconcile.external-secrets.io/managed": "true"}}, "an ExternalSecret"),
        ({"annotations": {"meta.helm.sh/release-name": "shop"}}, "the Helm release shop"),
    ],
    ids=["flux", "argocd", "external secret", "external secrets' label", "helm"],
)  # fmt: skip
async def test_what_an_engine_has_is_only_read(sources: Sources, metadata: dict[str, Any], owner: str) -> None:
    marked = json.loads(json.dumps(metadata).replace("NAMESPACE", sources.namespace))
    owner = owner.replace("NAMESPACE", sources.namespace)
    obj = {
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "token", "namespace": sources.namespace, **marked}, "stringData": {"a": CANARY},
    }  # fmt: skip
    before = await sources.world.kube.create(obj, manager="tests")

    differs = await create_secret.look(sources.task({"a": "declared", "b": "two"}), sources.world, "s")
    told = list(sources.told)
    same = await create_secret.look(sources.task({"a": CANARY}), sources.world, "s")
    del sources.values["env:a"]
    unknown = await create_secret.look(
        CreateSecret(secret=sources.task({"b": "x"}).secret, manager=MANAGER), sources.world, "s"
    )

    assert differs is same is unknown is None
    name = f"Secret {sources.namespace}/token"
    assert told == [f"{name} belongs to {owner} and is left as it is; not as declared: a, b"]
    assert CANARY not in str(sources.told)
    live = before["metadata"]["resourceVersion"]
    try:
        assert (await sources.live())["metadata"]["resourceVersion"] == live
    except clients_kube.NotFound:
        assert "ownerReferences" in metadata, "the garbage collector takes what belongs to nobody"


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_is_taken_over_between_the_look_and_the_write_is_not_overwritten(
    sources: Sources, is_there: bool
) -> None:
    if is_there:
        made = await create_secret.look(sources.task({"a": "0"}), sources.world, "s")
        assert made is not None
        await made.perform()
    task = sources.task({"a": "1"})
    change = await create_secret.look(task, sources.world, "s")
    assert change is not None
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    theirs = {
        "apiVersion": "v1", "kind": "Secret", "data": {"a": base64.b64encode(b"2").decode()},
        "metadata": {"name": "token", "namespace": sources.namespace, "labels": labels},
    }  # fmt: skip
    await sources.world.kube.apply(theirs, manager=MANAGER)

    with pytest.raises(clients_kube.Conflict):  # after which the loop looks again
        await change.perform()

    live = await sources.live()
    assert (values(live), live["metadata"]["labels"]) == ({"a": "2"}, labels)
    assert await create_secret.look(task, sources.world, "s") is None
    assert "belongs to Kustomization flux-system/apps" in sources.told[-1]


async def test_what_bootstrap_wrote_in_the_name_of_an_engine_is_not_the_engines(sources: Sources) -> None:
    task = sources.task({"a": "1"}, manager="argocd-controller")
    made = await create_secret.look(task, sources.world, "s")
    assert made is not None
    await made.perform()

    change = await create_secret.look(sources.task({"a": "2"}, manager="argocd-controller"), sources.world, "s")

    assert change is not None


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"tls.crt": "c", "tls.key": "k", "ca.crt": "a"}, "kubernetes.io/tls"),
        ({".dockerconfigjson": '{"auths": {}}'}, "kubernetes.io/dockerconfigjson"),
        ({"ssh-privatekey": "k"}, "kubernetes.io/ssh-auth"),
        ({"tls.crt": "c"}, "Opaque"),
    ],
)
async def test_the_keys_say_the_type(sources: Sources, given: dict[str, str], kind: str) -> None:
    change = await create_secret.look(sources.task(given), sources.world, "s")
    assert change is not None
    await change.perform()

    assert (await sources.live())["type"] == kind


async def test_a_type_that_is_there_stays_since_it_cannot_be_changed(sources: Sources) -> None:
    obj = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": sources.namespace},
        "type": "Opaque", "stringData": {"tls.crt": "old"},
    }  # fmt: skip
    await sources.world.kube.create(obj, manager="tests")

    change = await create_secret.look(sources.task({"tls.crt": "c", "tls.key": "k"}), sources.world, "s")
    assert change is not None
    await change.perform()

    assert (await sources.live())["type"] == "Opaque"
    assert "stays of type Opaque" in sources.told[0]


async def test_what_cannot_be_is_refused_before_anything_is_written(sources: Sources) -> None:
    refused = [
        ({"": "x"}, "cannot have the key"),
        ({"a/b": "x"}, "cannot have the key"),
        ({"a": ""}, "the value of a is empty"),
        ({"a": "x" * (2 << 20)}, "more than 1 MiB"),
        ({".dockerconfigjson": CANARY}, "no config of Docker"),
        ({}, "nothing says where"),
    ]
    for given, what in refused:
        with pytest.raises(errors.Refused, match=what) as caught:
            await create_secret.look(sources.task(given), sources.world, "s")
        assert CANARY not in f"{caught.value!r}{caught.value.hint}"
    unknown = FoundationSecret(name="token", namespace=sources.namespace, data={"a": ""}, place=PLACE)
    with pytest.raises(errors.Refused, match=r"nothing says where .* \(a\) comes from"):
        await create_secret.look(CreateSecret(secret=unknown, manager=MANAGER), sources.world, "s")
    missing = FoundationSecret(name="token", namespace=sources.namespace, data={"a": "env:NOTHING"}, place=PLACE)
    with pytest.raises(secret_errors.SecretNotFound):
        await create_secret.look(CreateSecret(secret=missing, manager=MANAGER), sources.world, "s")
    with pytest.raises(clients_kube.NotFound):
        await sources.live()


async def test_what_is_immutable_is_not_touched(sources: Sources) -> None:
    obj = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": sources.namespace},
        "immutable": True, "stringData": {"a": "old"},
    }  # fmt: skip
    await sources.world.kube.create(obj, manager="tests")

    with pytest.raises(errors.Refused, match="is immutable, and not as declared: a"):
        await create_secret.look(sources.task({"a": "new"}), sources.world, "s")
