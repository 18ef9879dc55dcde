"""A receiver of webhooks needs its token before anybody may call it."""

from pathlib import Path

import pytest

from firstlight.repo import platform_reader

SYNC = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, sourceRef: {kind: GitRepository, name: flux-system}}
"""
RECEIVER = """
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: push, namespace: flux-system}
spec: {type: github, secretRef: {name: webhook-token}, resources: [{kind: GitRepository, name: flux-system}]}
"""
EXTERNAL = """
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: webhook-token, namespace: flux-system}
"""


@pytest.mark.parametrize(("beside", "expected"), [("", ["webhook-token"]), (EXTERNAL, [])])
def test_the_token_is_of_the_foundation_unless_git_brings_it(tmp_path: Path, beside: str, expected: list[str]) -> None:
    home = tmp_path / "clusters" / "home"
    home.mkdir(parents=True)
    (home / "gotk-sync.yaml").write_text(SYNC)
    (home / "receiver.yaml").write_text(f"{RECEIVER}---{beside}" if beside else RECEIVER)

    found = platform_reader.read(tmp_path).secrets

    assert [each.name for each in found] == expected
    assert all(list(each.data) == ["token"] for each in found)
