"""Changes carried through with real Flux: from the work tree to the cluster, checked, and taken back."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import command
from firstlight.commands.change import followed_branch
from firstlight.lab.sources.declarations import Access
from firstlight.tools import install
from tests import changing
from tests.changing import Clone
from tests.flux import Flux, config
from tests.labs import until
from tests.runs import Told

CLUSTER = "home"


def deployment(image: str = "example.org/web:1.0.0", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"containers": [{"name": "web", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def engine(url: str, space: str, *, path: str = "cluster") -> dict[str, object]:
    """A root Kustomization that brings another one, which brings all that is in ``apps``."""
    source = {"kind": "GitRepository", "name": "root"}
    flux = "kustomize.toolkit.fluxcd.io/v1"
    often = {"interval": "10m", "prune": True, "sourceRef": source, "timeout": "30s", "targetNamespace": space}
    return {
        f"{path}/sync.yaml": [
            {
                "apiVersion": "source.toolkit.fluxcd.io/v1",
                "kind": "GitRepository",
                "metadata": {"name": "root", "namespace": space},
                "spec": {"interval": "10m", "url": url, "ref": {"branch": "main"}},
            },
            {
                "apiVersion": flux,
                "kind": "Kustomization",
                "metadata": {"name": "root", "namespace": space},
                "spec": {**often, "path": f"./{path}"},
            },
        ],
        f"{path}/apps.yaml": {
            "apiVersion": flux,
            "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": space},
            "spec": {**often, "path": "./apps"},
        },
    }


def platform(url: str, **clusters: str) -> dict[str, object]:
    """A Deployment and a ConfigMap, and what declares the clusters."""
    return {
        "firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1",
            "kind": "Platform",
            "metadata": {"name": "small"},
            "gitops": {"engine": "flux", "url": url, "branch": "main"},
            "clusters": {name: {"path": path} for name, path in clusters.items()},
        },
        "apps/kustomization.yaml": "resources: [web.yaml, notes.yaml]\n",
        "apps/web.yaml": deployment(),
        "apps/notes.yaml": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "notes"},
            "data": {"retention": "7d"},
        },
    }


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_branch, "PAUSES", (0.2,))


@pytest_asyncio.fixture
async def clone(flux: Flux, space: str, tmp_path: Path) -> Clone:
    """A platform of the test's own that Flux has reconciled."""
    return await _reconciled(flux, tmp_path, {CLUSTER: space})


async def _reconciled(flux: Flux, home: Path, spaces: dict[str, str]) -> Clone:
    """A clone of a platform with clusters that are all the same lab, each in a namespace of its own."""
    first = next(iter(spaces.values()))
    made = await flux.sources.create_git(f"tests/{first}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])
    files = platform(made.url, **{name: f"cluster-{name}" for name in spaces})
    for name, space in spaces.items():
        files |= engine(made.url, space, path=f"cluster-{name}")
    found = changing.cloned(made.url, home / "repo", files, kubeconfig=flux.lab.kubeconfig, programs=programs)
    for name, space in spaces.items():
        for each in files[f"cluster-{name}/sync.yaml"]:  # type: ignore[attr-defined]
            await flux.kube.apply(each, manager="tests")
        await flux.ready("Kustomization", "root", space)
        await flux.ready("Kustomization", "apps", space, revision=found.git("rev-parse", "HEAD"))
    return found


async def test_a_change_is_carried_through_to_the_very_commit(clone: Clone, flux: Flux, space: str) -> None:
    clone.write("apps/web.yaml", deployment(replicas=2))
    clone.git("add", "apps/web.yaml")
    clone.write("apps/notes.yaml", "somebody else's: half done\n")

    told = await clone.change("start", "--why", "more load at the end of the month", "--merge", "--yes", "-ojson")

    assert told.code == 0, told.err
    assert (await _web(flux, space))["spec"]["replicas"] == 2
    record = told.data
    assert (record["standing"], record["path"], record["risk"]) == ("done", "gitops", "low")
    assert record["files"] == ["apps/web.yaml"]
    assert {each["verdict"] for each in record["steps"]} == {"passed"}
    assert {each["id"] for each in record["checks"] if each["state"] == "passed"} >= {"syntax", "render", "health"}
    (part,) = record["parts"]
    applied = (await flux.get("Kustomization", "apps", space))["status"]["lastAppliedRevision"]
    assert applied.endswith(part["merged"])
    assert clone.git("status", "--porcelain") == "M apps/notes.yaml", "what is not of the change is as it was"
    assert clone.git("log", "-1", "--format=%an %s%n%b", part["commit"]).splitlines() == [
        "Ada Apps replicas", "more load at the end of the month", "",
        "Decided as gitops, risk low, approval self, rule replicas.", "", f"Firstlight-Change: {record['id']}",
    ]  # fmt: skip
    kept = (clone.root / ".firstlight/changes" / f"{record['id']}.md").read_text()
    assert "more load at the end of the month" in kept
    assert "**done**" in kept


async def test_a_squash_that_somebody_merged_after_others_is_recognised(clone: Clone, flux: Flux, space: str) -> None:
    text = (clone.root / "apps/notes.yaml").read_text()
    clone.write("apps/notes.yaml", text.replace("7d", "30d"))
    running = asyncio.create_task(clone.change("start", "--why", "auditors want a month", "--yes", "-ojson"))
    other = changing.again(clone, clone.root.parent / "other")
    await until(lambda: _has(other, "origin/change/apps-retention"), "the branch to be pushed")

    other.write("README.md", "of somebody else\n")
    other.git("add", "README.md")
    other.git("commit", "--quiet", "--message=a word")
    other.git("merge", "--quiet", "--squash", "origin/change/apps-retention")
    other.git("commit", "--quiet", "--message=Retention (#12)")
    other.git("push", "--quiet", "origin", "main")
    told = await running

    assert told.code == 0, told.err
    assert told.data["parts"][0]["merged"] == other.git("rev-parse", "HEAD")
    assert await flux.config_map("notes", space) == {"retention": "30d"}


async def test_what_fails_its_checks_is_taken_back(clone: Clone, flux: Flux, space: str) -> None:
    clone.write("apps/web.yaml", deployment(image="example.org/broken:1.0.1"))

    told = await clone.change(
        "start", "--why", "a fix", "--merge", "--yes", "--patience", "4", "--revert-on-failure", "-ojson"
    )

    assert told.code == 1, told.err
    record = told.data
    assert record["standing"] == "reverted"
    assert "home, check home: Health: apps is not there yet" in record["failure"]
    assert _image(await _web(flux, space)) == "example.org/web:1.0.0"
    assert clone.git("diff", "--stat", record["base"], "origin/main") == ""
    verdicts = {each["id"]: each["verdict"] for each in record["steps"]}
    assert (verdicts["home:checks"], verdicts["home:checks-again"]) == ("failed", "passed")
    assert verdicts["git:revert"] == verdicts["home:reconcile-back"] == "passed"


async def test_a_killed_change_goes_on_where_the_world_is(clone: Clone, flux: Flux, space: str) -> None:
    clone.write("apps/web.yaml", deployment(replicas=3))
    await _killed(clone, "after:git:push", "start", "--why", "more", "--no-wait", "--yes")
    (record,) = clone.records()
    assert [each["id"] for each in record["steps"]] == ["git:commit", "git:push"]

    waiting = await clone.change("resume", "--no-wait")
    await _killed(clone, "before:home:reconcile", "resume", "--merge")
    told = await clone.change("resume", "-ojson")

    assert (waiting.code, told.code) == (3, 0), told.err
    assert told.data["standing"] == "done"
    assert (await _web(flux, space))["spec"]["replicas"] == 3
    assert clone.git("rev-list", "--count", f"{record['base']}..origin/main") == "1", "one commit, however often begun"


MOMENTS = [
    "before:git:commit", "after:git:commit", "before:git:push", "after:git:push", "before:git:merge",
    "after:git:merge", "before:home:fetch", "after:home:fetch", "before:home:reconcile", "after:home:checks",
]  # fmt: skip
BACK = ["before:git:revert", "after:git:revert", "before:home:reconcile-back", "after:home:checks-again"]


@pytest.mark.long
@pytest.mark.parametrize("moment", [*MOMENTS, *BACK])
async def test_a_change_killed_anywhere_is_carried_through_once(
    clone: Clone, flux: Flux, space: str, moment: str
) -> None:
    clone.write("apps/web.yaml", deployment(replicas=3))
    start = ("start", "--why", "more", "--merge", "--yes")
    if moment in MOMENTS:
        await _killed(clone, moment, *start)
    else:
        assert (await clone.change(*start)).code == 0
        await _killed(clone, moment, "revert", clone.records()[0]["id"], "--yes")

    told = await clone.change("resume", "--merge", "-ojson")

    assert told.code == 0, told.err
    is_back = moment in BACK
    assert told.data["standing"] == ("reverted" if is_back else "done")
    assert (await _web(flux, space))["spec"]["replicas"] == (1 if is_back else 3)
    count = clone.git("rev-list", "--count", f"{told.data['base']}..origin/main")
    assert count == ("2" if is_back else "1"), "nothing is committed twice"
    assert len(clone.records()) == 1


async def _killed(clone: Clone, moment: str, *arguments: str) -> None:
    done = await command.run(
        clone.program(*arguments), env={**os.environ, "KILLED_AT": moment}, check=False, timeout=90
    )
    assert done.code == -signal.SIGKILL, done.stderr


async def test_checks_before_it_refuse_it_and_nothing_is_committed(clone: Clone) -> None:
    clone.write("apps/web.yaml", deployment(replicas=2), {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}})
    before = clone.git("rev-parse", "HEAD")

    told = await clone.change("start", "--why", "more", "--merge", "--yes")

    assert told.code == 3, told.err
    assert "checks before the change fail, and nothing was committed" in told.err
    assert '--anyway "REASON"' in told.err
    assert (clone.git("rev-parse", "HEAD"), clone.git("branch", "--format=%(refname:short)")) == (before, "main")
    assert [each["standing"] for each in clone.records()] == ["failed"]


async def test_in_an_emergency_nobody_is_waited_for_and_that_is_written_down(
    clone: Clone, flux: Flux, space: str
) -> None:
    text = (clone.root / "apps/notes.yaml").read_text()
    clone.write("apps/notes.yaml", text.replace("7d", "1d"))

    told = await clone.change(
        "start", "--why", "the disk is full", "--expedited", "--emergency", "outage", "--yes", "-ojson"
    )

    assert told.code == 0, told.err
    assert told.data["path"] == "expedited"
    assert await flux.config_map("notes", space) == {"retention": "1d"}
    incident = (clone.root / told.data["incident"]).read_text()
    assert "merged without waiting for a review: peer: not waited for in an emergency (outage)" in incident
    assert "_To fill in: what broke, and why._" in incident


@pytest.mark.long
async def test_a_later_cluster_keeps_what_it_has_until_the_one_before_it_has_passed(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    later = f"{space}-later"
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}}, manager="tests")
    clone = await _reconciled(flux, tmp_path, {"live": later, "test": space})
    clone.write("apps/web.yaml", deployment(image="example.org/broken:1.0.1"))

    failed = await clone.change("start", "--why", "a fix", "--merge", "--yes", "--patience", "3", "-ojson")

    assert failed.code == 1, failed.err
    assert failed.data["clusters"] == ["test", "live"], "what is there to find out comes first"
    assert failed.data["held"] == ["live"]
    assert "what it touches in live rests until it is gone on with or reverted" in failed.data["failure"]
    apps = await flux.get("Kustomization", "apps", later)
    assert apps["spec"]["suspend"] is True
    assert {"firstlight.dev/suspended-until", "firstlight.dev/reason"} <= apps["metadata"]["annotations"].keys()
    await flux.reconcile("Kustomization", "root", later)
    assert (await flux.get("Kustomization", "apps", later))["spec"]["suspend"] is True, "whoever is above leaves it"
    assert _image(await _web(flux, later)) == "example.org/web:1.0.0"

    back = await clone.change("revert", failed.data["id"], "--yes", "--patience", "20", "-ojson")

    assert back.code == 0, back.err
    assert (back.data["standing"], back.data["held"]) == ("reverted", [])
    apps = await flux.get("Kustomization", "apps", later)
    assert not apps["spec"].get("suspend")
    assert "firstlight.dev/reason" not in apps["metadata"].get("annotations", {})
    assert _image(await _web(flux, space)) == "example.org/web:1.0.0"
    await flux.kube.delete("v1", "Namespace", later)


@pytest.mark.long
async def test_a_chart_of_the_repo_itself_is_released_from_the_very_commit(
    clone: Clone, flux: Flux, space: str
) -> None:
    made = {"interval": "10m", "chart": {"spec": {"chart": "./charts/greeter"}}, "timeout": "20s"}
    made["chart"]["spec"]["sourceRef"] = {"kind": "GitRepository", "name": "root"}  # type: ignore[index]
    release = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "spec": made}
    clone.write("apps/greeter.yaml", {**release, "metadata": {"name": "greeter", "namespace": space}})
    clone.write("apps/kustomization.yaml", "resources: [web.yaml, notes.yaml, greeter.yaml]\n")
    clone.write("charts/greeter/templates/a.yaml", config("greeter", word="hello"))
    first = await _released(clone, "0.1.0")
    assert await flux.config_map("greeter", space) == {"word": "hello"}, first.err

    clone.write("charts/greeter/templates/a.yaml", config("greeter", word="good morning"))
    second = await _released(clone, "0.1.1")

    assert await flux.config_map("greeter", space) == {"word": "good morning"}, second.err


async def _released(clone: Clone, version: str) -> Told:
    clone.write("charts/greeter/Chart.yaml", f"apiVersion: v2\nname: greeter\nversion: {version}\n")
    told = await clone.change("start", "--why", "words", "--expedited", "--emergency", "outage", "--yes", "-ojson")
    assert told.code == 0, told.err
    clone.git("switch", "--quiet", "main")
    clone.git("pull", "--quiet")
    return told


@pytest.mark.long
async def test_what_is_a_clusters_own_is_merged_when_its_turn_has_come(flux: Flux, space: str, tmp_path: Path) -> None:
    later = f"{space}-later"
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}}, manager="tests")
    clone = await _reconciled(flux, tmp_path, {"live": later, "test": space})
    for name in ("live", "test"):
        text = (clone.root / f"cluster-{name}/apps.yaml").read_text()
        clone.write(f"cluster-{name}/apps.yaml", text.replace("timeout: 30s", "timeout: 40s"))

    told = await clone.change("start", "--why", "slow disks", "--title", "Wait longer", "--merge", "--yes", "-ojson")

    assert told.code == 0, told.err
    parts = told.data["parts"]
    assert [(each["cluster"], each["files"]) for each in parts] == [
        ("test", ["cluster-test/apps.yaml"]), ("live", ["cluster-live/apps.yaml"]),
    ]  # fmt: skip
    subjects = clone.git("log", "--reverse", "--format=%s", f"{told.data['base']}..origin/main").splitlines()
    assert subjects == ["Wait longer (test)", "Wait longer (live)"]
    began = {each["id"]: each["begun"] for each in told.data["steps"]}
    assert began["test:checks"] < began["git:push:live"] < began["live:reconcile"]
    assert (await flux.get("Kustomization", "apps", later))["spec"]["timeout"] == "40s"
    await flux.kube.delete("v1", "Namespace", later)


def _image(web: dict[str, Any]) -> str:
    return str(web["spec"]["template"]["spec"]["containers"][0]["image"])


async def _web(flux: Flux, space: str) -> dict[str, Any]:
    return dict(await flux.kube.get("apps/v1", "Deployment", "web", namespace=space))


async def _has(clone: Clone, branch: str) -> bool:
    clone.git("fetch", "--quiet", "origin")
    return branch in clone.git("branch", "--remotes").split()
