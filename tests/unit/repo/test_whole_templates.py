"""Repos that are templates as a whole, and what fills them in."""

from pathlib import Path

import pytest

from firstlight.repo import platform_reader
from tests.unit.repo import trees

MAKEJINJA = '[makejinja]\ninputs = ["./templates/config"]\noutput = "./"\njinja_suffix = ".j2"\n'
KUSTOMIZATION = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: #{ name }#}\n"
NESTED = "metadata:\n  name: {{ cookiecutter.cluster }}-x: y\n"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"makejinja.toml": MAKEJINJA, "templates/config/apps/ks.yaml.j2": KUSTOMIZATION}, "makejinja"),
        (
            {
                "copier.yml": "_subdirectory: template\nname: {type: str}\n",
                "template/clusters/ks.yaml.jinja": "metadata: {name: {{ name }}}\n",
                "template/clusters/kustomization.yaml": "resources: [{{ name }}.yaml]\n",
            },
            "copier copy . ../rendered",
        ),
        (
            {"cookiecutter.json": '{"cluster": "one"}', "{{cookiecutter.cluster}}/apps/ks.yaml": NESTED},
            "cookiecutter . --output-dir ../rendered",
        ),
        (
            {".gomplate.yaml": "inputDir: src\noutputDir: kubernetes\n", "src/apps/ks.yaml": "a: {{ .Env.X }}\n"},
            "gomplate",
        ),
    ],
    ids=["makejinja", "copier", "cookiecutter", "gomplate"],
)
def test_a_repo_that_is_a_template_is_to_be_rendered_first(files: dict[str, str], command: str, tmp_path: Path) -> None:
    trees.make(tmp_path, files)

    (diagnostic,) = platform_reader.read(tmp_path).diagnostics

    assert diagnostic.code == "repo-is-template"
    assert diagnostic.fix == f"Render it first: {command}"


def test_a_template_whose_result_is_there_is_not_spoken_of(tmp_path: Path) -> None:
    files = {
        "makejinja.toml": MAKEJINJA,
        "templates/config/apps/ks.yaml.j2": KUSTOMIZATION,
        "apps/ks.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
    }
    trees.make(tmp_path, files)

    assert platform_reader.read(tmp_path).diagnostics == ()
