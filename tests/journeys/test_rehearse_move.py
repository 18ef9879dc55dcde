"""A move rehearsed from the command line: it works and is written, it fails and nothing is, it leaves no lab."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import follow_run, main
from firstlight.execute.loop import RunResult
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.lab import procfs
from tests.labs import until

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[2]
LIGHT = ROOT / "tests" / "platforms" / "light"
COMPONENTS = ROOT / "examples/home/kubernetes/clusters/home/flux-system/gotk-components.yaml"
KEPT = ("move", "apps", "--to", "bootstrap", "--owner", "bootstrap", "--why", "a test", "--rehearse", "--offline")
TOOLS = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: tools, namespace: flux-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tools}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tools}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tools}
subjects: [{kind: ServiceAccount, name: tools, namespace: flux-system}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: tools, namespace: flux-system}
spec:
  interval: 10m
  path: ./tools
  prune: true
  wait: true
  serviceAccountName: tools
  sourceRef: {kind: GitRepository, name: flux-system}
"""
"""An owner who may have ConfigMaps and nothing else: nothing in the files says that this does not suffice."""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {a: b}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = Path(shutil.copytree(LIGHT, tmp_path / "light"))
    shutil.copy(COMPONENTS, root / "cluster/flux-system/gotk-components.yaml")
    return root


@pytest.fixture
def environment(tmp_path: Path, machine_programs: dict[str, Path]) -> dict[str, str]:
    own = {"FIRSTLIGHT_LABS": str(tmp_path / "labs"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "COLUMNS": "160"}
    return {**os.environ, **own}


@pytest.fixture
def firstlight(environment: dict[str, str]) -> Iterator[Run]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "firstlight", *arguments]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)

    yield run
    run("lab", "down", "--all")


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.long
def test_it_works_and_is_written(firstlight: Run, repo: Path, tmp_path: Path) -> None:
    before = files(repo)

    done = firstlight(*KEPT, "--repo", str(repo), "--write", "-ojson")

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    (rehearsed,) = told["rehearsals"]
    assert rehearsed["fine"]
    assert rehearsed["passed"] == [{"owner": "bootstrap", "objects": 1}]
    assert rehearsed["certificate"]
    assert rehearsed["pods"] >= 3
    assert (rehearsed["replaced"], rehearsed["deleted"], rehearsed["written"]) == ([], [], [])
    assert rehearsed["secondRun"].startswith("0 writes to the API server and 1 machine")
    for each in ("guards on", "owners", "proof", "a second run", "guards off"):
        assert f"handover  {each}" in done.stderr, each
    assert told["written"] is True
    after = files(repo)
    assert {path for path in after if after[path] != before.get(path)} == {"firstlight.yaml", "cluster/apps.yaml"}
    assert list((tmp_path / "labs").iterdir()) == []


@pytest.mark.long
def test_what_goes_wrong_is_found_and_nothing_is_written(firstlight: Run, repo: Path, tmp_path: Path) -> None:
    (repo / "cluster/tools.yaml").write_text(TOOLS)
    (repo / "tools").mkdir()
    (repo / "tools/kustomization.yaml").write_text("resources: [settings.yaml]\n")
    (repo / "tools/settings.yaml").write_text(SETTINGS)
    (repo / "apps/web").mkdir()
    (repo / "apps/web/kustomization.yaml").write_text("resources: [web.yaml]\n")
    (repo / "apps/web/web.yaml").write_text((repo / "apps/notes.yaml").read_text().replace("notes", "web"))
    (repo / "apps/kustomization.yaml").write_text("resources: [notes.yaml, web]\n")
    before = files(repo)

    done = firstlight(
        "move", "apps/web", "--into", "tools", "--rehearse", "--write", "--offline", "--repo", str(repo), "-ojson"
    )

    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    (rehearsed,) = told["rehearsals"]
    assert "forbidden" in rehearsed["failed"]
    assert (rehearsed["fine"], rehearsed["certificate"]) == (False, None)
    assert (rehearsed["replaced"], rehearsed["deleted"]) == ([], []), "the guards hold also then"
    assert told["written"] is False
    assert files(repo) == before
    assert list((tmp_path / "labs").iterdir()) == []


@pytest.mark.long
def test_what_is_deleted_replaced_or_left_to_write_is_found(
    repo: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody meddles once everything is proven: what is seen from outside does not believe the stages."""
    for name in ("FIRSTLIGHT_LABS", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, environment[name])
    before, real = files(repo), follow_run.follow_walk

    async def meddled(walk: Walk, world: World, *given: Any, **named: Any) -> RunResult:
        result = await real(walk, world, *given, **named)
        if any(each.id.endswith(":unguard") for each in walk.stages):
            containers = [{"name": "notes", "image": "registry.example.org/notes:2.0.0"}]
            other = {"spec": {"template": {"spec": {"containers": containers}}}}
            pods = {each["metadata"]["uid"] for each in await notes(world)}
            await world.kube.patch("apps/v1", "Deployment", "notes", other, manager="somebody", namespace="default")

            async def gone() -> bool:
                return not pods & {each["metadata"]["uid"] for each in await notes(world)}

            await until(gone, "another pod")
        return result

    async def notes(world: World) -> Any:
        return (await world.kube.list("v1", "Pod", namespace="default", labels="app=notes")).items

    monkeypatch.setattr(follow_run, "follow_walk", meddled)

    code = main.run([*KEPT, "--repo", str(repo), "--write", "-ojson"])

    told = json.loads(capsys.readouterr().out)
    (rehearsed,) = told["rehearsals"]
    assert (code, rehearsed["fine"], rehearsed["failed"]) == (1, False, None), rehearsed
    assert rehearsed["certificate"]
    assert [each.startswith("default/notes-") for each in rehearsed["replaced"]] == [True]
    assert any("delete pods default/notes-" in each for each in rehearsed["deleted"])
    assert rehearsed["written"]
    assert told["written"] is False
    assert files(repo) == before


@pytest.mark.long
def test_ctrl_c_takes_the_lab_down(repo: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    home, before = tmp_path / "labs" / "move-light", files(repo)

    run = subprocess.Popen(
        [sys.executable, "-m", "firstlight", *KEPT, "--repo", str(repo), "--write"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the suite in the background has it ignored, and so has every child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with run:
        deadline = time.monotonic() + 60
        while not procfs.processes_of(home) and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)

    assert run.returncode == 130, said
    assert "the lab is gone" in said
    assert not home.exists()
    assert procfs.processes_of(home) == ()
    assert files(repo) == before
