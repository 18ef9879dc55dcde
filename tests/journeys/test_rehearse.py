"""A repo rehearsed from the command line: it works, it fails for a reason that is named, it leaves nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firstlight.lab import procfs

Run = Callable[..., subprocess.CompletedProcess[str]]
EXAMPLE = Path(__file__).parents[2] / "examples" / "home"
PLATFORM = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: small}
gitops: {engine: flux, url: "https://git.example.org/me/small", branch: main}
secrets:
  - {name: token, namespace: web, data: {token: "env:NOBODY_SETS_THIS"}}
clusters:
  small:
    machines:
      - {name: node-1, address: 10.30.0.11, role: controlplane, diskSelector: {type: nvme, size: "> 1TB"}}
    path: clusters/small
    network: {endpoint: "https://10.30.0.10:6443"}
    talos: v1.13.0
    kubernetes: v1.36.4
    schedulesOnControlPlanes: true
components:
  web: {phase: core, why: it is shown}
  flux: {phase: engine}
"""
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec:
  interval: 1h
  path: ./web
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
WEB = """\
apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: SELECTED}}
    spec:
      containers: [{name: web, image: "registry.example.org/web:1.0.0"}]
"""
ENCRYPTED = """\
apiVersion: v1
kind: Secret
metadata: {name: encrypted, namespace: web}
stringData: {password: "ENC[AES256_GCM,data:x,type:str]"}
sops: {version: 3.9.0}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "small"
    shutil.copytree(EXAMPLE / "kubernetes/clusters/home/flux-system", root / "clusters/small/flux-system")
    sync = root / "clusters/small/flux-system/gotk-sync.yaml"
    sync.write_text(
        sync.read_text().replace("me/home", "me/small").replace("kubernetes/clusters/home", "clusters/small")
    )
    (root / "firstlight.yaml").write_text(PLATFORM)
    (root / "clusters/small/web.yaml").write_text(KUSTOMIZATION)
    (root / "web").mkdir()
    (root / "web/kustomization.yaml").write_text("resources: [web.yaml, secret.sops.yaml]\n")
    (root / "web/secret.sops.yaml").write_text(ENCRYPTED)
    (root / "web/web.yaml").write_text(WEB.replace("SELECTED", "web"))
    return root


@pytest.fixture
def firstlight(tmp_path: Path, machine_programs: dict[str, Path]) -> Iterator[Run]:
    own = {"FIRSTLIGHT_LABS": str(tmp_path / "labs"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment = {**os.environ, **own, "COLUMNS": "160"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "firstlight", *arguments]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)

    yield run
    run("lab", "down", "--all")


def add_hook(repo: Path) -> None:
    """A hook that shows where it runs, and as whom."""
    declared = repo / "firstlight.yaml"
    hooks = "hooks: [{run: [./seed], unless: [test, -e, seeded]}]"
    declared.write_text(declared.read_text().replace("web: {phase: core,", f"web: {{phase: core, {hooks},"))
    (repo / "seed").write_text(
        '#!/bin/sh\ngrep -q "server: https://127" "$KUBECONFIG" || exit 1\n[ -z "$(ls -A "$HOME")" ] && touch seeded\n'
    )
    (repo / "seed").chmod(0o755)


def contents(repo: Path) -> dict[Path, bytes]:
    """The files of the repo, without the journals that firstlight keeps beside them."""
    kept = repo / ".firstlight"
    return {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file() and kept not in path.parents}


def labs(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "labs").iterdir())


def test_it_works_and_says_what_stood_for_what(firstlight: Run, repo: Path, tmp_path: Path) -> None:
    add_hook(repo)
    before = contents(repo)

    done = firstlight(
        "rehearse",
        "--repo",
        str(repo),
        "--until",
        "core",
        "--offline",
        "--allow-commands",
        "--yes",
        "-ojson",
        "--markdown",
        str(tmp_path / "out.md"),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "passed"
    mapping = {(each["what"], each["declared"]): each["lab"] for each in told["mapping"]}
    assert "/dev/nvme0n1 2TB" in mapping["machine", "node-1 at 10.30.0.11"]
    assert "/git/rehearsal/small.git" in mapping["Git", "https://git.example.org/me/small"]
    assert mapping["secret", "web/token: token (env:NOBODY_SETS_THIS)"] == "made-up values"
    assert mapping["encrypted", "web/secret.sops.yaml"] == "dummies, in plain"
    assert {each["name"]: each["verdict"] for each in told["steps"]}["web"] == "passed"
    assert "run ./seed" in done.stderr
    assert any(each["what"] == "what containers do" for each in told["untried"])
    assert "### Rehearsal of `small`: passed" in (tmp_path / "out.md").read_text()
    assert contents(repo) == before
    assert labs(tmp_path) == []
    listed = json.loads(firstlight("runs", "--repo", str(repo), "-ojson").stdout)["runs"]
    assert [(each["rehearsal"], each["outcome"]) for each in listed] == [(True, "passed")]
    assert "rehearsal" in firstlight("status", "--repo", str(repo)).stdout


@pytest.mark.long
def test_what_would_have_failed_fails_and_is_named(firstlight: Run, repo: Path, tmp_path: Path) -> None:
    (repo / "web/web.yaml").write_text(WEB.replace("SELECTED", "another"))

    done = firstlight("rehearse", "--repo", str(repo), "--until", "core", "--offline")

    assert done.returncode == 1, done.stdout + done.stderr
    head, _, cause = done.stdout.splitlines()[:3]
    assert head.startswith("small   rehearsed, and it fails")
    assert "selector" in cause
    assert labs(tmp_path) == []


def test_ctrl_c_takes_the_lab_down(repo: Path, tmp_path: Path, machine_programs: dict[str, Path]) -> None:
    environment = {**os.environ, "FIRSTLIGHT_LABS": str(tmp_path / "labs")}
    argv = [sys.executable, "-m", "firstlight", "rehearse", "--repo", str(repo), "--until", "core", "--offline"]
    home = tmp_path / "labs" / "rehearsal-small"

    run = subprocess.Popen(
        argv,
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
    assert not home.exists()
    assert procfs.processes_of(home) == ()


def test_what_cannot_be_rehearsed_is_refused_before_anything_starts(
    firstlight: Run, repo: Path, tmp_path: Path
) -> None:
    text = PLATFORM.replace("address: 10.30.0.11", "address: node.example.org")
    (repo / "firstlight.yaml").write_text(text)

    done = firstlight("rehearse", "--repo", str(repo))

    assert done.returncode == 3
    assert "at which address node-1 is" in done.stderr
    assert "Traceback" not in done.stderr
    assert firstlight("rehearse", "other", "--repo", str(repo)).returncode == 64
