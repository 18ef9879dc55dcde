"""What the tests of builds share: a Go toolchain, the user's build cache, and workshops of their own."""

import os
from pathlib import Path

import pytest

from firstlight.tools import go_toolchain, tool_progress, tool_version, workshop
from tests.unit.tools import tiny


@pytest.fixture(scope="session")
async def go() -> Path:
    """A Go toolchain, as firstlight itself finds or installs it."""
    found = await go_toolchain.obtain(
        tool_version.parse("1.21"), workshop.here(), name="the tests", report=tool_progress.ignore
    )
    return found.go


@pytest.fixture
def environ(go: Path) -> dict[str, str]:
    """Variables for a workshop: that toolchain, and the user's build cache, so that Go's own packages are there."""
    build_cache = os.environ.get("FIRSTLIGHT_GOCACHE") or str(workshop.here().cache.go / "build")
    return {"FIRSTLIGHT_GO": str(go), "FIRSTLIGHT_GOCACHE": build_cache}


@pytest.fixture
def shop(tmp_path: Path, environ: dict[str, str]) -> workshop.Workshop:
    """A workshop that builds ``tiny``, whose sources no other test has."""
    tiny.lab(tmp_path / "lab", packages=4, seed=str(tmp_path))
    return tiny.shop(tmp_path, environ)
