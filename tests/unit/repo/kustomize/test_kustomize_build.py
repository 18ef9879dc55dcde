"""What else a build tells: charts, remotes, files, what it leaves out; and how much it lets a repo ask for."""

import copy
import time
from pathlib import Path

import pytest

from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.source import RemoteSource
from firstlight.repo import kustomize
from firstlight.repo.kustomize import accumulate
from tests.unit.repo.trees import make

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def test_charts_are_read_and_not_inflated(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {
            "app/kustomization.yaml": """namespace: shop
resources: [../base]
helmGlobals: {chartHome: local}
helmCharts:
  - name: web
    repo: https://charts.example.org
    version: 1.2.3
    releaseName: shop-web
    valuesFile: values.yaml
    additionalValuesFiles: [more.yaml]
    valuesInline: {replicas: 2}
  - {name: own, valuesInline: {a: 1}, valuesFile: values.yaml, valuesMerge: merge}
helmChartInflationGenerator:
  - {chartName: old, chartRepoUrl: "https://old.example.org", chartVersion: "1", values: values.yaml}
""",
            "app/values.yaml": "a: b\n",
            "base/kustomization.yaml": "helmCharts: [{name: below, repo: oci://registry.example.org/charts}]\n",
        },
    )

    below, web, own, old = kustomize.build(tree, "app").charts

    assert (web.name, web.repository, web.version) == ("web", "https://charts.example.org", "1.2.3")
    assert (web.release, web.namespace) == ("shop-web", "shop")
    assert web.origin == Place("app/kustomization.yaml", 5, 5)
    assert [each.file or each.inline for each in web.values] == ["app/values.yaml", {"replicas": 2}, "app/more.yaml"]
    assert (own.name, own.repository) == ("app/local/own", "")
    assert [each.file or each.inline for each in own.values] == [{"a": 1}, "app/values.yaml"]
    assert (old.name, old.repository, old.version) == ("old", "https://old.example.org", "1")
    assert (below.repository, below.namespace) == ("oci://registry.example.org/charts", "shop")


def test_what_is_elsewhere_is_said_and_not_fetched(tmp_path: Path) -> None:
    tree = make(tmp_path, {"app/kustomization.yaml": "resources:\n  - https://github.com/example/x//y?ref=v1\n"})

    build = kustomize.build(tree, "app")

    assert build.remotes == (
        kustomize.Elsewhere(
            Place("app/kustomization.yaml", 2, 5),
            RemoteSource(url="https://github.com/example/x", revision="v1", path="y"),
        ),
    )
    assert [(each.code, each.severity) for each in build.diagnostics] == [
        ("kustomize-resource-remote", Severity.UNKNOWN)
    ]


@pytest.mark.parametrize("field", ["generators", "transformers", "validators", "vars", "crds", "buildMetadata"])
def test_what_only_kustomize_can_do_is_said(tmp_path: Path, field: str) -> None:
    tree = make(tmp_path, {"app/kustomization.yaml": f"resources: [a.yaml]\n{field}: [x.yaml]\n", "app/a.yaml": OBJECT})

    build = kustomize.build(tree, "app")

    assert [(each.code, each.severity, each.place.line) for each in build.diagnostics] == [
        ("kustomize-not-followed", Severity.UNKNOWN, 2)
    ]
    assert field in build.diagnostics[0].message
    assert len(build.manifests) == 1


def test_every_file_that_has_a_part_in_it(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {
            "app/kustomization.yaml": """resources: [a.yaml, ../base]
components: [../component]
configurations: [config.yaml]
patches: [{path: patch.yaml}]
configMapGenerator: [{name: x, files: [data.txt], envs: [e.env]}]
""",
            "app/a.yaml": OBJECT,
            "app/patch.yaml": OBJECT,
            "app/config.yaml": "{}",
            "app/data.txt": "",
            "app/e.env": "",
            "app/unused.yaml": OBJECT,
            "base/kustomization.yaml": "resources: [b.yaml]\n",
            "base/b.yaml": OBJECT.replace("a}", "b}"),
            "component/kustomization.yaml": "kind: Component\nresources: [c.yaml]\n",
            "component/c.yaml": OBJECT.replace("a}", "c}"),
        },
    )

    assert kustomize.build(tree, "app").files == set(tree.files) - {"app/unused.yaml"}


def test_paths_out_of_the_repo_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(OBJECT)
    tree = make(
        tmp_path / "repo",
        {"app/kustomization.yaml": "resources: [../../secret.yaml, /etc/hostname, ../..]\npatches: [{path: ../../x}]"},
    )

    build = kustomize.build(tree, "app")

    assert build.manifests == ()
    assert [each.code for each in build.diagnostics] == ["kustomize-path-outside"] * 4


def test_a_base_is_shared_and_never_changed(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {
            "base/kustomization.yaml": "resources: [a.yaml]\n",
            "base/a.yaml": OBJECT + "data: {a: '1'}\n",
            "one/kustomization.yaml": "resources: [../base]\nnamespace: one\ncommonLabels: {a: b}\n",
            "two/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n",
            "two/p.yaml": OBJECT + "data: {a: '2'}\n",
        },
    )
    before = copy.deepcopy(kustomize.build(tree, "base").manifests[0].value)

    kustomize.build(tree, "one")
    two = kustomize.build(tree, "two")

    assert kustomize.build(tree, "base").manifests[0].value == before
    assert two.manifests[0].value["data"] == {"a": "2"}
    assert two.manifests[0].place == Place("base/a.yaml", 1)


def test_prefixes_cannot_multiply_a_base_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulate, "OBJECTS", 500)
    monkeypatch.setattr(accumulate, "WORK", 5000)
    files = {"l0/kustomization.yaml": "resources: [a.yaml]\n", "l0/a.yaml": OBJECT}
    for level in range(1, 25):
        for side in "xz":
            files[f"l{level}{side}/kustomization.yaml"] = f"namePrefix: {side}\nresources: [../l{level - 1}]\n"
        files[f"l{level}/kustomization.yaml"] = f"resources: [../l{level}x, ../l{level}z]\n"
    tree = make(tmp_path, files)
    begin = time.process_time()

    build = kustomize.build(tree, "l24")

    said = [each.message for each in build.diagnostics]
    assert "there are more than 500 objects; the rest is left out" in said
    assert "left out: all kustomizations together have more than 5000 objects" in said
    assert time.process_time() - begin < 3


def test_kustomizations_cannot_be_nested_without_end(tmp_path: Path) -> None:
    files = {f"d{n}/kustomization.yaml": f"resources: [../d{n + 1}]\n" for n in range(200)}
    tree = make(tmp_path, {**files, "d200/kustomization.yaml": "resources: [a.yaml]\n", "d200/a.yaml": OBJECT})

    build = kustomize.build(tree, "d0")

    assert [each.code for each in build.diagnostics] == ["kustomize-too-large"]


def test_a_directory_without_a_kustomization(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {
            "app/a.yaml": OBJECT,
            "app/deep/er/b.yml": OBJECT.replace("a}", "b}"),
            "app/own/kustomization.yaml": "resources: [c.yaml]\nnamePrefix: x-\n",
            "app/own/c.yaml": OBJECT.replace("a}", "c}"),
            "app/own/left-out.yaml": OBJECT.replace("a}", "d}"),
            "app/.sops.yaml": "creation_rules: []\n",
            "app/.github/workflow.yaml": "on: push\n",
            "app/notes.txt": "none\n",
        },
    )

    made = kustomize.build(tree, "app", generate=True)
    refused = kustomize.build(tree, "app")

    assert sorted(each.id.name for each in made.manifests) == ["a", "b", "x-c"]
    assert made.diagnostics == ()
    assert [each.code for each in refused.diagnostics] == ["kustomization-file-missing"]
    assert [each.code for each in kustomize.build(tree, "none").diagnostics] == ["kustomize-path-missing"]


def test_what_an_engine_lays_over_a_directory(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {
            "app/kustomization.yaml": (
                "resources: [a.yaml]\nnamespace: old\nnamePrefix: p-\nimages: [{name: x, newTag: '1'}]\n"
            ),
            "app/a.yaml": OBJECT
            + "---\n"
            + "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{image: x}]}\n",
            "parts/c/kustomization.yaml": "kind: Component\ncommonAnnotations: {c: d}\n",
        },
    )
    place = Place("ks.yaml", 3)
    fields = {
        "namespace": "new",
        "patches": [{"patch": "- {op: add, path: /data, value: {a: b}}", "target": {"kind": "ConfigMap"}}],
        "components": ["../parts/c"],
        "images": [{"name": "x", "newName": "y"}],
    }

    build = kustomize.build(tree, "app", over=kustomize.Overlay(place, fields))
    broken = kustomize.build(tree, "app", over=kustomize.Overlay(place, {"patches": [{"patch": "a: b"}]}))

    config, pod = build.manifests
    assert config.value == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "p-a", "namespace": "new", "annotations": {"c": "d"}},
        "data": {"a": "b"},
    }
    assert pod.value["spec"]["containers"] == [{"image": "y:1"}]
    assert [each.place for each in broken.diagnostics] == [place]


def test_links_are_followed_inside_the_repo(tmp_path: Path) -> None:
    make(tmp_path, {"real/kustomization.yaml": "resources: [a.yaml]\n", "real/a.yaml": OBJECT})
    (tmp_path / "app").symlink_to("real")
    tree = make(tmp_path, {"over/kustomization.yaml": "resources: [../app, ../app/a.yaml]\n"})

    build = kustomize.build(tree, "over")

    assert build.files == {"over/kustomization.yaml", "real/kustomization.yaml", "real/a.yaml"}
    assert build.diagnostics[0].code == "kustomize-object-twice"


def test_encrypted_files_of_generators_are_said(tmp_path: Path) -> None:
    content = "A=ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]\nsops_version=3\n"
    tree = make(
        tmp_path,
        {"app/kustomization.yaml": "secretGenerator: [{name: s, envs: [s.env]}]\n", "app/s.env": content},
    )

    build = kustomize.build(tree, "app")

    assert [(each.code, each.severity) for each in build.diagnostics] == [
        ("kustomize-generator-encrypted", Severity.UNKNOWN)
    ]
    assert "ENC[" not in repr(build) + str(build.diagnostics)
