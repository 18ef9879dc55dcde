"""``flux bootstrap --namespace`` names the source and the first Kustomization as it does the namespace."""

from pathlib import Path

from firstlight.repo import flux
from firstlight.repo.work_tree import WorkTree


def test_the_first_kustomization_is_named_after_the_namespace(tmp_path: Path) -> None:
    (tmp_path / "fleet" / "prod").mkdir(parents=True)
    (tmp_path / "fleet" / "prod" / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")

    found = flux.read(WorkTree(tmp_path), roots=[flux.FluxRoot(path="fleet/prod", namespace="delivery")])

    assert [each.id for each in found.origins] == ["kustomization/delivery/delivery"]
