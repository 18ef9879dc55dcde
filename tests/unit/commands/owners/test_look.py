"""Which cluster ``owners`` means, with a repo around and without one."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.owners import look, text
from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, Flawed, ObjectOwner, OwnedObject, OwnerMap, Party

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: home
clusters: [{name: c, cluster: {server: https://127.0.0.1:1}}]
users: [{name: u, user: {}}]
contexts: [{name: home, context: {cluster: c, user: u}}]
"""
PLATFORM = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
gitops: {engine: flux, url: https://git.example.org/me/home, branch: main}
clusters:
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return file


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the test's own, in which it is called."""
    folder = tmp_path / "repo"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def declare(repo: Path, *names: str) -> None:
    (repo / "firstlight.yaml").write_text(
        PLATFORM + "".join(f"  {each}: {{path: clusters/{each}}}\n" for each in names)
    )


def test_without_a_repo_the_way_is_enough(repo: Path, kubeconfig: Path) -> None:
    scene = look._scene("", None, kubeconfig=kubeconfig, context="")
    assert (scene.name, scene.platform, scene.config.server) == ("127.0.0.1:1", None, "https://127.0.0.1:1")


def test_the_only_cluster_of_a_repo_is_meant(repo: Path, kubeconfig: Path) -> None:
    declare(repo, "infra")
    scene = look._scene("", None, kubeconfig=kubeconfig, context="")
    assert scene.name == "infra"
    assert scene.platform is not None


def test_a_way_to_one_of_several_says_nothing_of_which(repo: Path, kubeconfig: Path) -> None:
    declare(repo, "infra", "apps")
    assert look._scene("", None, kubeconfig=kubeconfig, context="home").platform is None
    assert look._scene("apps", None, kubeconfig=kubeconfig, context="").name == "apps"
    with pytest.raises(errors.UsageError, match="which cluster"):
        look._scene("", None, kubeconfig=None, context="")


def test_a_cluster_that_no_repo_has(repo: Path, kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["owners", "nowhere", "--kubeconfig", str(kubeconfig)]) == 64
    assert "there is no cluster nowhere" in capsys.readouterr().err


def test_what_could_not_be_read_is_not_checked() -> None:
    nothing = OwnerMap(cluster="infra", objects=())
    flawed = OwnedObject(
        id=ObjectId("", "ConfigMap", "web", "mine"), api_version="v1", owner=ObjectOwner(Party.PERSON, "kubectl"),
        flaws=(Flawed(Flaw.ORPHAN, "made with kubectl"),),
    )  # fmt: skip
    unread = OwnerMap(cluster="infra", objects=(), unread=("Secret (v1): forbidden",))
    assert look.exit_code(nothing, nothing) == 0
    assert look.exit_code(unread, unread) == 1
    assert look.exit_code(unread, OwnerMap(cluster="infra", objects=(flawed,))) == 2
    assert text.title(unread) == "infra   0 objects, no flaws in what could be read"
    assert text.title(nothing) == "infra   0 objects, no flaws"
