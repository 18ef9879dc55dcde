"""What an override keeps of how things were: of an object that is looked at twice, the first look."""

import types
from pathlib import Path
from typing import Any, cast

from firstlight.clients import kube
from firstlight.execute.overrides import object_snapshot
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import Emergency, Override, OverrideStanding

OPEN = Override(
    id="o-1", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0, until=100.0,
    standing=OverrideStanding.OPEN, scope=(),
)  # fmt: skip


class Api:
    """Secrets, listed in any order."""

    def __init__(self) -> None:
        self._secrets: list[dict[str, Any]] = []

    async def apply(self, value: dict[str, Any], **_: Any) -> None:
        self._secrets.insert(0, value)

    async def list(self, *_: Any, **__: Any) -> Any:
        return types.SimpleNamespace(items=self._secrets)


def above(suspend: bool) -> dict[str, Any]:
    metadata = {"name": "above", "namespace": "shop"}
    return {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": metadata, "suspend": suspend}


async def test_the_first_look_counts(tmp_path: Path) -> None:
    client = cast(kube.Client, Api())
    ground = OverrideContext(client=client, cluster="lab", state=tmp_path)
    await object_snapshot.write(OPEN.id, [above(suspend=False)], ground, part=5)
    await object_snapshot.write(OPEN.id, [above(suspend=True)], ground, part=12)

    found = await object_snapshot.read(OPEN, client)

    assert found == {ObjectId.of(above(suspend=False)): above(suspend=False)}
