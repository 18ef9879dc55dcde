"""How ``verify`` comes by a cluster's API."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.journal import state_files

EXEC = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}"


def write(path: Path, *, server: str, user: str = "{token: t}") -> Path:
    if state_files.is_kept(path):
        state_files.enter(path)
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: one
contexts: [{{name: one, context: {{cluster: c, user: u}}}}, {{name: two, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://{server}:6443"}}}}]
users: [{{name: u, user: {user}}}]
"""
    )
    path.chmod(0o600)
    return path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own kubeconfig."""
    path = write(tmp_path / "own", server="own.example.org", user=EXEC)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def server(state: Path, *, kubeconfig: Path | None = None, context: str = "") -> str:
    return which_cluster.config(state, "infra", kubeconfig=kubeconfig, context=context).server


def test_what_up_has_left_comes_before_the_users_own(tmp_path: Path, own: Path) -> None:
    assert server(tmp_path / ".firstlight") == "https://own.example.org:6443"

    write(which_cluster.kept(tmp_path / ".firstlight", "infra"), server="left.example.org")

    assert server(tmp_path / ".firstlight") == "https://left.example.org:6443"


def test_what_was_typed_comes_first(tmp_path: Path, own: Path) -> None:
    write(which_cluster.kept(tmp_path / ".firstlight", "infra"), server="left.example.org")
    typed = write(tmp_path / "typed", server="typed.example.org")

    assert server(tmp_path / ".firstlight", kubeconfig=typed) == "https://typed.example.org:6443"
    assert server(tmp_path / ".firstlight", context="two") == "https://own.example.org:6443"


def test_no_program_is_run_for_a_kubeconfig_beside_the_repo(tmp_path: Path, own: Path) -> None:
    write(which_cluster.kept(tmp_path / ".firstlight", "infra"), server="left.example.org", user=EXEC)

    with pytest.raises(errors.Refused, match="login"):
        server(tmp_path / ".firstlight")
