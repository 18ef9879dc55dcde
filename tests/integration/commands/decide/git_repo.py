"""A Git repo of a platform, and ``firstlight decide`` on it: for tests of the command."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import main

PLATFORM = Path(__file__).parents[3] / "scenarios/platform/two-clusters/repo"
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


def paths(found: Any) -> list[str]:
    return sorted({each["path"] for each in found["items"]})
