"""``firstlight audit`` as a user types it, where neither Git nor a cluster is needed."""

import asyncio
import dataclasses
import errno
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.audit import audit as audit_room
from firstlight.commands.audit import audit_request, live_objects, rule_remedy, text, watch
from firstlight.commands.audit.audit import AuditMeans
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.commands.audit.interview import AnswerForm, Interview
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.model.cluster import Cluster
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import Audit, EditVerb, FileEdit, Finding
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import remedy_scenes, repos
from tests.unit.commands.audit.test_mesh_remedy import APART

RULE = ("--rule", repos.RULE)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    return repos.make(tmp_path / "repo")


def audit(repo: Path, *arguments: str) -> int:
    return main.run(["audit", *arguments, "--repo", str(repo)])


def test_findings_at_the_limit_are_exit_code_2(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE) == 2
    out = capsys.readouterr().out
    assert "web-scaled" in out
    assert "clusters/home/web.yaml:7" in out
    assert "web has 1 replica" in out

    assert audit(repo, *RULE, "--fail-on", "critical") == 0


def test_as_json(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE, "-o", "json") == 2

    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["severity"], found["places"][0]["path"], found["places"][0]["line"]) == (
        "web-scaled", "error", "clusters/home/web.yaml", 7,
    )  # fmt: skip


def test_the_second_time_the_answer_is_known_and_the_same(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit(repo, *RULE)
    first = capsys.readouterr().out
    monkeypatch.setattr(audit_room, "audit", lambda *_, **__: pytest.fail("it is looked at again"))

    assert audit(repo, *RULE) == 2
    assert capsys.readouterr().out == first
    with pytest.raises(pytest.fail.Exception):
        audit(repo, *RULE, "--no-cache")


def test_a_patch_is_printed_and_nothing_is_written(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE, "--patch") == 2

    assert capsys.readouterr().out == (
        "--- a/clusters/home/web.yaml\n+++ b/clusters/home/web.yaml\n@@ -4,4 +4,4 @@\n"
        "   name: web\n   namespace: default\n spec:\n-  replicas: 1   # for now\n+  replicas: 2   # for now\n"
    )
    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB


def test_a_patch_of_nothing_is_empty_and_says_so(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "clusters/home/web.yaml").unlink()

    assert audit(repo, *RULE, "--patch") == 0

    printed = capsys.readouterr()
    assert (printed.out, "nothing of what is found" in printed.err) == ("", True)


def test_a_fix_where_nobody_could_take_it_back_is_refused(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE, "--fix") == 3

    assert "no commit has clusters/home/web.yaml" in capsys.readouterr().err
    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB


def test_a_fix_is_written_shown_and_what_is_left_is_said(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE, "--fix", "--allow-dirty") == 0

    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB.replace("replicas: 1", "replicas: 2")
    printed = capsys.readouterr()
    assert "+  replicas: 2   # for now" in printed.out
    assert "1 finding fixed in 1 file;" in printed.err


def test_a_fix_leaves_an_answer_for_programs_whole(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, *RULE, "--fix", "--allow-dirty", "-o", "json") == 0

    printed = capsys.readouterr()
    assert json.loads(printed.out)["findings"] == []
    assert "+  replicas: 2   # for now" in printed.err


def test_a_baseline_is_written_with_a_reason_and_an_end(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--write-baseline", "--reason", "it is known", "--until", "2099-01-31")

    assert audit(repo, *RULE, *options) == 0
    assert "1 finding is excused until 2099-01-31" in capsys.readouterr().out
    assert audit(repo, *RULE) == 0

    elsewhere = repo.parent / "baseline.yaml"
    (repo / "firstlight-rules/audit/baseline.yaml").rename(elsewhere)
    assert audit(repo, *RULE) == 2
    assert audit(repo, *RULE, "--baseline", str(elsewhere)) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--fix", "--patch"), "--fix and --patch cannot be asked together"),
        (("--watch", "--live"), "--watch looks at files alone"),
        (("--context", "x"), "are for --live"),
        (("--offline",), "--offline is for --render"),
        (("--allow-dirty",), "--allow-dirty is for --fix"),
        (("--write-baseline", "--until", "2099-01-31"), "needs a reason"),
        (("--write-baseline", "--reason", "x"), "needs an end"),
        (("--write-baseline", "--reason", "x", "--until", "2001-01-31"), "2001-01-31 has passed"),
        (("--until", "2099-01-31"), "are for --write-baseline"),
        (("--rule", "web-scale"), "there is no rule web-scale"),
        (("--cluster", "hime"), "there is no cluster hime"),
        (("--explain", "x", "--test"), "cannot be asked together"),
        (("--explain", "x", "-o", "sarif"), "a rule is not shown as sarif"),
        (("--patch", "-o", "markdown"), "--patch prints a patch"),
        (("--watch", "--out", "x"), "--watch prints as it goes"),
        (("--remedy", "web-scaled", "-o", "html"), "--remedy prints steps"),
        (("--remedy", "web-scaled", "--out", "x"), "--remedy prints steps"),
        (("--rule", "web-scaled", "--out", "nowhere/x.json"), "nowhere/x.json cannot be written: No such file"),
        (("--baseline", "nowhere.yaml"), "nowhere.yaml cannot be read"),
        (("--remedy", "nonsense"), "there is no remedy for nonsense"),
        (("--until", "soon"), "soon"),
    ],
)
def test_what_cannot_be_meant_is_exit_code_64(
    repo: Path, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(repo, *arguments) == 64
    assert says in capsys.readouterr().err


def test_a_teams_rule_that_is_wrong_is_said_with_its_place(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = repo / "firstlight-rules/audit/ours.yaml"
    rules.write_text(repos.RULES.replace("severity: error", "severity: bad"))

    assert audit(repo) == 1
    assert "firstlight-rules/audit/ours.yaml:5" in capsys.readouterr().err


def test_rules_are_explained_one_or_all(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, "--explain", repos.RULE) == 0
    assert "one is none" in capsys.readouterr().out
    assert audit(repo, "--explain") == 0
    listed = capsys.readouterr().out
    assert repos.RULE in listed
    assert "cluster-id-shared" in listed
    assert audit(repo, "--explain", "-o", "json") == 0
    assert repos.RULE in [each["id"] for each in json.loads(capsys.readouterr().out)["rules"]]


def test_a_teams_tests(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(repo, "--test") == 0
    assert "there are no tests" in capsys.readouterr().out

    file = repo / "firstlight-rules/audit/ours.test.yaml"
    file.write_text("tests: [{name: nothing, rule: web-scaled, files: {a.yaml: 'a: 1'}}]\n")
    assert audit(repo, "--test") == 0
    file.write_text("tests: [{name: nothing, rule: web-scaled, files: {}, finds: [{place: a.yaml}]}]\n")
    assert audit(repo, "--test") == 1
    assert "not found: a.yaml" in capsys.readouterr().out


def test_the_answer_goes_to_a_file_whose_name_says_the_form(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = repo.parent / "audit.json"

    assert audit(repo, *RULE, "--out", str(out)) == 2

    assert json.loads(out.read_text())["findings"][0]["code"] == repos.RULE
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.sarif", "sarif"), ("a.md", "markdown"), ("a.html", "html"), ("a.txt", "text"), ("a", "text")],
)
def test_forms_by_name(name: str, form: str) -> None:
    assert audit_request.typed(form=None, out=Path(name), until=None).form == form
    assert audit_request.typed(form="json", out=Path(name), until=None).form == "json"


@pytest.mark.parametrize("form", ["sarif", "markdown", "html"])
def test_other_forms(repo: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(f"firstlight.commands.audit.{ {'html': 'page'}.get(form, form) }")

    assert audit(repo, *RULE, "-o", form) == 2
    assert repos.RULE in capsys.readouterr().out


def test_excused_findings_are_shown_where_everything_is_wanted(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = repo / "clusters/home/web.yaml"
    web.write_text(repos.WEB.replace("# for now", f"# firstlight: ignore {repos.RULE} until 2099-11-01: for now"))

    assert audit(repo, *RULE) == 0
    assert "1 excused" in capsys.readouterr().out
    assert audit(repo, *RULE, "--everything") == 0
    assert "until 2099-11-01" in capsys.readouterr().out


def test_watching_prints_all_first_and_then_what_is_new_and_gone(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def looks(
        tree: WorkTree, wishes: AuditRequest, means: AuditMeans, **_: object
    ) -> AsyncGenerator[watch.Look, None]:
        first = await audit_room.audit(tree, wishes, means)
        yield first
        yield errors.ConfigError("it is wrong", path="ours.yaml")
        yield dataclasses.replace(first, audit=dataclasses.replace(first.audit, findings=()))
        raise asyncio.CancelledError

    monkeypatch.setattr(watch, "watch", looks)

    assert audit(repo, *RULE, "--watch") == 0
    printed = capsys.readouterr()
    assert "web has 1 replica" in printed.out
    assert "gone   web-scaled" in printed.out
    assert printed.out.rstrip().splitlines()[-1].startswith("nothing found")
    assert "error: ours.yaml: it is wrong" in printed.err
    assert "no longer watching" in printed.err

    assert audit(repo, *RULE, "--watch", "-o", "json") == 0
    lines = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert [len(each["findings"]) for each in lines] == [1, 0]


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: other
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts:
  - {name: admin@infra, context: {cluster: c, user: u}}
  - {name: other, context: {cluster: c, user: u}}
"""


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    clusters = tuple(Cluster(name=name, place=Place("x")) for name in ("infra", "apps"))
    return Platform(name="p", root=tmp_path, engine=None, clusters=clusters, components=())


def test_clusters_are_reached_by_contexts_of_their_names(platform: Platform) -> None:
    found = live_objects.ways(platform, (), kubeconfig=None, context="")

    assert list(found.openers) == ["infra"]
    assert list(found.missing) == ["apps"]
    assert "no context apps or admin@apps" in found.missing["apps"]


def test_one_cluster_is_reached_by_the_current_context(platform: Platform) -> None:
    found = live_objects.ways(platform, ["apps"], kubeconfig=None, context="")

    assert list(found.openers) == ["apps"]


def test_one_context_is_not_taken_for_several_clusters(platform: Platform) -> None:
    with pytest.raises(errors.UsageError, match="one context is one cluster"):
        live_objects.ways(platform, (), kubeconfig=None, context="other")
    assert list(live_objects.ways(platform, ["apps"], kubeconfig=None, context="other").openers) == ["apps"]


def test_a_cluster_that_does_not_answer_is_said_and_is_no_success(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    options = ("--live", "--kubeconfig", str(tmp_path / "kubeconfig"), "--context", "other")

    assert audit(repo, "--rule", "cluster-id-shared", *options) == 1
    assert "cluster home" in capsys.readouterr().out


def test_an_audit_without_findings_says_so(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing found" in text.counts(Audit(repo="x", clusters=(), findings=()))


def remedy(scene: PlatformView, findings: Sequence[Finding], _: Interview) -> Remedy:
    edit = FileEdit(path="clusters/home/web.yaml", verb=EditVerb.SET, steps=("spec", "replicas"), value=3)
    step = ProcedureStep(side=None, text="merge it", command="git merge")
    refused = () if "scaled" in findings[0].code else ("it is too late",)
    return Remedy(rule=repos.RULE, title="Three of them", steps=(step,), edits=(edit,), refused=refused)


def test_a_remedy_is_steps_and_a_patch_and_writes_nothing(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_remedy, "known_remedies", lambda: {repos.RULE: remedy})

    assert audit(repo, "--remedy", repos.RULE) == 2
    out = capsys.readouterr().out
    assert out.startswith("Three of them\n")
    assert "git merge   merge it" in out
    assert "+  replicas: 3   # for now" in out
    assert audit(repo, "--remedy", repos.RULE, "-o", "json") == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["title"], found["steps"][0]["command"]) == ("Three of them", "git merge")
    assert "+  replicas: 3" in found["patch"]
    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB


def test_a_remedy_that_is_refused_is_exit_code_3(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "firstlight-rules/audit/ours.yaml").write_text(repos.RULES.replace("web-scaled", "web-late"))
    monkeypatch.setattr(rule_remedy, "known_remedies", lambda: {"web-late": remedy})

    assert audit(repo, "--remedy", "web-late") == 3
    assert "it is too late" in capsys.readouterr().out


def test_an_answer_that_nobody_asked_for_is_an_error(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asking(scene: PlatformView, findings: Sequence[Finding], interview: Interview) -> Remedy:
        return Remedy(rule=repos.RULE, title=interview.ask("pool", "Which pool?", AnswerForm.NAME) or "nobody said")

    monkeypatch.setattr(rule_remedy, "known_remedies", lambda: {repos.RULE: asking})

    assert audit(repo, "--remedy", repos.RULE, "-o", "json") == 2
    assert json.loads(capsys.readouterr().out)["answers"] == [
        {"key": "pool", "form": "NAME", "question": "Which pool?"}
    ]
    assert audit(repo, "--remedy", repos.RULE, "--answer", "pool=fast") == 2
    assert capsys.readouterr().out == "fast\n"
    assert audit(repo, "--remedy", repos.RULE, "--answer", "disk=sda") == 64
    assert "the remedy does not ask for disk" in capsys.readouterr().err
    assert audit(repo, "--answer", "disk=sda") == 64
    assert audit(repo, "--remedy", repos.RULE, "--answer", "disk") == 64


@pytest.mark.parametrize("rule", ["mesh-by-hand", "mesh-own-authorities"])
def test_the_patch_of_a_mesh_is_not_refused_because_of_what_it_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    remedy_scenes.made(tmp_path, {**APART, **remedy_scenes.STORES})

    assert audit(tmp_path, "--remedy", rule) in (0, 2)
    assert "+    - secretKey: ca.crt" in capsys.readouterr().out


def test_a_remedy_where_nothing_is_found(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "clusters/home/web.yaml").unlink()
    monkeypatch.setattr(rule_remedy, "known_remedies", lambda: {repos.RULE: remedy})

    assert audit(repo, "--remedy", repos.RULE) == 0
    assert "finds nothing here" in capsys.readouterr().out
    assert audit(repo, "--remedy", repos.RULE, "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["steps"] == []


@pytest.mark.parametrize("arguments", [(), ("--no-cache",), ("-o", "json"), ("--remedy", "mesh-by-hand")])
def test_the_wrong_directory_is_no_good_news(
    tmp_path: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "docs").mkdir()

    for _ in range(2):  # the answer that is kept says the same
        assert audit(tmp_path / "docs", *arguments) == 1
        said = capsys.readouterr()
        assert "nothing is deployed from here; name the top of a GitOps repo with --repo" in " ".join(
            (said.out + said.err).split()
        )


def test_an_answer_is_not_kept_if_files_change_while_it_is_made(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    web = repo / "clusters/home/web.yaml"
    real = audit_room.audit

    async def slow(tree: WorkTree, *given: Any, **more: Any) -> audit_room.AuditResult:
        web.write_text(repos.WEB.replace("replicas: 1", "replicas: 2"))
        return await real(WorkTree(tree.root), *given, **more)

    monkeypatch.setattr(audit_room, "audit", slow)
    assert audit(repo, *RULE) == 0
    monkeypatch.setattr(audit_room, "audit", real)
    web.write_text(repos.WEB)

    assert audit(repo, *RULE) == 2


def test_a_patch_says_nothing_to_a_terminal(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "clusters/home/web.yaml").write_text(repos.WEB.replace("# for now", "# for \u202e now"))

    audit(repo, *RULE, "--patch")
    assert "\u202e" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    audit(repo, *RULE, "--patch")
    out = capsys.readouterr().out
    assert "\u202e" not in out
    assert "\\u202e now" in out


def test_a_fix_that_cannot_be_written_is_refused_whole(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(repo / "nowhere"))

    assert audit(repo, *RULE, "--fix", "--allow-dirty") == 3
    assert "nothing was written: Read-only file system" in capsys.readouterr().err
    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB
    assert sorted(each.name for each in (repo / "clusters/home").iterdir()) == ["flux-system", "web.yaml"]
