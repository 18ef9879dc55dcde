"""The lab's own Go programs have tests of their own; they count as ours."""

import pytest

from firstlight.clients import command
from firstlight.tools import events, toolchain, version, workshop


@pytest.mark.parametrize("package", ["proxy", "kubelet"])
async def test_the_go_tests_pass(package: str) -> None:
    shop = workshop.here()
    go = await toolchain.obtain(version.parse("1.26.0"), shop, name=package, report=events.ignore)

    done = await command.run(
        [str(go.go), "test", "-trimpath", f"./internal/{package}"],
        cwd=shop.lab / "programs", env=toolchain.environment(shop), timeout=900, check=False,
    )  # fmt: skip

    assert done.code == 0, done.stdout.decode() + done.stderr
