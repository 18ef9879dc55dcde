"""What a rehearsed Argo CD would execute is asked for by content, like a hook."""

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.cli import allow_commands
from firstlight.commands.rehearse import rehearse
from firstlight.execute.means import RunRequest
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Engine
from firstlight.model.platform import Platform
from firstlight.render.chart_fetch import FetchClients
from firstlight.repo import platform_reader

SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data:
  kustomize.buildOptions: --enable-helm --enable-alpha-plugins --enable-exec
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://example.org/me/fleet", path: web, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: web}
"""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "repo"
    (root / "web").mkdir(parents=True)
    (root / "web.yaml").write_text(APPLICATION)
    (root / "argocd-cm.yaml").write_text(SETTINGS)
    (root / "web" / "run.sh").write_text("#!/bin/sh\n")
    return platform_reader.read(root)


def is_allowed(repo: Platform) -> bool:
    return rehearse.is_execution_allowed(repo, repo.clusters[0], allow_commands.known())


def test_a_rehearsal_is_refused_until_the_content_was_allowed(
    repo: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repo.clusters[0].engine == Engine.ARGOCD
    with pytest.raises(errors.Refused, match=r"argocd-cm.yaml:5.* --enable-exec lets Argo CD execute") as caught:
        is_allowed(repo)
    assert "--allow-commands" in caught.value.hint

    also = rehearse.executed_commands(repo, repo.clusters[0])
    allow_commands.allow(repo, repo.clusters[0], yes=True, also=also)

    shown = capsys.readouterr().err
    assert "argocd kustomize.buildOptions --enable-exec" in shown
    assert "setting of Argo CD   argocd-cm.yaml:5" in shown
    assert is_allowed(repo)


def test_a_changed_script_asks_again(repo: Platform) -> None:
    also = rehearse.executed_commands(repo, repo.clusters[0])
    allow_commands.allow(repo, repo.clusters[0], yes=True, also=also)
    (repo.root / "web" / "run.sh").write_text("#!/bin/sh\ntrue\n")

    with pytest.raises(errors.Refused, match="was not allowed"):
        is_allowed(repo)


def test_usual_options_need_no_word_and_free_nothing(repo: Platform) -> None:
    (repo.root / "argocd-cm.yaml").write_text(SETTINGS.replace(" --enable-exec", ""))

    assert not is_allowed(repo)


def test_where_flux_runs_settings_of_argo_cd_mean_nothing(repo: Platform) -> None:
    cluster = dataclasses.replace(repo.clusters[0], engine=Engine.FLUX)

    assert not rehearse.is_execution_allowed(repo, cluster, allow_commands.known())


async def test_no_lab_is_begun_for_it(repo: Platform, tmp_path: Path) -> None:
    async def never(*_: object) -> Any:
        raise AssertionError("nothing is begun")

    lab, fetching = cast(Lab, None), cast(FetchClients, None)
    kit = rehearse.RehearsalKit(
        lab=lab, programs={}, home=tmp_path, fetching=fetching, bring_up=never, carry_out=never,
        allowed=allow_commands.known(),
    )  # fmt: skip

    with pytest.raises(errors.Refused, match="was not allowed"):
        await rehearse.rehearse(repo, repo.clusters[0], RunRequest(cluster=repo.clusters[0].name), kit)
