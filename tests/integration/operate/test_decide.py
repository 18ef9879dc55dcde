"""``firstlight decide`` on Git repos: what differs is seen as Git sees it, and nothing of the user's is touched."""

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import main
from firstlight.clients import kube
from firstlight.lab.lab import Lab
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.place import Place
from firstlight.operate.deciding import sight
from firstlight.tools import install

PLATFORM = Path(__file__).parents[2] / "scenarios/platform/two-clusters/repo"
PEERS = "kubernetes/bgp/peers.yaml"
HELMFILE = "bootstrap/helmfile.yaml"
TALCONFIG = "talos/infra/talconfig.yaml"
PERSON = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def git(repo: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *PERSON, "-C", str(repo), *arguments], input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


def replace(repo: Path, path: str, old: str, new: str) -> None:
    text = (repo / path).read_text()
    assert old in text
    (repo / path).write_text(text.replace(old, new, 1))


def commit(repo: Path, message: str = "change") -> str:
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", message)
    return git(repo, "rev-parse", "HEAD").strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "repo"))
    git(made, "init", "--quiet", "--initial-branch=main")
    commit(made, "base")
    return made


class Decide:
    """The command, and what it printed."""

    def __init__(self, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._repo = repo
        self._capsys = capsys
        self.code = 0
        self.err = ""

    def __call__(self, *arguments: str, form: str = "json", render: bool = False) -> Any:
        rendering = ["--offline"] if render else ["--no-render"]
        self.code = main.run(["decide", *arguments, *rendering, "-o", form, "--repo", str(self._repo)])
        out, self.err = self._capsys.readouterr()
        return json.loads(out) if form == "json" else out


@pytest.fixture
def decide(repo: Path, capsys: pytest.CaptureFixture[str]) -> Decide:
    return Decide(repo, capsys)


def paths(found: Any) -> list[str]:
    return sorted({each["path"] for each in found["items"]})


def test_nothing_that_differs_has_no_side(repo: Path, decide: Decide) -> None:
    found = decide()

    assert decide.code == 0
    assert (found["side"], found["changed"], found["title"]) == ("none", False, "work tree against HEAD")
    assert decide(form="text").startswith("no change: work tree against HEAD\n")


def test_comments_and_order_are_no_change(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "kind:", "# a word\nkind:")

    assert decide()["changed"] is False


def test_the_work_tree_with_files_that_nobody_added_so_far(repo: Path, decide: Decide) -> None:
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    (repo / "README.md").write_text("words\n")
    (repo / ".firstlight").mkdir()
    (repo / ".firstlight/state.yaml").write_text("ours\n")

    found = decide()

    assert paths(found) == ["README.md", TALCONFIG]
    assert (found["side"], found["risk"], found["approval"]) == ("bootstrap", "critical", "team")


def test_staged_changes_come_first_as_they_are_staged(repo: Path, decide: Decide) -> None:
    replace(repo, TALCONFIG, "v1.11.2", "v1.11.3")
    git(repo, "add", TALCONFIG)
    replace(repo, TALCONFIG, "v1.11.3", "v1.11.9")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide()

    assert found["title"] == "staged changes"
    assert paths(found) == [TALCONFIG]
    assert [each["after"] for each in found["items"][0]["fields"]] == ["v1.11.3"]
    assert any("not staged" in each and PEERS in each for each in found["doubts"])
    assert decide("--staged") == found


def test_a_branch_is_compared_with_where_it_left(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    commit(repo)
    git(repo, "switch", "--quiet", "main")
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...work")
    assert paths(found) == [PEERS]
    assert found["side"] == "gitops"
    commands = [each["command"] for each in found["procedure"]]
    assert "firstlight decide --diff main...work --check pre" in commands
    assert not any("--staged" in each for each in commands)
    assert paths(decide("--diff", "main..work")) == [PEERS, TALCONFIG]
    assert paths(decide("--diff", "work")) == [PEERS, TALCONFIG]
    assert decide("--diff", "main...HEAD")["changed"] is False


def test_a_branch_that_is_not_checked_out_is_read_as_it_is(repo: Path, decide: Decide) -> None:
    """The platform that tells what a file belongs to is the branch's, not that of the disk."""
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    git(repo, "mv", PEERS, "kubernetes/bgp/neighbours.yaml")
    commit(repo)
    git(repo, "switch", "--quiet", "main")

    found = decide("--diff", "main...work")

    assert paths(found) == ["kubernetes/bgp/neighbours.yaml"]
    assert {each["component"] for item in found["items"] for each in item["components"]} == {"cilium-bgp"}


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_patch_is_judged_and_nothing_is_touched(
    way: str, repo: Path, tmp_path: Path, decide: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    patch = tmp_path / "change.patch"
    patch.write_text(git(repo, "diff"))
    git(repo, "checkout", "--quiet", ".")
    index = (repo / ".git/index").read_bytes()
    with patch.open() as file:
        if way == "stdin":
            monkeypatch.setattr(sys, "stdin", file)
        found = decide("--patch", str(patch) if way == "file" else "-")
        monkeypatch.undo()

    assert (found["side"], found["risk"]) == ("bootstrap", "critical")
    assert git(repo, "status", "--porcelain") == ""
    assert (repo / ".git/index").read_bytes() == index


def test_a_patch_that_does_not_fit_is_a_usage_error(repo: Path, tmp_path: Path, decide: Decide) -> None:
    (tmp_path / "a.patch").write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")

    assert "does not fit" in decide("--patch", str(tmp_path / "a.patch"))["error"]["message"]
    assert decide.code == 64
    (tmp_path / "a.patch").write_text("")
    assert decide("--patch", str(tmp_path / "a.patch"))["changed"] is False


def test_files_count_with_their_change_or_as_if_all_in_them_changed(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    (repo / HELMFILE).unlink()

    found = decide("--files", PEERS, TALCONFIG, HELMFILE)

    assert found["title"] == "3 files of the work tree against HEAD, 1 of them as if all in them changed"
    fields = {each["path"]: [field["path"] for field in each["fields"]] for each in found["items"]}
    assert fields[PEERS] == ["spec.nodeSelector.matchLabels.rack"]
    assert len(fields[TALCONFIG]) > 5
    assert {each["verb"] for each in found["items"] if each["path"] == HELMFILE} == {"removed"}


def test_a_file_that_is_misspelt_is_a_usage_error(repo: Path, decide: Decide) -> None:
    found = decide("--files", "kubernetes/bgp/peer.yaml")

    assert decide.code == 64
    assert PEERS in found["error"]["hint"]


def test_revisions_that_are_none_are_usage_errors(repo: Path, decide: Decide) -> None:
    for revisions in ("nowhere...HEAD", "nowhere", "main..nowhere", "--output=x"):
        decide("--diff", revisions, form="text")
        assert decide.code == 64
        assert "Traceback" not in decide.err


def test_a_repo_without_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "new"))
    git(made, "init", "--quiet", "--initial-branch=main")
    decide = Decide(made, capsys)

    assert TALCONFIG in paths(decide())
    git(made, "add", "--all")
    assert decide()["title"] == "staged changes"
    assert TALCONFIG in paths(decide())


def test_a_repository_without_a_work_tree(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(repo, "clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    decide = Decide(tmp_path / "bare.git", capsys)

    assert "has no work tree" in decide()["error"]["message"]
    assert decide.code == 64


def test_a_submodule_is_nothing_that_can_be_read(repo: Path, decide: Decide) -> None:
    entry = f"160000,{git(repo, 'rev-parse', 'HEAD').strip()},kubernetes/apps/other"
    git(repo, "update-index", "--add", "--cacheinfo", entry)

    found = decide("--staged")

    assert paths(found) == ["kubernetes/apps/other"]
    assert found["risk"] != "low"
    assert any("submodule" in each for each in found["doubts"])


def test_a_directory_of_a_repo_can_be_one_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "all"
    shutil.copytree(PLATFORM, made / "home")
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "all")
    commit(made)
    replace(made, f"home/{PEERS}", "{}", "{matchLabels: {rack: a}}")
    (made / "other.yaml").write_text("a: 1\n")

    found = Decide(made / "home", capsys)()

    assert paths(found) == [PEERS]
    assert any("other.yaml is outside of home" in each for each in found["doubts"])


def test_a_change_does_not_choose_its_own_rules(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    (repo / "firstlight-rules").mkdir()
    rule = {"id": "cheap", "title": "t", "side": "none", "risk": "low", "why": "w", "when": [{"files": ["**"]}]}
    (repo / "firstlight-rules/ours.yaml").write_text(json.dumps({"rules": [rule]}))
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...HEAD")

    assert (found["side"], found["risk"]) == ("bootstrap", "critical")
    rulings = {each["path"]: {one["rule"] for one in each["rulings"]} for each in found["items"]}
    assert rulings["firstlight-rules/ours.yaml"] == {"decision-rules"}
    replace(repo, "README.md", "", "") if (repo / "README.md").exists() else (repo / "README.md").write_text("x\n")
    commit(repo)
    assert {one["rule"] for one in decide("--diff", "HEAD~1..HEAD")["items"][0]["rulings"]} == {"cheap"}


def test_rules_that_were_wrong_do_not_stand_in_the_way_of_their_repair(repo: Path, decide: Decide) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text("rules: [{id: 1}]\n")
    commit(repo)
    (repo / "firstlight-rules/ours.yaml").write_text("rules: []\n")

    found = decide()

    assert (decide.code, found["risk"]) == (0, "high")
    assert any("rules were wrong before this change" in each for each in found["doubts"])


def test_a_wrong_file_that_is_named_does_not_switch_off_the_rules_of_the_repo(repo: Path, decide: Decide) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text("rules: []\n")
    commit(repo)
    (repo / "firstlight-rules/more.yaml").write_text("rules: [{id: 1}]\n")

    found = decide("--rules", str(repo / "firstlight-rules/more.yaml"))

    assert decide.code == 1
    assert "more.yaml" in found["error"]["message"]


def test_what_is_rendered_shows_what_changes_in_the_cluster(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    commit(repo)

    for found in (decide(render=True), decide("--diff", "HEAD~1..HEAD", render=True)):
        rendered = [(each["component"], each["clusters"], each["title"]) for each in found["rendered"]]
        assert found["changed"] is bool(rendered)
    assert rendered == [
        ("cilium-bgp", ["apps"], "CiliumBGPClusterConfig peers"),
        ("cilium-bgp", ["infra"], "CiliumBGPClusterConfig peers"),
    ]


def test_a_pod_that_becomes_privileged_by_a_patch_is_seen_in_what_is_rendered(repo: Path, decide: Decide) -> None:
    """A JSON patch says nothing of what it is applied to; the rendered object does."""
    (repo / "kubernetes/bgp/agent.yaml").write_text(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: net}\nspec:\n"
        "  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n"
        "    spec: {containers: [{name: main, image: 'registry.example.org/agent:1', securityContext: {}}]}\n"
    )
    (repo / "kubernetes/bgp/kustomization.yaml").write_text("resources: [agent.yaml, peers.yaml, pool.yaml]\n")
    commit(repo)
    (repo / "kubernetes/bgp/kustomization.yaml").write_text(
        "resources: [agent.yaml, peers.yaml, pool.yaml]\npatches:\n- target: {kind: DaemonSet}\n  patch: |-\n"
        "    - {op: add, path: /spec/template/spec/containers/0/securityContext/privileged, value: true}\n"
    )

    found = decide(render=True)

    assert [each["title"] for each in found["rendered"]] == ["DaemonSet net/agent"] * 2
    assert found["risk"] in ("high", "critical")
    assert found["rendered"][0]["risk"] == found["risk"]


def test_a_value_that_makes_pods_privileged_is_seen_in_what_its_chart_renders(repo: Path, decide: Decide) -> None:
    """What the chart makes of a value, only its rendering tells."""
    files = {
        "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "charts/web/templates/web.yaml": (
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n"
            "      containers: [{name: main, image: 'registry.example.org/web:1', "
            "securityContext: {privileged: {{ .Values.fast }}}}]\n"
        ),
        "kubernetes/bgp/kustomization.yaml": "resources: [web.yaml]\n",
        "kubernetes/bgp/web.yaml": (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec:\n"
            "  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system,"
            " namespace: flux-system}}}\n  values: {fast: false}\n"
        ),
    }
    for path, content in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)
    commit(repo)
    replace(repo, "kubernetes/bgp/web.yaml", "fast: false", "fast: true")

    found = decide(render=True)

    assert {each["title"] for each in found["rendered"]} == {"StatefulSet web/web"}
    assert {each["component"] for each in found["rendered"]} == {"web"}
    graver = ["low", "medium", "high", "critical"].index
    assert graver(found["risk"]) > max(graver(each["risk"]) for each in found["items"])
    assert "web (rendered)" in decide(form="text", render=True)


def test_settings_that_are_substituted_change_what_they_are_substituted_in(repo: Path, decide: Decide) -> None:
    from_settings = "spec:\n  postBuild: {substituteFrom: [{kind: ConfigMap, name: cluster-settings}]}"
    replace(repo, "kubernetes/infrastructure/bgp.yaml", "spec:", from_settings)
    replace(repo, PEERS, "{}", '{matchLabels: {rack: "${RACK}"}}')
    for cluster in ("apps", "infra"):
        replace(repo, f"kubernetes/clusters/{cluster}/settings.yaml", "data:\n", "data:\n  RACK: a\n")
    commit(repo)
    replace(repo, "kubernetes/clusters/infra/settings.yaml", "RACK: a", "RACK: b")

    found = decide(render=True)

    assert paths(found) == ["kubernetes/clusters/infra/settings.yaml"]
    rendered = {each["title"]: each["clusters"] for each in found["rendered"]}
    assert rendered["CiliumBGPClusterConfig peers"] == ["infra"]


def test_what_cannot_be_rendered_is_a_doubt(repo: Path, decide: Decide) -> None:
    replace(repo, "kubernetes/infrastructure/cert-manager.yaml", "v1.19", "v1.20") if "v1.19" in (
        repo / "kubernetes/infrastructure/cert-manager.yaml"
    ).read_text() else replace(repo, HELMFILE, "1.18.2", "1.18.3")

    found = decide(render=True)

    assert decide.code == 0
    assert any("not rendered" in each for each in found["doubts"])


def test_nothing_secret_is_printed_in_any_form(repo: Path, decide: Decide) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: net}\nstringData: {password: hunter1}\n"
    (repo / "kubernetes/bgp/secret.yaml").write_text(secret)
    commit(repo)
    (repo / "kubernetes/bgp/secret.yaml").write_text(secret.replace("hunter1", "hunter2"))

    for form in ("text", "json", "markdown"):
        out = decide("--everything", form=form, render=True)
        said = json.dumps(out) if form == "json" else out
        assert "password" in said
        assert "hunter" not in said + decide.err


def test_names_of_files_are_obeyed_by_nobody(repo: Path, decide: Decide) -> None:
    for name in ("a\x1b[31m.yaml", "<img src=x>.md", "a|b`c.yaml", b"\xff\xfe.yaml".decode(errors="surrogateescape")):
        (repo / name).write_text("a: 1\n")

    found = decide()
    assert decide.code == 0
    assert len(found["items"]) == 4
    assert len([each for each in found["doubts"] if "a name that nobody can type" in each]) == 2
    assert "\x1b" not in decide(form="text")
    assert "<img" not in "".join(decide(form="markdown").split("```")[::2])


def test_an_approval_that_is_missing_is_exit_code_3(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...HEAD", "--approvals")

    assert decide.code == 3
    assert found["approved"]["given"] is False
    assert "approval   ✘" in decide("--diff", "main...HEAD", "--approvals", form="text")


def test_checks_that_fail_are_exit_code_2(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "kind: CiliumBGPClusterConfig", "kind: [")

    found = decide("--check", "pre")

    states = {each["id"]: each["state"] for each in found["checks"] if each["moment"] == "pre"}
    assert decide.code == 2
    assert states["syntax"] == "failed"
    assert {each["state"] for each in found["checks"] if each["moment"] == "post"} == {"open"}


async def looked(kubeconfig: Path) -> sight.Sight:
    async with kube.Client(kube.load(kubeconfig)) as client:
        return await sight.looked(client, Cluster(name="infra", place=Place("a"), engine=Engine.FLUX))


def test_a_cluster_that_does_not_answer_is_a_fact(repo: Path, tmp_path: Path, decide: Decide) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: x}}]\n"
    )
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide("--kubeconfig", str(kubeconfig), "--cluster", "infra")

    assert decide.code == 0
    assert any("the cluster does not work" in each for each in found["doubts"])
    seen = asyncio.run(looked(kubeconfig))
    assert (seen.is_reached, seen.operational) == (False, False)
    decide("--kubeconfig", str(kubeconfig), "--cluster", "nowhere")
    assert decide.code == 64


def test_a_cluster_that_is_looked_at(lab: Lab, repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide("--kubeconfig", str(lab.kubeconfig), "--cluster", "infra")

    assert decide.code == 0
    assert found["side"] == "gitops"
    seen = asyncio.run(looked(lab.kubeconfig))
    assert (seen.is_reached, seen.operational) == (True, True)
    # The lab's nodes are not the machines of the repo: it is said, and the answer is still given.
    assert any("does not work" in each and "infra-1" in each for each in found["doubts"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_is_told_to_end_leaves_nothing_behind(repo: Path, number: signal.Signals) -> None:
    """What was written down for rendering goes also where a program is slow and somebody has no patience."""
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    process = subprocess.Popen(
        [sys.executable, "-m", "firstlight", "decide", "--offline", "--repo", str(repo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the suite in the background has it ignored, and so has every child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not (made := held(process.pid)) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(number)
    process.communicate(timeout=60)

    assert made
    assert process.returncode in (0, 130 if number == signal.SIGINT else -number)
    assert not [each for each in made if each.exists()]


def held(pid: int) -> list[Path]:
    """The directories that a process has made for itself; others may have theirs at the same time."""
    with contextlib.suppress(OSError):
        opened = [each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()]
        return [each for each in opened if each.name.startswith("firstlight-decide-")]
    return []


def test_what_came_by_merges_is_taken_back_by_the_command_that_is_printed(repo: Path, decide: Decide) -> None:
    base = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    git(repo, "switch", "--quiet", "-c", "topic")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    commit(repo)
    git(repo, "switch", "--quiet", "main")
    git(repo, "merge", "--quiet", "--no-ff", "-m", "merge", "topic")
    merge = git(repo, "rev-parse", "HEAD").strip()

    def taken_back(revisions: str) -> str:
        (typed,) = [each["command"] for each in decide("--diff", revisions)["rollback"] if "git re" in each["command"]]
        words = typed.replace("git commit", "git commit --quiet -m back")
        subprocess.run(words, shell=True, cwd=repo, check=True, capture_output=True)
        assert git(repo, "diff", base, "HEAD") == ""
        git(repo, "reset", "--quiet", "--hard", "HEAD~1")
        return str(typed)

    assert taken_back("HEAD~1..HEAD") == f"git revert --no-edit -m 1 {merge[:12]}"
    (repo / "kubernetes/bgp/new.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n")
    commit(repo)
    assert taken_back("HEAD~2..HEAD").startswith(f"git restore --source={base[:12]} --staged --worktree -- ")


def test_talosctl_that_we_have_installed_validates_machine_configs(
    repo: Path, decide: Decide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(install.ensure(["talosctl"]))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    replace(repo, TALCONFIG, "v1.11.2", "v1.11.3")

    found = decide("--check", "pre")

    assert "talosctl accepts" in json.dumps(found["checks"])


def test_rules_are_not_hidden_behind_a_link(repo: Path, decide: Decide) -> None:
    """That they go behind one is seen; once they are, a change of them must not pass for another sort of change."""
    (repo / "docs/rules").mkdir(parents=True)
    (repo / "docs/rules/owners.yaml").write_text("people: [{name: Ada, email: ada@example.org, roles: [lead]}]\n")
    shutil.copytree(repo / "docs/rules", repo / "firstlight-rules")
    commit(repo)
    shutil.rmtree(repo / "firstlight-rules")
    (repo / "firstlight-rules").symlink_to("docs/rules")
    commit(repo)

    assert decide("--diff", "HEAD~1..HEAD")["risk"] == "high"

    replace(repo, "docs/rules/owners.yaml", "Ada", "Eve")
    commit(repo)
    assert decide("--diff", "HEAD~1..HEAD", form="text") == ""
    assert decide.code == 1
    assert "firstlight-rules: it is a link to docs/rules" in decide.err
