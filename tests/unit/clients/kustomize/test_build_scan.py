"""What a build would read, and what it must not."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import kustomize, path_safety
from firstlight.clients.kustomize import build_scan
from tests.unit.clients.kustomize.trees import OBJECT, make

URL = "https://example.org/x.yaml"


def found(root: Path, directory: str = "app", **rules: object) -> list[str]:
    made = kustomize.BuildRules(within=root, **rules)  # type: ignore[arg-type]
    return [str(path.relative_to(root)) for path in kustomize.sources(root / directory, made)]


def test_everything_that_is_named_is_found(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "app/kustomization.yaml": """
resources: [a.yaml, ../base, sub/]
bases: [./old]
components: [../component]
crds: [crd.yaml]
configurations: [config.yaml]
patches: [{path: p1.yaml}, {patch: "a: https://example.org"}]
patchesJson6902: [{path: p2.yaml, target: {kind: X}}]
patchesStrategicMerge: [p3.yaml, "{apiVersion: v1, kind: X, metadata: {name: y}}"]
replacements: [{path: r.yaml}, {source: {kind: X}}]
openapi: {path: schema.json}
configMapGenerator: [{name: c, files: [f1.txt, key=f2.txt], envs: [e1.env], env: e2.env, literals: [a=https://x]}]
secretGenerator: [{name: s, files: [f3.txt]}]
generators: [gen.yaml]
transformers: [trans.yaml, "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: p4.yaml}"]
validators: [trans]
""",
            "app/gen.yaml": (
                "apiVersion: builtin\nkind: ConfigMapGenerator\nfiles: [a=f4.txt]\nenvs: [e3.env]\n"
            ),
            "app/trans.yaml": (
                "apiVersion: builtin\nkind: ReplacementTransformer\nreplacements: [{path: r2.yaml}]\n"
                "---\napiVersion: builtin\nkind: ValueAddTransformer\nmetadata: {name: y}\ntargetFilePath: t.yaml\n"
                "---\napiVersion: builtin\nkind: PatchStrategicMergeTransformer\npaths: [p5.yaml]\n"
            ),
            "app/trans/kustomization.yml": "resources: [t.yaml]",
            "app/trans/t.yaml": "",
            "app/sub/Kustomization": "namePrefix: x",
            "app/old/kustomization.yaml": "namePrefix: x",
            "base/kustomization.yaml": "resources: [b.yaml]",
            "base/b.yaml": OBJECT,
            "component/kustomization.yaml": "kind: Component\nresources: [c.yaml]",
            "component/c.yaml": OBJECT,
            **{
                f"app/{name}": "x"
                for name in (
                    "a.yaml", "crd.yaml", "config.yaml", "p1.yaml", "p2.yaml", "p3.yaml", "p4.yaml", "p5.yaml",
                    "r.yaml", "r2.yaml", "schema.json", "f1.txt", "f2.txt", "f3.txt", "f4.txt", "e1.env", "e2.env",
                    "e3.env", "t.yaml",
                )
            },
        },
    )  # fmt: skip

    assert set(found(tmp_path)) == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}


REMOTE = [
    URL, "HTTPS://example.org/x", "http://example.org/x", "git::https://example.org/x", "ssh://git@example.org/x/y",
    "git@example.org:x/y", "github.com/x/y", "GitHub.com/x/y?ref=main", "github.com:x/y",
    "file:///etc", "user@host/x/y", "https:/example.org", "evil:x", "git@github.com:x/y.git//z?ref=a",
]  # fmt: skip


@pytest.mark.parametrize("url", REMOTE)
def test_a_place_on_the_network_is_refused_even_if_a_file_has_its_name(tmp_path: Path, url: str) -> None:
    make(tmp_path, {"app/kustomization.yaml": f"resources: ['{url}']"})
    disguise = tmp_path / "app" / url
    disguise.parent.mkdir(parents=True, exist_ok=True)
    disguise.write_text(OBJECT)

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path)

    assert caught.value.reason == "remote"
    assert caught.value.exit_code == 3
    assert caught.value.path == tmp_path / "app" / "kustomization.yaml"


FIELDS = [
    "resources: [X]", "Resources: [X]", "RESOURCES: [X]", "reſources: [X]", "bases: [X]",
    "components: [X]", "crds: [X]", "configurations: [X]", "patches: [{path: X}]",
    "patches: [{Path: X}]", "patchesJson6902: [{path: X}]",
    "patchesStrategicMerge: [X]", "replacements: [{path: X}]", "openapi: {path: X}", "openapi: {PATH: X}",
    "configMapGenerator: [{name: a, files: [X]}]", "configMapGenerator: [{name: a, files: [key=X]}]",
    "configMapGenerator: [{name: a, env: X}]", "secretGenerator: [{name: a, envs: [X]}]", "generators: [X]",
    "transformers: [X]", "validators: [X]",
    "base: &b {resources: [X]}\n<<: *b",
    "generators: ['{apiVersion: builtin, kind: SecretGenerator, metadata: {name: x}, files: [a=X]}']",
    "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, Path: X}']",
    "transformers: ['{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: x}, paths: [X]}']",
    "transformers: ['{apiVersion: builtin, kind: ReplacementTransformer, replacements: [{path: X}]}']",
    "transformers: ['{apiVersion: builtin, kind: ValueAddTransformer, metadata: {name: x}, targetFilePath: X}']",
    "helmCharts: [{name: c, valuesFile: X}]", "helmCharts: [{name: c, additionalValuesFiles: [X]}]",
    "helmGlobals: {chartHome: X}\nhelmCharts: [{name: c}]",
]  # fmt: skip


@pytest.mark.parametrize("text", FIELDS)
@pytest.mark.parametrize(
    ("value", "reason"),
    [(URL, "remote"), ("/etc/passwd", "outside"), ("../../outside", "outside"), ("link/inner", "outside")],
)
@pytest.mark.parametrize("beyond", [False, True])
def test_no_field_leads_out_of_the_tree(tmp_path: Path, text: str, value: str, reason: str, beyond: bool) -> None:
    root = tmp_path / "root"
    make(tmp_path, {"outside": "secret", "elsewhere/inner": "secret"})
    make(
        root,
        {
            "app/kustomization.yaml": text.replace("X", value),
            "app/link": f"-> {tmp_path}/elsewhere",
            "app/charts/c/Chart.yaml": "name: c",
        },
    )
    if "chartHome" in text and value == URL:
        reason = "remote"  # a directory of that name is not there, so the chart would be fetched

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(root, allow_helm=True, beyond_directory=beyond)

    assert caught.value.reason == reason


def test_files_beside_a_kustomization_are_for_those_who_allow_them(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "resources: [../shared.yaml]", "shared.yaml": OBJECT})

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path)
    assert caught.value.reason == "outside"
    assert found(tmp_path, beyond_directory=True) == ["app/kustomization.yaml", "shared.yaml"]


def test_dots_are_taken_out_before_links_are_followed(tmp_path: Path) -> None:
    """As Go does it: ``link/../x`` is ``x``, wherever the link leads."""
    make(
        tmp_path,
        {
            "app/kustomization.yaml": "resources: [link/../a.yaml]",
            "app/link": "-> ../deep/er",
            "deep/er/x": "",
            "app/a.yaml": OBJECT,
        },
    )

    assert found(tmp_path) == ["app/a.yaml", "app/kustomization.yaml"]


def test_a_link_inside_the_tree_is_followed(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "app/kustomization.yaml": "resources: [base, a.yaml]",
            "app/base": "-> ../base",
            "app/a.yaml": "-> b.yaml",
            "app/b.yaml": OBJECT,
            "base/kustomization.yaml": "namePrefix: x",
        },
    )

    assert found(tmp_path) == ["app/b.yaml", "app/kustomization.yaml", "base/kustomization.yaml"]


PROGRAMS = {
    "exec function": "apiVersion: x/v1\nkind: G\nmetadata:\n  name: x\n  annotations:\n"
    "    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n",
    "container": "apiVersion: x/v1\nkind: G\n"
    "metadata: {name: x, annotations: {config.k8s.io/function: 'container: {image: x}'}}\n",
    "exec plugin": "apiVersion: someteam.example.org/v1\nkind: Run\nmetadata: {name: x}\nargsOneLiner: x\n",
    "in a list": "apiVersion: v1\nkind: List\nitems: [{apiVersion: x/v1, kind: Run, metadata: {name: x}}]\n",
    "pretending": "apiVersion: builtin\nkind: G\nmetadata:\n  annotations: {config.kubernetes.io/function: x}\n",
    "second": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x}\n---\napiVersion: x/v1\nkind: Run\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
@pytest.mark.parametrize("is_inline", [False, True])
def test_a_plugin_is_refused(tmp_path: Path, name: str, field: str, is_inline: bool) -> None:
    program = PROGRAMS[name]
    if is_inline:
        text = f"{field}:\n- |\n" + "".join(f"  {line}\n" for line in program.splitlines())
    else:
        text = f"{field}: [plugin.yaml]"
    make(tmp_path, {"app/kustomization.yaml": text, "app/plugin.yaml": program})

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path)

    assert caught.value.reason == "exec"


def test_configurations_that_cannot_be_checked(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "transformers: [t]", "app/t/kustomization.yaml": "namePrefix: x"})

    assert found(tmp_path) == ["app/kustomization.yaml", "app/t/kustomization.yaml"]
    with pytest.raises(kustomize.KustomizeForbidden):
        found(tmp_path, beyond_directory=True)


BAD = {
    "resources: [a": "not closed",
    "": "empty",
    "---\n---\n": "empty",
    "- a": "mapping",
    "resources: a.yaml": "not a list",
    "resources: [1]": "no text",
    "patches: [x]": "mapping",
    "resources: [x]\n---\nresources: [y]": "more than one",
    "resources: []\nresources: ['https://x']": "twice",
    "resources: []\nResources: ['https://x']": "twice",
    "resources: ['']": "not a path",
    "resources: [!x y]": "tag !x",
    "a: " + "[" * 300 + "]" * 300: "deeper",
    "helmCharts: x": "not a list",
}


@pytest.mark.parametrize("text", BAD)
def test_a_kustomization_that_is_none(tmp_path: Path, text: str) -> None:
    make(tmp_path, {"app/kustomization.yaml": text})

    with pytest.raises(kustomize.BadYaml, match=BAD[text]) as caught:
        found(tmp_path)

    assert caught.value.path == tmp_path / "app" / "kustomization.yaml"


def test_lines_are_named(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "namePrefix: x\nresources: []\nresources: [y]\n"})

    with pytest.raises(kustomize.BadYaml) as caught:
        found(tmp_path)

    assert caught.value.line == 3
    assert caught.value.message.startswith(f"{tmp_path}/app/kustomization.yaml:3: ")


def test_a_last_document_that_is_empty_is_none(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "---\nnamePrefix: x\n---\n"})

    assert found(tmp_path) == ["app/kustomization.yaml"]


def test_what_is_missing(tmp_path: Path) -> None:
    make(
        tmp_path, {"app/kustomization.yaml": "resources: [a.yaml]", "b/x": "", "c/kustomization.yaml": "bases: [../b]"}
    )

    for directory, path in (("app", "app/kustomization.yaml"), ("b", "b"), ("c", "b"), ("none", "none")):
        with pytest.raises(kustomize.MissingFile) as caught:
            found(tmp_path, directory)
        assert caught.value.path == tmp_path / path
    make(tmp_path, {"b/kustomization.yaml": "", "b/kustomization.yml": ""})
    with pytest.raises(kustomize.BadYaml, match="both"):
        found(tmp_path, "b")


@pytest.mark.parametrize("base", [".", "..", "../other", "sub/../../app"])
def test_circles(tmp_path: Path, base: str) -> None:
    make(
        tmp_path,
        {
            "kustomization.yaml": "resources: [app]",
            "app/kustomization.yaml": f"resources: [{base}]",
            "other/kustomization.yaml": "resources: [../app]",
        },
    )

    with pytest.raises(kustomize.KustomizeCycle) as caught:
        found(tmp_path)

    assert caught.value.path is not None


def test_one_base_by_two_ways_is_no_circle(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "app/kustomization.yaml": "resources: [../a, ../b]",
            "a/kustomization.yaml": "resources: [../base]",
            "b/kustomization.yaml": "resources: [../base]",
            "base/kustomization.yaml": "namePrefix: x",
        },
    )

    assert len(found(tmp_path)) == 4


def test_too_much(tmp_path: Path) -> None:
    chain = {f"{n}/kustomization.yaml": f"resources: [../{n + 1}]" for n in range(50)}
    make(tmp_path / "deep", chain)
    with pytest.raises(kustomize.KustomizeTooLarge, match="deeper"):
        found(tmp_path / "deep", "0")
    # Two at each level, each of which uses both of the next: a million ways through forty directories.
    ways = {
        f"{n}{side}/kustomization.yaml": f"resources: [../{n + 1}a, ../{n + 1}b]" for n in range(20) for side in "ab"
    }
    make(
        tmp_path / "wide",
        {**ways, "20a/kustomization.yaml": "namePrefix: x", "20b/kustomization.yaml": "namePrefix: x"},
    )
    with pytest.raises(kustomize.KustomizeTooLarge, match="times"):
        found(tmp_path / "wide", "0a")
    make(tmp_path, {"app/kustomization.yaml": "resources: [a, b, c]", "app/a": "x" * 9, "app/b": "x", "app/c": "x"})
    for limits in (path_safety.TreeLimits(files=3), path_safety.TreeLimits(size=20)):
        with pytest.raises(kustomize.KustomizeTooLarge):
            found(tmp_path, limits=limits)
    (tmp_path / "app" / "kustomization.yaml").write_text("#" * (5 << 20))
    with pytest.raises(kustomize.KustomizeTooLarge, match="MiB"):
        found(tmp_path)


def test_what_is_no_file(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "resources: [pipe]"})
    os.mkfifo(tmp_path / "app" / "pipe")

    with pytest.raises(kustomize.BadYaml, match="not a file"):
        found(tmp_path)


CHART = {"app/charts/c/Chart.yaml": "name: c", "app/values.yaml": "a: 1"}


@pytest.mark.parametrize(
    "text",
    [
        "helmCharts: [{name: c, releaseName: r, valuesFile: values.yaml, valuesInline: {a: https://x}}]",
        "helmGlobals: {chartHome: ./charts}\nhelmCharts: [{name: c}]",
        "generators: ['{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: x}, name: c}']",
    ],
)
def test_charts_that_are_there(tmp_path: Path, text: str) -> None:
    make(tmp_path, {"app/kustomization.yaml": text, **CHART})

    found(tmp_path, allow_helm=True)
    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path)
    assert caught.value.reason == "helm"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("helmCharts: [{name: d}]", "remote"),
        ("helmCharts: [{name: c, version: 1.0.0, repo: https://h}]", "remote"),
        ("helmGlobals: {configHome: x}\nhelmCharts: [{name: c}]", "exec"),
        ("helmCharts: [{name: '--post-renderer=x'}]", "helm"),
        ("helmCharts: [{name: ../../x}]", "helm"),
        ("helmCharts: [{name: c, releaseName: --post-renderer=x}]", "helm"),
        ("helmCharts: [{name: c, version: --post-renderer=x}]", "helm"),
        ("helmCharts: [{name: c, namespace: --x}]", "helm"),
        ("helmCharts: [{name: c, additionalValuesFiles: x}]", "helm"),
        ("helmCharts: [{name: c, repo: [x]}]", "helm"),
        ("helmCharts: [{version: '1'}]", "helm"),
        ("helmChartInflationGenerator: [{chartName: c, helmBin: x}]", "helm"),
    ],
)
def test_charts_that_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    make(tmp_path, {"app/kustomization.yaml": text, **CHART})

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path, allow_helm=True)

    assert caught.value.reason == reason


def test_a_chart_with_a_link_out(tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "helmCharts: [{name: c}]", **CHART, "app/charts/c/x": "-> /etc/passwd"})

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        found(tmp_path, allow_helm=True)

    assert caught.value.reason == "outside"


@pytest.mark.parametrize(
    ("url", "is_harmless"),
    [
        ("https://github.com/x/y//z?ref=v1.0.0", True),
        ("github.com/x/y?ref=feature/a", True),
        ("https://example.org/x.yaml", True),
        ("https://example.org/x?ref=--upload-pack=touch", False),
        ("https://example.org/x?timeout=1&ref=-x", False),
        ("https://example.org/x?other=1", False),
        ("https://u:p@example.org/x", False),
        ("http://example.org/x", False),
        ("ssh://git@example.org/x", False),
        ("git@example.org:x", False),
        ("file:///etc", False),
        ("git::https://example.org/x", False),
    ],
)
def test_what_may_be_fetched_where_fetching_is_allowed(tmp_path: Path, url: str, is_harmless: bool) -> None:
    make(tmp_path, {"app/kustomization.yaml": f"resources: ['{url}']"})

    if is_harmless:
        assert found(tmp_path, allow_remote=True) == ["app/kustomization.yaml"]
    else:
        with pytest.raises(kustomize.KustomizeForbidden):
            found(tmp_path, allow_remote=True)


@given(
    st.text(alphabet="abhtpsgiucom:/@.?=-~\\ \n%", max_size=25)
    | st.sampled_from(REMOTE).flatmap(lambda u: st.text(max_size=3).map(lambda t: u + t))
)
def test_a_strange_path_is_refused_or_in_the_tree(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("root")
    make(root, {"app/kustomization.yaml": "namePrefix: x"})
    scanner = build_scan._Scan(root / "app", kustomize.BuildRules(within=root, beyond_directory=True))

    try:
        entries = list(scanner.file_or_directory(text, root / "app", root / "app" / "kustomization.yaml"))
    except (kustomize.KustomizeError, errors.Refused):
        return
    for entry in entries:
        path = entry if isinstance(entry, Path) else entry.path
        assert path.is_relative_to(root)
        assert path.exists()
