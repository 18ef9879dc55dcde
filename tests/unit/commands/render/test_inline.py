"""``firstlight render --inline``: which file, which objects, which exit code."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from firstlight import errors
from firstlight.commands.render import command as render_command
from firstlight.commands.render import inline as render_inline
from firstlight.commands.render import render as render_room
from firstlight.commands.render.inline import InlineOptions
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import ChartSource, DirectorySource, Embedded
from firstlight.repo import platform_reader

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "platform"

PATCH = """\
# ours
cluster:
  inlineManifests:
    - name: cni
      contents: |
        apiVersion: v1
        kind: ServiceAccount
        metadata:
          name: agent
          namespace: kube-system
"""
TEMPLATE = """\
kind: Cluster
name: home
kubernetes: {version: v1.35.0}
talos: {version: v1.13.0}
---
kind: ControlPlane
machines: [430d882a-51a8-48b3-ab00-2a2b3c4d5e6f]
patches:
  - {name: core, file: patches/core.yaml}
"""
ACCOUNT = Object(
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent", "namespace": "kube-system"}}
)
CONFIG = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "kube-system"}})
SECRET = Object({
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": "kube-system"},
    "data": {"k": "c2VjcmV0"},
})  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "patches").mkdir()
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    (tmp_path / "patches" / "core.yaml").write_text(PATCH)
    return tmp_path


def inline_origin(path: str = "patches/core.yaml") -> Origin:
    return Origin(
        form=SourceForm.INLINE_MANIFEST, side=Side.BOOTSTRAP, place=Place(path, 4), name="cni", cluster="home",
        source=Embedded(place=Place(path, 2), steps=("cluster", "inlineManifests", 0, "contents")),
    )  # fmt: skip


def release(side: Side = Side.GITOPS) -> Origin:
    return Origin(
        form=SourceForm.HELM_RELEASE,
        side=side,
        place=Place("apps/cilium.yaml", 3),
        name="cilium",
        namespace="kube-system",
        cluster="home",
        source=ChartSource(name="cilium", namespace="kube-system"),
    )


def component(*origins: Origin) -> Component:
    return Component(
        name="cilium", cluster="home", phase=Phase.INLINE, side=Side.HYBRID, owner=Owner.GITOPS, why="",
        origins=origins or (inline_origin(), release()),
    )  # fmt: skip


def rendition(*objects: Object, side: Side = Side.GITOPS, **fields: Any) -> Rendition:
    return Rendition(component="cilium", cluster="home", side=side, objects=objects, **fields)


def run(repo: Path, *renditions: Rendition, one: Component | None = None, again: Any = None, **typed: Any) -> int:
    one = one or component()
    cluster = Cluster(name="home", place=Place("template.yaml", 1), talos="v1.13.0")
    secret = FoundationSecret(name="repo", namespace="argocd", data={}, place=Place("x"))
    platform = Platform(name="home", root=repo, engine=None, clusters=(cluster,), components=(one,), secrets=(secret,))
    return render_inline.run(platform, one, renditions, InlineOptions(**typed), again=again)


def written(repo: Path) -> str:
    return (repo / "patches" / "core.yaml").read_text()


def test_it_goes_where_it_already_is(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(repo, rendition(CONFIG, ACCOUNT))

    assert code == 0
    assert written(repo).startswith(PATCH)
    assert "kind: ConfigMap" in written(repo)
    out = capsys.readouterr().out
    assert out.startswith("patches/core.yaml   inline manifest cni of home   stale\n")
    assert "1 added" in out
    assert "written; look at it with git diff patches/core.yaml" in out


def test_a_new_file_has_no_diff_before_git_knows_it(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, rendition(CONFIG, ACCOUNT), file="patches/new.yaml") == 0

    out = capsys.readouterr().out
    assert "the file is new: git add patches/new.yaml, look at it with git diff --cached patches/new.yaml" in out
    assert "next: firstlight up home; it gives the machines the new config" in out


def written_at(repo: Path) -> tuple[int, int]:
    """Which file it is, and when it was written; that it was read changes neither."""
    found = (repo / "patches" / "core.yaml").stat()
    return found.st_ino, found.st_mtime_ns


def test_the_second_time_nothing_is_written(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(repo, rendition(CONFIG, ACCOUNT))
    before = written_at(repo)
    capsys.readouterr()

    assert run(repo, rendition(ACCOUNT, CONFIG)) == 0

    assert written_at(repo) == before
    assert "fresh" in capsys.readouterr().out


def test_check_says_that_it_is_stale(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(repo, rendition(CONFIG, ACCOUNT), check=True)

    assert code == 2
    assert written(repo) == PATCH
    out = capsys.readouterr().out
    assert "+kind: ConfigMap" in out
    assert "next: firstlight render cilium --inline patches/core.yaml" in out


def test_check_says_that_it_is_fresh(repo: Path) -> None:
    assert run(repo, rendition(ACCOUNT), check=True) == 0


def test_another_way_of_writing_is_not_stale(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = "metadata:\n          name: agent\n          namespace: kube-system\n"
    assert fields in PATCH
    other = PATCH.replace(fields, "metadata: {namespace: kube-system, name: agent}\n")
    (repo / "patches" / "core.yaml").write_text(other)

    assert run(repo, rendition(ACCOUNT), check=True) == 0

    assert "the same objects, written otherwise" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, rendition(CONFIG, ACCOUNT), dry_run=True) == 0

    assert written(repo) == PATCH
    assert "+kind: ConfigMap" in capsys.readouterr().out


@pytest.mark.parametrize("check", [True, False])
def test_a_secret_is_refused(repo: Path, capsys: pytest.CaptureFixture[str], check: bool) -> None:
    assert run(repo, rendition(ACCOUNT, SECRET), check=check) == 3

    assert written(repo) == PATCH
    out = capsys.readouterr().out
    assert "Secret kube-system/ca has real data (k)" in out
    assert "refused: 1 error above; nothing was written" in out
    assert "c2VjcmV0" not in out


def test_a_secret_that_is_named_gets_in(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, rendition(ACCOUNT, SECRET), allowed=["ca"]) == 0

    assert "k: c2VjcmV0" in written(repo)
    assert "c2VjcmV0" not in capsys.readouterr().out


def test_values_that_change_by_themselves(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Object({**SECRET.value, "data": {"k": "b3RoZXI="}})

    run(repo, rendition(ACCOUNT, SECRET), again=[rendition(ACCOUNT, other)], allowed=["ca"])

    assert "data.k of Secret kube-system/ca: every rendering makes it anew" in capsys.readouterr().out


def test_json(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(repo, rendition(CONFIG, ACCOUNT, SECRET), form="json")

    found = json.loads(capsys.readouterr().out)
    assert code == 3
    assert (found["state"], found["stale"], found["refused"], found["written"]) == ("stale", True, True, False)
    assert [(each["what"], each["kind"]) for each in found["changes"]] == [("added", "Secret"), ("added", "ConfigMap")]
    assert found["diagnostics"][0]["severity"] == "error"
    assert found["diagnostics"][0]["places"][0]["line"] > 0
    assert "c2VjcmV0" not in json.dumps(found)


def test_a_given_file_and_name(repo: Path) -> None:
    assert run(repo, rendition(ACCOUNT), file="patches/core.yaml", name="other") == 0

    assert written(repo).startswith(PATCH)
    assert "    - name: other\n" in written(repo)


def test_a_new_file(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, rendition(ACCOUNT), file="patches/new.yaml") == 0

    assert "- name: cilium\n" in (repo / "patches" / "new.yaml").read_text()
    assert "no cluster of this repo takes its machine config from this file" in capsys.readouterr().out


def test_what_is_not_inline_yet_needs_a_file(repo: Path) -> None:
    with pytest.raises(errors.UsageError, match="cilium is not inline yet"):
        run(repo, rendition(ACCOUNT), one=component(release()))


def test_several_files(repo: Path) -> None:
    with pytest.raises(errors.UsageError, match=r"in several files: patches/core.yaml, patches/b.yaml"):
        run(repo, rendition(ACCOUNT), one=component(inline_origin(), inline_origin("patches/b.yaml"), release()))


def test_the_inline_manifest_is_not_made_from_itself(repo: Path) -> None:
    with pytest.raises(errors.UsageError, match="only the inline manifest itself"):
        run(repo, rendition(ACCOUNT, side=Side.BOOTSTRAP), one=component(inline_origin()))


def test_what_git_says_wins_over_what_bootstrap_says(repo: Path) -> None:
    one = component(inline_origin(), release(Side.BOOTSTRAP), release())

    assert run(repo, rendition(CONFIG, side=Side.BOOTSTRAP), rendition(ACCOUNT), one=one, check=True) == 0


def test_a_component_that_stays_with_bootstrap(repo: Path) -> None:
    one = component(inline_origin(), release(Side.BOOTSTRAP))

    assert run(repo, rendition(ACCOUNT, side=Side.BOOTSTRAP), one=one, check=True) == 0


def test_what_cannot_be_rendered_is_not_embedded(repo: Path) -> None:
    broken = Diagnostic.error("?", "there is no such chart", at=Place("apps/cilium.yaml", 7), fix="Look again.")

    with pytest.raises(errors.Refused, match=r"cilium cannot be rendered: apps/cilium.yaml:7: there is no such chart"):
        run(repo, rendition(ACCOUNT, diagnostics=(broken,)))

    assert written(repo) == PATCH


def test_there_must_be_a_root_to_bring_along(repo: Path) -> None:
    with pytest.raises(errors.UsageError, match="home has no root Application"):
        run(repo, rendition(ACCOUNT), with_root=True)


def test_the_root_comes_along(repo: Path) -> None:
    definition = {
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "root", "namespace": "argocd"},
        "spec": {"project": "default"},
    }  # fmt: skip
    root = Origin(
        form=SourceForm.APPLICATION, side=Side.GITOPS, place=Place("root.yaml", 1), name="root", namespace="argocd",
        cluster="home", source=DirectorySource(path="apps"), definition=definition,
    )  # fmt: skip

    assert run(repo, rendition(ACCOUNT), one=component(inline_origin(), release(), root), with_root=True) == 3
    namespace = Object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}})
    one = component(inline_origin(), release(), root)
    assert run(repo, rendition(ACCOUNT, namespace), one=one, with_root=True) == 0

    assert "kind: Application\n" in written(repo)


@pytest.mark.parametrize(
    ("arguments", "inline"),
    [([], None), (["--inline"], ""), (["--inline", "a.yaml"], "a.yaml"), (["--inline", "--check"], "")],
)
def test_the_options(arguments: list[str], inline: str | None) -> None:
    seen: dict[str, Any] = {}

    @click.command()
    @render_command.inline_options
    def render(**given: Any) -> None:
        seen.update(given)

    result = CliRunner().invoke(render, [*arguments, "--allow-secret", "a", "--allow-secret", "b"])

    assert result.exit_code == 0, result.output
    assert seen["inline"] == inline
    assert seen["allow_secret"] == ("a", "b")
    assert set(seen) == {
        "inline", "name", "check", "dry_run", "allow_secret", "create_namespace", "with_root", "as_omni_manifest",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("repo_name", "asked", "meant"),
    [
        ("made-from-clusters", "argocd", ("rack-a", "argocd")),  # It is in rack-b as well, and not inline there.
        ("inline-by-directories", "cilium", ("home", "kube-system-cilium")),  # The Application has another name.
    ],
)
def test_what_is_inline_already_is_meant(repo_name: str, asked: str, meant: tuple[str, str]) -> None:
    platform = platform_reader.read(SCENARIOS / repo_name / "repo")

    found = render_room.embedded(platform, asked, "")

    assert (found.cluster, found.name) == meant


def test_a_chart_without_templates_is_named(tmp_path: Path) -> None:
    (tmp_path / "charts" / "cilium").mkdir(parents=True)
    (tmp_path / "charts" / "cilium" / "Chart.yaml").write_text("apiVersion: v2\nname: cilium\nversion: 1.0.0\n")
    chart = dataclasses.replace(release(), source=ChartSource(name="charts/cilium"))

    with pytest.raises(errors.Refused) as refused:
        run(tmp_path, rendition(), one=component(inline_origin(), chart))

    assert refused.value.hint.startswith("charts/cilium/Chart.yaml has neither templates nor dependencies.")


NOTHING = {
    "name": "", "check": False, "dry_run": False, "allow_secret": (), "create_namespace": False, "with_root": False,
    "as_omni_manifest": False,
}  # fmt: skip


def test_without_inline_there_is_nothing_to_do() -> None:
    assert render_inline.typed("yaml", None, **NOTHING) is None


@pytest.mark.parametrize("name", NOTHING)
def test_the_others_are_for_inline_only(name: str) -> None:
    with pytest.raises(errors.UsageError, match=f"--{name.replace('_', '-')} is for --inline"):
        render_inline.typed("text", None, **(NOTHING | {name: "x"}))


def test_yaml_is_not_printed_with_inline() -> None:
    with pytest.raises(errors.UsageError, match="--output yaml cannot be meant"):
        render_inline.typed("yaml", "", **NOTHING)


def test_everything_that_is_typed_arrives() -> None:
    given = {
        "name": "n", "check": True, "dry_run": True, "allow_secret": ("s",), "create_namespace": True,
        "with_root": True, "as_omni_manifest": True,
    }  # fmt: skip

    assert render_inline.typed("json", "f.yaml", **given) == InlineOptions(
        file="f.yaml", name="n", check=True, dry_run=True, allowed=("s",), create_namespaces=True, with_root=True,
        to_omni=True, form="json",
    )  # fmt: skip


def test_a_second_rendering_that_failed_tells_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = rendition(diagnostics=(Diagnostic.error("?", "offline", at=Place("a")),))

    assert run(repo, rendition(ACCOUNT), again=[broken]) == 0

    assert "anew" not in capsys.readouterr().out
