"""Go's own tests, run as ours; Go remembers the results of those whose sources have not changed."""

from collections.abc import Mapping

from firstlight.clients import command
from firstlight.tools import go_toolchain, tool_progress, tool_version, workshop


async def run_tests(module: str, *packages: str, env: Mapping[str, str] | None = None) -> None:
    """Run the tests of packages of a module below ``lab``."""
    shop = workshop.here()
    go = await go_toolchain.obtain(tool_version.parse("1.26.1"), shop, name=module, report=tool_progress.ignore)

    done = await command.run(
        [str(go.go), "test", "-trimpath", "-p=1", *packages],
        cwd=shop.lab / module, env={**go_toolchain.environment(shop), **(env or {})}, timeout=900, check=False,
    )  # fmt: skip

    assert done.code == 0, done.stdout.decode() + done.stderr
