"""Go's own libraries, asked what a text means."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import command
from firstlight.tools import go_toolchain, tool_progress, tool_version, workshop
from tests.integration.document import go_yaml

SOURCES = Path(__file__).parent / "oracle"


@pytest_asyncio.fixture(scope="session")
async def go(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[go_yaml.Oracle]:
    """The oracle; Go remembers what it has compiled, so that only linking is done again."""
    shop = workshop.here()
    found = await go_toolchain.obtain(tool_version.parse("1.26.1"), shop, name="go-yaml", report=tool_progress.ignore)
    program = tmp_path_factory.mktemp("go-yaml") / "go-yaml"
    await command.run(
        [str(found.go), "build", "-mod=readonly", "-trimpath", "-o", str(program), "."], cwd=SOURCES,
        env={**go_toolchain.environment(shop), **await go_toolchain.network(found, shop)}, timeout=600,
    )  # fmt: skip
    with go_yaml.Oracle(program) as oracle:
        yield oracle
