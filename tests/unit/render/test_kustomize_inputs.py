"""What one build reads, brought together: copies of what is elsewhere take the place of URLs."""

import asyncio
import posixpath
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.clients.kustomize import kustomize_errors
from firstlight.render import kustomize_inputs
from firstlight.render.chart_packages import FetchKind
from firstlight.render.kustomize_inputs import KustomizeInputs, KustomizeRules
from firstlight.render.render_questions import RenderQuestions
from tests.unit.render import surroundings

CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def write(root: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return root


def assembled(
    root: Path, things: dict[str, Any] | None = None, *, rules: KustomizeRules | None = None
) -> tuple[KustomizeInputs, surroundings.FakeStore]:
    rules = rules or KustomizeRules(beyond_directory=True)
    around = surroundings.around(root, things)
    asked = RenderQuestions(around)
    made = KustomizeInputs()
    kustomize_inputs.collect("app", asked, made, rules)
    asyncio.run(kustomize_inputs.complete(asked, made, rules))
    store = around.store
    assert isinstance(store, surroundings.FakeStore)
    return made, store


def entries(made: KustomizeInputs, file: str = "app/kustomization.yaml", field: str = "resources") -> list[str]:
    value = yaml.safe_load(made.files[file])
    return list(value[field])


def test_only_what_is_named_is_there(tmp_path: Path) -> None:
    root = write(tmp_path, {
        "app/kustomization.yaml": {"resources": ["a.yaml", "../base"], "patches": [{"path": "p.yaml"}]},
        "app/a.yaml": CONFIG.decode(), "app/p.yaml": "x", "app/other.yaml": "not named", "secret.txt": "no",
        "base/kustomization.yaml": {"configMapGenerator": [{"name": "m", "files": ["k=f.txt"]}]}, "base/f.txt": "f",
    })  # fmt: skip
    made, _ = assembled(root)
    assert sorted(made.files) == [
        "app/a.yaml", "app/kustomization.yaml", "app/p.yaml", "base/f.txt", "base/kustomization.yaml",
    ]  # fmt: skip


def test_a_file_of_the_web_is_fetched_and_named_by_its_copy(tmp_path: Path) -> None:
    url = "https://files.example/v1/install.yaml"
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": [url, "a.yaml"]}, "app/a.yaml": "a: 1"})
    made, store = assembled(root, {url: CONFIG})
    copy, own = entries(made)

    assert own == "a.yaml"
    assert made.files[posixpath.normpath(f"app/{copy}")] == CONFIG
    assert [(each.kind, each.url) for each in store.asked] == [(FetchKind.FILE, url)]
    assert "https" not in made.files["app/kustomization.yaml"].decode()


def test_a_directory_of_another_repository_brings_only_what_it_needs(tmp_path: Path) -> None:
    files = {
        "deploy/kustomization.yaml": b"resources: [a.yaml, ../more]\n", "deploy/a.yaml": CONFIG,
        "more/kustomization.yaml": b"resources: [b.yaml]\n", "more/b.yaml": CONFIG, "huge/x.yaml": CONFIG,
    }  # fmt: skip
    entry = "https://git.example/team/app//deploy?ref=v1.2.3"
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": [entry]}})
    made, store = assembled(root, {"https://git.example/team/app.git": files})
    (copy,) = entries(made)
    inside = sorted(name.split("/", 2)[2] for name in made.files if name.startswith(kustomize_inputs.FETCHED))

    assert copy.endswith("/deploy")
    assert inside == ["deploy/a.yaml", "deploy/kustomization.yaml", "more/b.yaml", "more/kustomization.yaml"]
    assert [(each.kind, each.version) for each in store.asked] == [(FetchKind.GIT, "v1.2.3")]
    assert made.diagnostics == []


def test_remotes_in_remotes_are_fetched_too(tmp_path: Path) -> None:
    url = "https://files.example/install.yaml"
    files = {"kustomization.yaml": f"resources: ['{url}']\n".encode()}
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": ["https://git.example/a/b?ref=v1"]}})
    made, _ = assembled(root, {"https://git.example/a/b.git": files, url: CONFIG})
    assert CONFIG in made.files.values()
    assert all(b"https://" not in content for content in made.files.values())


def test_without_a_revision_it_is_told(tmp_path: Path) -> None:
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": ["https://git.example/a/b"]}})
    made, _ = assembled(root, {"https://git.example/a/b.git": {"kustomization.yaml": b"namePrefix: a-\n"}})
    assert [each.severity for each in made.diagnostics] == ["warning"]


@pytest.mark.parametrize(
    "entry",
    [
        "http://git.example/a/b?ref=v1", "git@git.example:a/b.git?ref=v1", "ssh://git@git.example/a/b?ref=v1",
        "https://git.example/a/b?ref=--upload-pack=touch", "file:///etc", "https://u:p@git.example/a/b",
    ],
)  # fmt: skip
def test_what_is_not_plain_https_is_refused(tmp_path: Path, entry: str) -> None:
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": [entry]}})
    with pytest.raises(errors.FirstlightError):
        assembled(root)


def test_a_chart_is_put_where_kustomize_looks_for_it(tmp_path: Path) -> None:
    charts = [{"name": "web", "repo": "https://charts.example", "version": "1.2.3", "releaseName": "x"}]
    root = write(tmp_path, {"app/kustomization.yaml": {"helmCharts": charts}})
    things = {"https://charts.example web": {"Chart.yaml": b"name: web\n"}}
    made, _ = assembled(root, things, rules=KustomizeRules(allow_helm=True))
    assert made.files["app/charts/web-1.2.3/web/Chart.yaml"] == b"name: web\n"
    assert made.has_charts


def test_charts_are_refused_where_helm_is(tmp_path: Path) -> None:
    root = write(tmp_path, {"app/kustomization.yaml": {"helmCharts": [{"name": "web"}]}})
    with pytest.raises(kustomize_errors.KustomizeForbidden):
        assembled(root, rules=KustomizeRules())


def test_too_many_things_elsewhere_are_refused(tmp_path: Path) -> None:
    urls = [f"https://files.example/{n}.yaml" for n in range(201)]
    root = write(tmp_path, {"app/kustomization.yaml": {"resources": urls}})
    with pytest.raises(kustomize_errors.KustomizeTooLarge):
        assembled(root, dict.fromkeys(urls, CONFIG))


def test_what_git_ignores_is_not_part_of_it(tmp_path: Path) -> None:
    """kustomize would find it on this disk; the engine would not find it in Git."""
    root = write(tmp_path, {
        "app/kustomization.yaml": {"resources": ["ignored.yaml"]}, "app/ignored.yaml": CONFIG.decode(),
        ".gitignore": "ignored.yaml\n",
    })  # fmt: skip
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    with pytest.raises(kustomize_errors.MissingFile, match="not part of the repo"):
        assembled(root)
