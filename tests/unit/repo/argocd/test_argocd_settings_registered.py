"""Clusters and repositories that the repo tells Argo CD of."""

from pathlib import Path

from firstlight.repo.argocd import argocd_settings
from firstlight.repo.argocd.argocd_settings import Registered
from firstlight.repo.work_tree import WorkTree

SECRET = """\
apiVersion: v1
kind: {kind}
metadata: {{name: {name}, labels: {{argocd.argoproj.io/secret-type: {type}}}}}
stringData: {data}
"""


def read(root: Path, *secrets: str) -> Registered:
    (root / "secrets.yaml").write_text("---\n".join(secrets))
    return argocd_settings.read_registered(WorkTree(root))


def secret(type: str, data: str, *, name: str = "s", kind: str = "Secret") -> str:
    return SECRET.format(type=type, data=data, name=name, kind=kind)


def test_clusters_have_names_and_addresses(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        secret("cluster", '{name: apps, server: "https://apps.example.org", config: hidden}'),
        secret("cluster", '{server: "https://nameless.example.org"}', name="nameless"),
    )

    assert [(each.name, each.server) for each in found.clusters] == [
        ("apps", "https://apps.example.org"),
        ("nameless", "https://nameless.example.org"),
    ]
    assert "hidden" not in repr(found)


def test_what_is_encrypted_tells_nothing(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        secret("cluster", '{name: "ENC[AES256_GCM,data:eA==]", server: "ENC[AES256_GCM,data:eA==]"}'),
        secret("repository", '{url: "ENC[AES256_GCM,data:eA==]"}'),
    )

    assert found == Registered()


def test_only_secrets_count(tmp_path: Path) -> None:
    assert read(tmp_path, secret("cluster", '{name: a, server: "https://a"}', kind="ConfigMap")) == Registered()


def test_the_longest_beginning_gives_the_credentials(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        secret("repo-creds", '{url: "https://git.example.org"}', name="all"),
        secret("repo-creds", '{url: "https://git.example.org/team"}', name="team"),
        secret("repository", '{url: "https://git.example.org/team/one.git"}', name="one"),
    )

    assert found.credentials("https://git.example.org/other/x") == "argocd/all"
    assert found.credentials("git@git.example.org:team/x.git") == "argocd/team"
    assert found.credentials("https://git.example.org/team/one") == "argocd/one"
    assert found.credentials("https://elsewhere.example.org/x") == ""
