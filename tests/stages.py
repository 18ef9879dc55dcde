"""A cluster that bootstrap has brought up to its engine, for all tests that begin there."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.lab import procfs
from firstlight.model.component import Phase
from firstlight.tools import content, install
from tests import runs


@contextlib.asynccontextmanager
async def brought_up(programs: Mapping[str, Path], home: Path, *, talos: runs.Talos) -> AsyncIterator[runs.Stage]:
    """Everything is there but the root object; all is gone afterwards."""
    found = {**programs, **await install.ensure(runs.TOOLS)}
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    stage = await runs.stage(
        home, found, machines=runs.MACHINES, talos=talos,
        manifests={"cluster/flux-system/gotk-components.yaml": manifests / "install.yaml"},
    )  # fmt: skip
    try:
        result = await stage.up(until=Phase.ENGINE)
        assert result.is_complete, result.outcomes
        yield stage
    finally:
        await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture(scope="session")
async def to_engine(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[runs.Stage]:
    """The one that tests share: those of faults leave it as it was, and those of the handover come after them."""
    async with brought_up(programs, tmp_path_factory.mktemp("stages") / "engine", talos="1.13") as stage:
        yield stage
