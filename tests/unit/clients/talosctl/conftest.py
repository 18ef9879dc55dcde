from pathlib import Path

import pytest

from firstlight.clients.talosctl import Talosctl
from firstlight.model.secret import Secret
from tests.unit.clients.talosctl import standin


@pytest.fixture
def program(tmp_path: Path) -> standin.StandIn:
    home = tmp_path / "program"
    home.mkdir()
    return standin.StandIn(home)


@pytest.fixture
def talosctl(program: standin.StandIn) -> Talosctl:
    return Talosctl(program.path, talosconfig=Secret("TALOSCONFIG"), environ={})


@pytest.fixture
def maintenance(program: standin.StandIn) -> Talosctl:
    return Talosctl(program.path, insecure=True, environ={})
