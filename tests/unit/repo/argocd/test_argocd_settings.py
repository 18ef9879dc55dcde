"""What a repo would have Argo CD execute: found in the ConfigMap, in patches, in the values of a chart."""

from pathlib import Path

import pytest

from firstlight.repo.argocd import argocd_settings
from firstlight.repo.work_tree import WorkTree

CASES: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "usual": ("data: {kustomize.buildOptions: --enable-helm}\n", []),
    "usual, on more lines": (
        "data:\n  kustomize.buildOptions: >-\n    --enable-helm\n    --load-restrictor LoadRestrictionsNone\n  a: -x\n",
        [],
    ),
    "commented": ("data:\n  # kustomize.buildOptions: --enable-exec\n  a: b\n", []),
    "plugins": (
        "data:\n  kustomize.buildOptions: --enable-alpha-plugins --enable-exec\n",
        [("kustomize.buildOptions", "--enable-exec")],
    ),
    "plugins, quoted": (
        'data: {"kustomize.buildOptions": "--enable-helm --enable-exec"}\n',
        [("kustomize.buildOptions", "--enable-exec")],
    ),
    "plugins, on more lines": (
        "data:\n  kustomize.buildOptions: |-\n    --enable-helm\n    --enable-exec\n",
        [("kustomize.buildOptions", "--enable-exec")],
    ),
    "of a version": (
        "data:\n  kustomize.buildOptions.v5.0.0: --helm-command=./x\n",
        [("kustomize.buildOptions.v5.0.0", "--helm-command")],
    ),
    "values of the chart": (
        "configs:\n  cm:\n    kustomize.buildOptions: --enable-exec\n",
        [("kustomize.buildOptions", "--enable-exec")],
    ),
    "values in an Application": (
        "source:\n  helm:\n    values: |\n      configs: {cm: {kustomize.buildOptions: --enable-exec}}\n",
        [("kustomize.buildOptions", "--enable-exec")],
    ),
    "another kustomize": (
        "data:\n  kustomize.path.v9.9.9: /custom-tools/kustomize\n",
        [("kustomize.path.v9.9.9", "/custom-tools/kustomize")],
    ),
    "credentials": (
        'stringData:\n  config: |\n    {"execProviderConfig": {"command": "x"}}\n',
        [("execProviderConfig",)],
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_needs_the_users_word(tmp_path: Path, text: str, expected: list[tuple[str, ...]]) -> None:
    (tmp_path / "argocd-cm.yaml").write_text(text)

    found = argocd_settings.executed_commands(WorkTree(tmp_path))

    assert [each.words[1:] for each in found] == expected
    assert all(each.place.path == "argocd-cm.yaml" and each.place.line > 0 for each in found)
