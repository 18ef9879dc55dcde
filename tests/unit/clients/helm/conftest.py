from pathlib import Path

import pytest

from firstlight.clients.helm import Helm
from firstlight.model.secret import Secret
from tests.unit.clients.recorder import Recorder

CHART = "apiVersion: v2\nname: c\nversion: 1.2.3\n"
RELEASE = '{"name": "one", "namespace": "two", "version": 3, "info": {"status": "deployed"}}'
METADATA = (
    '{"name": "one", "namespace": "two", "revision": 3, "status": "deployed", "chart": "c", "version": "1.2.3",'
    ' "appVersion": "9", "deployedAt": "2026-03-01T12:00:00Z", "applyMethod": "ssa"}'
)
PULLED = f"Pulled: h/x/c:1.2.3\nDigest: sha256:{'a' * 64}\n"


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    made = Recorder(tmp_path / "program", "helm")
    made.says("v4.2.1", when="version")
    made.says(CHART, when="show chart")
    made.says(PULLED, when="pull", files={"--destination/c/Chart.yaml": CHART})
    made.says("[]", when="list")
    made.says("[]", when="history")
    made.says(METADATA, when="get metadata")
    made.says(RELEASE, when="status")
    made.says(RELEASE, when="install")
    made.says(RELEASE, when="upgrade")
    made.says("Successfully packaged chart and saved it to: /x/c-1.2.3.tgz\n", when="package")
    made.says(f"Pushed: h/x/c:1.2.3\nDigest: sha256:{'a' * 64}\n", when="push")
    return made


@pytest.fixture
def helm_client(program: Recorder) -> Helm:
    return Helm(
        program.path, kubeconfig=Secret("users: []"), environ={"HTTPS_PROXY": "http://p:1", "HOME": "/home/ada"}
    )


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    path = tmp_path / "c"
    path.mkdir()
    (path / "Chart.yaml").write_text(CHART)
    return path
