"""The talosconfig that ``up`` has left: keys in the file, machines as endpoints, and nothing else."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import access_files
from firstlight.journal import state_files

GOOD = "endpoints: [10.0.0.2, 'home.example.org:50000'], ca: YQ==, crt: YQ==, key: YQ=="
HOSTILE = {
    "auth": "endpoints: [10.0.0.2], auth: {siderov1: {identity: ann@example.org}}",
    "a-socket": "endpoints: ['unix:///run/agent.sock']",
    "a-path": "endpoints: [/run/agent.sock]",
    "credentials": "endpoints: ['https://user:pass@evil.example.org']",
    "a-list-of-lists": "endpoints: [[10.0.0.2]]",
    "nodes": "nodes: ['--insecure']",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "repo" / state_files.NAME / "infra" / "talosconfig"
    state_files.enter(path)
    return path


def test_what_firstlight_writes_is_read(file: Path) -> None:
    file.write_text(f"context: infra\ncontexts: {{infra: {{{GOOD}}}}}\n")

    assert b"endpoints" in access_files.kept_talosconfig(file).reveal()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_leads_elsewhere_is_refused(file: Path, name: str) -> None:
    file.write_text(f"context: infra\ncontexts: {{infra: {{{GOOD}}}, other: {{{HOSTILE[name]}}}}}\n")

    with pytest.raises(errors.Refused, match="context other"):
        access_files.kept_talosconfig(file)


def test_what_is_not_yaml_is_refused_without_its_content(file: Path) -> None:
    file.write_text("contexts: {a: [hunter2")

    with pytest.raises(errors.Refused) as raised:
        access_files.kept_talosconfig(file)
    assert "hunter2" not in str(raised.value)
