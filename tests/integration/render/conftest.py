"""Programs and homes for tests of rendering."""

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import command
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.tools import install
from tests.integration.render import repos
from tests.integration.render.shop import Shop
from tests.labs import until


@pytest_asyncio.fixture(scope="session")
async def render_programs() -> RendererPrograms:
    found = await install.ensure(["helm", "kustomize"])
    return RendererPrograms(found["helm"], found["kustomize"], repos.git())


@pytest.fixture
def kitchen(render_programs: RendererPrograms, tmp_path: Path) -> repos.Kitchen:
    return repos.Kitchen(render_programs, tmp_path / "home")


@pytest_asyncio.fixture(scope="session")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    """A Git server, a registry and chart repositories, as the lab has them."""
    folder = tmp_path_factory.mktemp("shop")
    ready, control = folder / "ready", folder / "control.sock"
    argv = [
        sys.executable, "-m", "firstlight.lab.sources", "--home", str(folder / "home"), "--address", "127.71.254.1",
        "--git-port", "0", "--oci-port", "0", "--charts-port", "0", "--ready", str(ready), "--control", str(control),
    ]  # fmt: skip
    process = await command.spawn(argv, log=folder / "log", cwd=folder)

    async def is_ready() -> bool:
        assert process.returncode is None, (folder / "log").read_text()
        return ready.exists()

    await until(is_ready, "the sources to be ready", timeout=30)
    sources = SourcesClient(control)
    yield Shop(sources, await sources.status())
    process.send_signal(signal.SIGTERM)
    await process.wait()
