"""Whatever a repo holds, reading it ends soon and raises nothing."""

import time
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from firstlight.model.diagnostic import Severity
from firstlight.repo import argocd
from firstlight.repo.argocd import read_scope
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

URL = "https://git.example.org/team/platform"
WORDS = [
    "", ".", "..", "../..", "/", "apps", "apps/*", "**", "{{", "}}", "{{ . }}", "{{name}}", "{{ range . }}", "[",
    "{a,b", "$x/y", "${x}", URL, "Application", "in-cluster", "https://kubernetes.default.svc", "!", "!*", "*", "\\",
    "a: [", "- x", "\0", "ü",
]  # fmt: skip
KEYS = [
    "name", "namespace", "annotations", "labels", "source", "sources", "repoURL", "path", "chart", "targetRevision",
    "ref", "helm", "values", "valuesObject", "valueFiles", "parameters", "fileParameters", "kustomize", "images",
    "patches", "components", "namePrefix", "commonLabels", "directory", "recurse", "include", "exclude", "plugin",
    "destination", "server", "project", "generators", "list", "elements", "elementsYaml", "git", "directories",
    "files", "matrix", "merge", "mergeKeys", "clusters", "selector", "matchLabels", "matchExpressions", "template",
    "templatePatch", "goTemplate", "goTemplateOptions", "metadata", "spec", "strategy", "rollingSync", "steps",
    "type", "sourceRepos", "destinations", "sourceNamespaces", "syncPolicy", "automated", "enabled",
    "argocd.argoproj.io/sync-wave", "pathParamPrefix", "sourceHydrator", "drySource", "flatList",
]  # fmt: skip
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.sampled_from(WORDS))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.sampled_from(KEYS), st.integers()), inner, max_size=4)
    ),
    max_leaves=12,
)


def read(root: Path, **files: Any) -> ReaderResult:
    for name, value in files.items():
        path = root / name.replace("__", "/")
        path = path.with_name(path.name + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else yaml.safe_dump_all(value))
    return argocd.read(WorkTree(root))


def obj(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def application_set(*generators: Any, **more: Any) -> dict[str, Any]:
    template = {
        "metadata": {"name": "{{name}}"},
        "spec": {
            "destination": {"name": "in-cluster", "namespace": "x"},
            "source": {"repoURL": "https://charts.example.org", "chart": "x", "targetRevision": "1"},
        },
    }
    return obj("ApplicationSet", generators=list(generators), **{"template": template, **more})


@hypothesis.given(
    st.lists(
        st.fixed_dictionaries(
            {
                "apiVersion": st.just("argoproj.io/v1alpha1"),
                "kind": st.sampled_from(["Application", "ApplicationSet", "AppProject"]),
                "metadata": st.one_of(anything, st.fixed_dictionaries({"name": scalars, "annotations": anything})),
                "spec": anything,
            }
        ),
        max_size=3,
    )
)
@hypothesis.settings(max_examples=60)
def test_no_object_is_too_odd(tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]]) -> None:
    root = tmp_path_factory.mktemp("repo")

    read(root, apps__objects=objects, apps__inner__more=[{"name": "x"}])


@hypothesis.given(
    st.sampled_from(["list", "git", "matrix", "merge", "clusters", "plugin", "x"]), anything, st.booleans(), anything
)
@hypothesis.settings(max_examples=60)
def test_no_generator_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, kind: str, generator: Any, is_go: bool, patch: Any
) -> None:
    root = tmp_path_factory.mktemp("repo")
    one = application_set({kind: generator}, goTemplate=is_go, templatePatch=patch)

    read(root, set=[one], apps__inner__more=[{"name": "x"}])


@hypothesis.given(st.sampled_from(["source", "destination", "helm", "kustomize", "directory"]), anything)
@hypothesis.settings(max_examples=60)
def test_no_source_is_too_odd(tmp_path_factory: pytest.TempPathFactory, field: str, value: Any) -> None:
    root = tmp_path_factory.mktemp("repo")
    source: Any = {"repoURL": URL, "path": "apps", **({field: value} if field not in ("source", "destination") else {})}
    spec: dict[str, Any] = {"source": source, "destination": {"name": "in-cluster"}}
    spec |= {field: value} if field in spec else {}

    read(root, app=[obj("Application", **spec)], apps__inner__more=[{"name": "x"}])


class TestBounds:
    def test_a_matrix_that_explodes_is_given_up(self, tmp_path: Path) -> None:
        many = {"list": {"elements": [{f"k{n}": str(n)} for n in range(300)]}}
        inner = {"matrix": {"generators": [many, many]}}
        before = time.process_time()

        found = read(tmp_path, set=[application_set({"matrix": {"generators": [inner, many]}})])

        assert time.process_time() - before < 60
        assert [each.name for each in found.origins] == ["x"]
        assert [each.code for each in found.diagnostics] == ["argocd-applications-unknown"]

    def test_generators_in_generators_end(self, tmp_path: Path) -> None:
        generator: dict[str, Any] = {"list": {"elements": [{"name": "a"}]}}
        for _ in range(30):
            generator = {"matrix": {"generators": [generator, {"list": {"elements": [{"k": "v"}]}}]}}

        found = read(tmp_path, set=[application_set(generator)])

        assert [each.code for each in found.diagnostics] == ["argocd-applications-unknown"]

    def test_a_template_that_never_ends_is_given_up(self, tmp_path: Path) -> None:
        endless = '{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}'
        found = read(
            tmp_path,
            set=[application_set({"list": {"elements": [{"name": "a"}]}}, goTemplate=True, templatePatch=endless)],
        )

        assert [each.certainty for each in found.origins] == ["guessed"]

    def test_a_slow_template_cannot_be_multiplied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(read_scope.ReadBudget.__init__, "__defaults__", (300_000,))
        slow = "{{ range until 100 }}{{ range until 100 }}{{ end }}{{ end }}"
        many = {"list": {"elements": [{"name": f"n{n}"} for n in range(1000)]}}

        one = application_set(many, goTemplate=True, templatePatch=slow + "{}")
        one["spec"]["template"]["metadata"]["name"] = "{{ .name }}"

        found = read(tmp_path, set=[one])

        assert 1 < len(found.origins) < 1000
        slow_ones = [each for each in found.diagnostics if each.code == "argocd-set-template-wrong"]
        assert [each.severity for each in slow_ones] == [Severity.UNKNOWN]

    def test_a_directory_that_all_read_is_read_once(self, tmp_path: Path) -> None:
        many = {"list": {"elements": [{"name": f"n{n}"} for n in range(2000)]}}
        one = application_set(many)
        one["spec"]["template"]["spec"]["source"] = {"repoURL": URL, "path": "apps", "directory": {"recurse": True}}
        files = {
            f"apps__a{n}": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}] for n in range(500)
        }

        found = read(tmp_path, set=[one, obj("Application", source={"repoURL": URL, "path": "apps"})], **files)

        assert len(found.origins) == 2001
        assert len({id(each.objects) for each in found.origins}) <= 2

    def test_a_chain_of_applications_ends(self, tmp_path: Path) -> None:
        files = {
            f"a{n}__app": [
                obj("Application", source={"repoURL": URL, "path": f"a{n + 1}"}, destination={"name": "in-cluster"})
            ]
            for n in range(40)
        }
        for n in range(40):
            files[f"a{n}__app"][0]["metadata"]["name"] = f"app-{n}"

        found = read(tmp_path, **files)

        assert "argocd-applications-too-deep" in {each.code for each in found.diagnostics}
        assert len(found.origins) == 40, "those that are too deep for one chain begin another"

    def test_a_pattern_cannot_take_for_ever(self, tmp_path: Path) -> None:
        pattern = "a*" * 60 + "b"
        git = {"git": {"repoURL": URL, "directories": [{"path": "apps"}, {"path": pattern}]}}
        before = time.process_time()

        read(tmp_path, set=[application_set(git)], **{f"{'a' * 200}__x": [{"name": "x"}], "apps__y": [{"name": "x"}]})

        assert time.process_time() - before < 30

    def test_a_file_outside_of_the_repo_is_never_a_value_file(self, tmp_path: Path) -> None:
        (tmp_path / "secret.yaml").write_text("password: outside")
        source = {"repoURL": URL, "path": "chart", "helm": {"valueFiles": ["../../secret.yaml", "/../secret.yaml"]}}

        found = read(
            tmp_path / "repo",
            app=[obj("Application", source=source, destination={"name": "in-cluster"})],
            chart__Chart=[{"apiVersion": "v2", "name": "x", "version": "1.0.0"}],
        )

        assert "outside" not in repr(found.origins)
        assert [each.code for each in found.diagnostics] == ["argocd-values-file-outside"] * 2


def test_secrets_are_in_no_diagnostic_and_no_representation(tmp_path: Path) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "c", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
        "stringData": {"name": "apps", "server": "https://apps.example.org", "config": "hunter2"},
    }
    helm = {"values": "password: hunter2", "parameters": [{"name": "password", "value": "hunter2"}]}
    sources = [
        {"repoURL": "https://me:hunter2@charts.example.org", "chart": "x", "targetRevision": "1", "helm": helm},
        {"repoURL": "https://me:hunter2@git.example.org/a/b", "path": "x", "targetRevision": "1"},
    ]

    found = read(tmp_path, all=[secret, obj("Application", sources=sources, destination={"name": "apps"})])

    assert len(found.origins) == 1
    assert "hunter2" not in repr(found)
