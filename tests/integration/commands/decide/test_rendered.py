"""``firstlight decide`` with what is rendered: it shows what changes in the cluster, and nothing secret."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.commands.decide.git_repo import HELMFILE, PEERS, Decide, commit, paths, replace


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


def test_a_new_application_is_not_judged_as_the_engine_that_brings_it(repo: Path, decide: Decide) -> None:
    """The root that applies its Kustomization is declared beside the engine."""
    for path, content in {
        "kubernetes/blog/blog.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: blog, namespace: web}\n",
        "kubernetes/clusters/infra/blog.yaml": (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: blog, namespace: flux-system}\n"
            "spec: {interval: 1h, path: ./kubernetes/blog, prune: true,"
            " sourceRef: {kind: GitRepository, name: flux-system}}\n"
        ),
    }.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)

    found = decide(render=True)

    rendered = {each["title"]: each for each in found["rendered"]}
    blog = rendered["Kustomization flux-system/blog"]
    assert (blog["path"], blog["risk"]) == ("kubernetes/clusters/infra/blog.yaml", "low")
    assert {rule["rule"] for each in found["rendered"] for rule in each["rulings"]}.isdisjoint(
        {"engine-settings", "engine-removed"}
    )


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
