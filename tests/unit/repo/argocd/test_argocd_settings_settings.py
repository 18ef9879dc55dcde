"""How Argo CD is set up, found in the forms in which people write it."""

from pathlib import Path

import pytest

from firstlight.repo.argocd import argocd_settings
from firstlight.repo.argocd.argocd_settings import ArgoCDSettings
from firstlight.repo.work_tree import WorkTree

HEALTH = "resource.customizations.health.argoproj.io_Application"


def read(tmp_path: Path, text: str) -> ArgoCDSettings:
    (tmp_path / "a.yaml").write_text(text)
    return argocd_settings.read_settings(WorkTree(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        f"data:\n  {HEALTH}: |\n    return hs\n",
        f'data:\n  "{HEALTH}": |\n    return hs\n',
        f"server:\n  argo-cd:\n    configs:\n      cm:\n        {HEALTH}: x\n",
        "data:\n  resource.customizations: |\n    argoproj.io/Application:\n      health.lua: |\n        return hs\n",
        "kind: ArgoCD\nspec:\n  resourceHealthChecks:\n    - {group: argoproj.io, kind: Application, check: x}\n",
    ],
)
def test_the_health_check_of_applications_is_found(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).has_application_health


@pytest.mark.parametrize(
    "text",
    [
        f"data:\n  # {HEALTH}: |\n",
        "data:\n  resource.customizations.health.argoproj.io_ApplicationSet: x\n",
        "data:\n  resource.customizations: |\n    apps/Deployment:\n      health.lua: |\n        return hs\n",
        "spec:\n  resourceHealthChecks:\n    - {group: apps, kind: Deployment}\n",
        "spec: {resourceHealthChecks: none}\n",
    ],
)
def test_other_checks_are_not_taken_for_it(tmp_path: Path, text: str) -> None:
    assert not read(tmp_path, text).has_application_health


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kustomize.buildOptions: --enable-helm --load-restrictor LoadRestrictionsNone\n", True),
        ("kustomize.buildOptions: >-\n    --load-restrictor\n    --enable-helm\n", True),
        ("kustomize.buildOptions: --load-restrictor LoadRestrictionsNone\n", False),
        ("# kustomize.buildOptions: --enable-helm\n", False),
    ],
)
def test_whether_kustomize_builds_charts(tmp_path: Path, text: str, expected: bool) -> None:
    assert read(tmp_path, text).builds_charts is expected


@pytest.mark.parametrize(("value", "expected"), [('"true"', True), ("'true'", True), ('"false"', False)])
def test_which_globbing_finds_files(tmp_path: Path, value: str, expected: bool) -> None:
    text = f"data:\n  applicationsetcontroller.enable.new.git.file.globbing: {value}\n"

    assert read(tmp_path, text).has_new_globbing is expected
