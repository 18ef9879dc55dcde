"""What kustomizations take in."""

from pathlib import Path

from firstlight.commands.decide.file_components import taken_in
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

KUSTOMIZATION = """\
resources: [../base, ./web.yaml, https://files.example.org/a.yaml, ../../../outside, nowhere.yaml]
components: [../part]
patches: [{path: patch.yaml}, {patch: "a: b"}]
configMapGenerator: [{name: c, files: [values.yaml=settings.yaml], envs: [a.env]}]
helmCharts: [{name: x, valuesFile: chart.yaml}]
"""


def test_files_and_directories_of_either_tree(tmp_path: Path) -> None:
    for path in ("base/b.yaml", "part/p.yaml", "app/web.yaml", "app/patch.yaml", "app/settings.yaml", "app/a.env",
                 "app/chart.yaml", "app/old.yaml", "nothing/kustomization.yaml"):  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("- 1\n")
    (tmp_path / "app/kustomization.yaml").write_text(KUSTOMIZATION)
    after = WorkTree(tmp_path)
    before = OverlaidTree(after, {"app/kustomization.yaml": b"resources: [old.yaml]\n"})

    assert taken_in(after, before, ["app/kustomization.yaml"]) == {
        "app": (
            "base", "app/web.yaml", "part", "app/patch.yaml", "app/chart.yaml", "app/settings.yaml", "app/a.env",
            "app/old.yaml",
        )
    }  # fmt: skip


def test_what_a_generator_makes_objects_of(tmp_path: Path) -> None:
    for path in ("a.secret.yaml", "b.secret.yaml", "left-out.yaml"):
        (tmp_path / path).write_text("a: b\n")
    (tmp_path / "generator.yaml").write_text(
        "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: secrets}\n"
        "files: [./a.secret.yaml]\nsecretFrom: [{metadata: {name: b}, files: [key=b.secret.yaml]}]\n"
    )
    (tmp_path / "kustomization.yaml").write_text("generators: [generator.yaml, https://files.example.org/a.yaml]\n")
    tree = WorkTree(tmp_path)

    assert taken_in(tree, tree, []) == {".": ("generator.yaml", "a.secret.yaml", "b.secret.yaml")}
