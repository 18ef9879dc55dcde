"""The kubeconfig that ``up`` has left lies in a repo, which may be anybody's; and every way leads to one cluster."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main, which_cluster
from firstlight.journal import state_files
from tests.unit.clients.kube.loopback import Reaction, Request, Respond, loopback, status

COMMANDS = (
    ["verify", "--no-render"],
    ["owners", "--no-render"],
    ["drift"],
    ["drift", "--watch"],
    ["decide", "--no-render", "--files", "firstlight.yaml", "--cluster"],
)
PLATFORM = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters: {infra: {role: infra}}
"""
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "SERVER"}}]
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize("linked", [".", "infra", "infra/kubeconfig"])
def test_no_link_leads_to_another_cluster(tmp_path: Path, linked: str) -> None:
    own = tmp_path / "own"
    (own / "infra").mkdir(parents=True)
    for file in (own / "kubeconfig", own / "infra" / "kubeconfig"):
        file.write_text("apiVersion: v1\nkind: Config\n")
    state = tmp_path / "repo" / ".firstlight"
    (state / linked).parent.mkdir(parents=True)
    (state / linked).symlink_to(own / "kubeconfig" if linked.endswith("kubeconfig") else own)

    with pytest.raises(errors.Refused, match="is a link, which may lead anywhere"):
        which_cluster.config(state, "infra", kubeconfig=None, context="")


def test_where_there_is_no_kubeconfig_it_is_said_who_leaves_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))

    with pytest.raises(errors.ConfigError, match="there is no kubeconfig") as caught:
        which_cluster.config(tmp_path, "infra", kubeconfig=None, context="")

    assert caught.value.hint.startswith(f"firstlight up infra leaves one in {tmp_path}/infra/kubeconfig")


def react(request: Request) -> Reaction:
    """A cluster that says which one it is, and nothing else."""
    if request.path == "/version":
        return Respond({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
    if request.path == "/api/v1/namespaces/kube-system":
        return Respond({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "found"}})
    return status(500, message="it was asked for more")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
async def test_another_cluster_than_the_one_that_was_written_down_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / ".firstlight" / "infra"
    state_files.enter(own / "identity.json")
    (own / "identity.json").write_text(json.dumps({"kubeSystem": "known"}))
    (tmp_path / "firstlight.yaml").write_text(PLATFORM)
    async with loopback(react) as server:
        typed = tmp_path / "typed"
        typed.write_text(KUBECONFIG.replace("SERVER", server.url))
        command = [*words, "infra", "--repo", str(tmp_path), "--kubeconfig", str(typed)]
        code = await asyncio.to_thread(main.run, command)

    said = capsys.readouterr()
    assert code == 3
    assert said.out == ""
    assert "is not infra: its kube-system has the UID found, and that of infra had known" in said.err
    assert f"delete {own}/identity.json" in " ".join(said.err.split())


@pytest.mark.parametrize("known", ["", "found"], ids=["none", "the same"])
async def test_a_cluster_is_opened_that_is_known_or_of_which_nobody_knows(tmp_path: Path, known: str) -> None:
    (tmp_path / "infra").mkdir()
    if known:
        (tmp_path / "infra" / "identity.json").write_text(json.dumps({"kubeSystem": known}))
    async with loopback(react) as server:
        typed = tmp_path / "typed"
        typed.write_text(KUBECONFIG.replace("SERVER", server.url))
        config = which_cluster.config(tmp_path, "infra", kubeconfig=typed, context="")
        async with which_cluster.opened(config, agent="test", state=tmp_path, cluster="infra") as client:
            assert client.config.server == server.url


READING = (
    *COMMANDS,
    ["doctor"],
    ["owners", "--kubeconfig", "TYPED"],
    ["audit", "--live", "--cluster"],
    ["override", "status"],
    [
        "override",
        "begin",
        "--emergency",
        "security",
        "--reason",
        "it burns",
        "--for",
        "1h",
        "--object",
        "ConfigMap/a/b",
    ],
    ["backup", "list"],
    ["handover"],
    ["recover"],
    ["up", "--dry-run"],
    ["down"],
    ["node", "list"],
)
OF_THE_REPO = (["runs"], ["status"], ["change", "list"], ["change", "show", "20261116-000000-one"])


@pytest.mark.parametrize("words", [*READING, *OF_THE_REPO], ids=" ".join)
async def test_a_state_that_came_with_the_repo_is_refused_and_nothing_is_sent(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone whose repo has a kubeconfig that would send a file of the user to a server of somebody else."""
    canary = tmp_path / "canary"
    canary.write_text("a secret of the user")
    repo = tmp_path / "repo"
    (repo / ".firstlight" / "infra").mkdir(parents=True)
    (repo / "firstlight.yaml").write_text(PLATFORM)
    async with loopback(react) as server:
        hostile = KUBECONFIG.replace("SERVER", server.url).replace("user: {}", f"user: {{tokenFile: {canary}}}")
        (repo / ".firstlight" / "infra" / "kubeconfig").write_text(hostile)
        (tmp_path / "typed").write_text(KUBECONFIG.replace("SERVER", server.url))
        # As the most careful of users clones it: its modes are then those that firstlight makes.
        for program in (["chmod", "-R", "go-rwx", "."], ["git", "init", "-q"], ["git", "add", "-f", "."]):
            await asyncio.to_thread(subprocess.run, program, cwd=repo, check=True)
        typed = [str(tmp_path / "typed") if each == "TYPED" else each for each in words]
        named = [] if words in OF_THE_REPO else ["infra"]
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
        code = await asyncio.to_thread(main.run, [*typed, *named, "--repo", str(repo)])

        assert server.requests == []
    said = capsys.readouterr()
    assert code == 3
    assert "Git tracks .firstlight/infra/kubeconfig" in " ".join(said.err.split())
    assert "git rm -r --cached .firstlight" in " ".join(said.err.split())
    assert "a secret of the user" not in said.out + said.err
