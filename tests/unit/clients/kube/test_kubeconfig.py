"""What a kubeconfig that firstlight keeps may not say: whatever would lead out of the file."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import kube

HOSTILE = {
    "token-file": ("", "tokenFile: SECRET"),
    "client-files": ("", "client-certificate: SECRET, client-key: SECRET"),
    "authority-file": ("certificate-authority: SECRET", ""),
    "proxy": ("proxy-url: http://127.0.0.1:9", ""),
    "insecure": ("insecure-skip-tls-verify: true", ""),
    "insecure-false": ("insecure-skip-tls-verify: false", ""),
    "exec": ("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: SECRET, interactiveMode: Never}"),
    "auth-provider": ("", "auth-provider: {name: oidc}"),
    "impersonation": ("", "as: system:admin"),
    "merged-keys": ("", "<<: {tokenFile: SECRET}"),
    "other-letters": ("", "TokenFile: SECRET"),
    "repeated-key": ("", "token: a, tokenFile: SECRET, tokenFile: null"),
}


def written(path: Path, *, server: str = "https://home.example.org:6443", cluster: str = "", user: str = "") -> Path:
    secret = path.parent / "secret"
    secret.write_text("a secret of the user")
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: one
contexts: [{{name: one, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{server}", {cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]
""".replace("SECRET", str(secret))
    )
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_what_leads_out_of_the_file_is_refused(tmp_path: Path, name: str) -> None:
    cluster, user = HOSTILE[name]
    path = written(tmp_path / "kubeconfig", cluster=cluster, user=user)

    with pytest.raises(errors.Refused, match="kubeconfig") as raised:
        kube.load(path, is_kept=True)

    assert "--kubeconfig" in raised.value.hint
    assert "a secret of the user" not in str(raised.value)


@pytest.mark.parametrize("server", ["http://home.example.org", "unix:///run/x", "HTTP://home", "//home"])
def test_a_server_in_the_clear_is_refused(tmp_path: Path, server: str) -> None:
    with pytest.raises(errors.Refused, match="https"):
        kube.load(written(tmp_path / "kubeconfig", server=server), is_kept=True)


def test_an_entry_that_is_not_used_is_looked_at_too(tmp_path: Path) -> None:
    path = written(tmp_path / "kubeconfig", user="token: a")
    path.write_text(path.read_text().replace("users: [", "users: [{name: u, user: {tokenFile: /etc/hostname}}, "))

    with pytest.raises(errors.Refused, match="tokenFile"):
        kube.load(path, is_kept=True)


def test_what_firstlight_writes_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "kubeconfig", cluster="tls-server-name: home", user="token: a")

    assert kube.load(path, is_kept=True).server == "https://home.example.org:6443"


def test_the_users_own_may_do_what_kubectl_does(tmp_path: Path) -> None:
    path = written(
        tmp_path / "kubeconfig", server="http://127.0.0.1:8001", cluster="proxy-url: http://127.0.0.1:9",
        user="tokenFile: SECRET",
    )  # fmt: skip

    assert kube.load(path).token_file == tmp_path / "secret"
