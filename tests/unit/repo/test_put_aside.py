"""Files that nobody deploys unless something leads there."""

import pytest

from firstlight.repo import put_aside


@pytest.mark.parametrize(
    ("path", "aside"),
    [
        (".archive/apps/web.yaml", ".archive"),
        ("apps/_disabled/web/app.yaml", "apps/_disabled"),
        ("docs/examples/root.yaml", "docs/examples"),
        ("test/e2e/helmfile.yaml", "test"),
        ("apps/web/secret.example.yaml", "apps/web/secret.example.yaml"),
        ("apps/web/app.yaml", ""),
        ("clusters/archive/app.yaml", ""),
        ("clusters/test/talos/cp.yaml", ""),
        ("overlays/examples/app.yaml", ""),
        ("talos/node/unused/patch.yaml", ""),
        ("apps/archivebox/app.yaml", ""),
        ("apps/old/app.yaml", ""),
    ],
)
def test_directories_and_names_of_files_put_aside(path: str, aside: str) -> None:
    assert put_aside.directory(path) == aside


def test_beside_another_environment_test_is_one_too() -> None:
    there = {"kubernetes/prod", "kubernetes/test"}

    assert put_aside.directory("kubernetes/test/app.yaml", there.__contains__) == ""
    assert put_aside.directory("kubernetes/test/app.yaml") == "kubernetes/test"
