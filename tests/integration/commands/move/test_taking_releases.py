"""Releases that bootstrap takes: fields pass, Helm writes one revision more, and what would change anything is refused.

helm-controller is Helm here, with the labels in the chart that it would add, and its own name put on the fields.
"""

import base64
import dataclasses
import gzip
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.commands.change.moves import take_back
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.execute.actions import install
from firstlight.execute.apply import helm_storage
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import RunPrograms, World
from firstlight.model import helm_chart
from firstlight.model.cluster import Cluster
from firstlight.model.handover import Passing
from firstlight.model.move import Seat
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.work import Install, Installation
from firstlight.tools import install as tools_install
from tests.integration.execute.test_install import unresolved

ORIGIN = "helm.toolkit.fluxcd.io/name"
OPTIONS = helm_chart.ReleaseOptions(server_side=True, take_ownership=True, skip_crds=True, timeout=60)
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: shop, LABEL}}
data: {word: {{ .Values.word | quote }}, made: MADE}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {"helm.sh/hook": post-upgrade}}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/main:1"}]}}
"""
MORE = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"


@dataclasses.dataclass(frozen=True)
class OneRelease:
    """As much of a scene as taking asks for."""

    cluster: Cluster
    task: Install
    moved: tuple[()] = ()

    async def kept_releases(self) -> dict[str, Install]:
        return {"shop": self.task}

    async def of(self, seat: Seat) -> tuple[Passing, ...]:
        return ()


@dataclasses.dataclass(frozen=True)
class Shop:
    """A release, and the way to it."""

    world: World
    namespace: str
    folder: Path

    def chart(self, name: str, text: str) -> helm_chart.LocalChart:
        place = self.folder / name / "shop"
        (place / "templates").mkdir(parents=True)
        (place / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
        (place / "templates/all.yaml").write_text(text)
        return helm_chart.LocalChart(place)

    async def brought(self, *, made: str = "same", more: str = "") -> None:
        """The release as helm-controller brings it."""
        text = TEMPLATE.replace("LABEL", f"{ORIGIN}: shop").replace("MADE", made) + more
        await install.helm_of(self.world).install(
            "shop", self.chart("theirs", text), namespace=self.namespace, options=OPTIONS,
            values=[Secret(b'{"word": "git"}')],
        )  # fmt: skip
        live = await self.settings()
        (entry,) = live["metadata"]["managedFields"]
        body = [
            {"op": "replace", "path": "/metadata/managedFields", "value": [{**entry, "manager": "helm-controller"}]},
        ]
        await self.world.kube.patch(
            "v1", "ConfigMap", "settings", body, form="json", manager="tests", namespace=self.namespace
        )

    def scene(self, *, made: str = "same", more: str = "", word: str = "git", version: str = "1.0.0") -> MoveContext:
        """That bootstrap is to keep it, as the repo has it."""
        text = TEMPLATE.replace(", LABEL", "").replace("MADE", made) + more
        release = Installation(
            name="shop", namespace=self.namespace, chart=self.chart("ours", text), version=version,
            values=Secret(f'{{"word": "{word}"}}'.encode()), options=OPTIONS, hooks_disabled=True,
        )  # fmt: skip
        task = Install(releases=(release,), manager="firstlight", is_kept=True)
        return cast(MoveContext, OneRelease(self.world.cluster, task))

    async def carried(self, stage: WalkStage) -> list[str]:
        """What a stage has written."""
        change = await stage.look(self.world)
        if change is not None:
            await change.perform()
        return [] if change is None else list(change.writes)

    async def settings(self) -> dict[str, Any]:
        return dict(await self.world.kube.get("v1", "ConfigMap", "settings", namespace=self.namespace))


@pytest_asyncio.fixture
async def shop(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> Shop:
    program = (await tools_install.ensure(["helm"]))["helm"]
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    world = World(cluster=cluster, programs=RunPrograms(helm=program), resolve=unresolved, state=tmp_path / "state")
    world._kube = kube
    return Shop(world=world, namespace=namespace, folder=tmp_path / "charts")


def managers(obj: dict[str, Any]) -> set[str]:
    return {each["manager"] for each in obj["metadata"]["managedFields"]}


async def test_fields_pass_and_helm_writes_a_revision_without_hooks(shop: Shop) -> None:
    await shop.brought()
    before = await shop.settings()
    assert (managers(before), before["metadata"]["labels"][ORIGIN]) == ({"helm-controller"}, "shop")
    scene = shop.scene()

    assert await shop.carried(take_back.foresee_releases(scene)) == []
    assert await shop.carried(take_back.take_back_stage(scene)) == [
        f"pass what helm-controller owns of ConfigMap {shop.namespace}/settings to bootstrap"
    ]
    assert len(await shop.carried(take_back.write_releases(scene))) == 1

    after = await shop.settings()
    assert managers(after) == {"helm"}
    assert ORIGIN not in after["metadata"]["labels"]
    assert (after["data"], after["metadata"]["uid"]) == (before["data"], before["metadata"]["uid"])
    last = await helm_storage.last(shop.world.kube, "shop", shop.namespace)
    assert last is not None
    assert (last.revision, last.status, bool(last.maker)) == (2, "deployed", True)
    assert not (await shop.world.kube.list("batch/v1", "Job", namespace=shop.namespace)).items, "the hook did not run"
    for stage in (take_back.foresee_releases(scene), take_back.take_back_stage(scene), take_back.write_releases(scene)):
        assert await shop.carried(stage) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "refused"),
    [
        ({}, {"made": "{{ randAlphaNum 8 }}"}, r"Helm would change data\.made of ConfigMap \S+/settings"),
        ({}, {"made": "{{ .Release.Revision | quote }}"}, r"Helm would change data\.made"),
        ({}, {"more": MORE}, r"Helm would create ConfigMap \S+/more"),
        ({"more": MORE}, {}, r"Helm would delete ConfigMap \S+/more"),
        ({}, {"word": "other"}, r"is not what Git has: its values are others"),
        ({}, {"version": "1.1.0"}, r"is not what Git has: it is 1\.0\.0, and Git has 1\.1\.0"),
    ],
)
async def test_what_would_change_anything_is_refused(
    theirs: dict[str, str], ours: dict[str, str], refused: str, shop: Shop
) -> None:
    await shop.brought(**theirs)
    before = await shop.settings()
    scene = shop.scene(**ours)

    for stage in (take_back.foresee_releases(scene), take_back.write_releases(scene)):
        with pytest.raises(errors.Refused, match=refused):
            await stage.look(shop.world)
    assert (await shop.settings())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_release_that_is_not_deployed_stays_whose_it_is(shop: Shop) -> None:
    await shop.brought()
    name = "sh.helm.release.v1.shop.v1"
    secret = await shop.world.kube.get("v1", "Secret", name, namespace=shop.namespace)
    release = gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"])))
    pending = gzip.compress(release.replace(b'"status":"deployed"', b'"status":"pending-upgrade"'))
    body = {"data": {"release": base64.b64encode(base64.b64encode(pending)).decode()}}
    await shop.world.kube.patch("v1", "Secret", name, body, manager="tests", namespace=shop.namespace)

    with pytest.raises(errors.Refused, match="is pending-upgrade, and only one that is deployed changes hands"):
        await take_back.foresee_releases(shop.scene()).look(shop.world)
