"""What an override keeps of how things were: of an object that is looked at twice, the first look."""

import types
from pathlib import Path
from typing import Any, cast

from firstlight.clients import kube
from firstlight.execute.overriding import snapshot
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import Emergency, Override, Standing

OPEN = Override(
    id="o-1", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0, until=100.0,
    standing=Standing.OPEN, scope=(),
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
    client = cast("kube.Client", Api())
    ground = Ground(client=client, cluster="lab", state=tmp_path)
    await snapshot.write(OPEN.id, [above(suspend=False)], ground, part=5)
    await snapshot.write(OPEN.id, [above(suspend=True)], ground, part=12)

    found = await snapshot.read(OPEN, client)

    assert found == {ObjectId.of(above(suspend=False)): above(suspend=False)}
