"""The lab's own small Go programs have tests of their own; they count as ours."""

import pytest

from tests import go


@pytest.mark.parametrize("package", ["proxy", "kubelet", "redis"])
async def test_the_go_tests_pass(package: str) -> None:
    await go.run_tests("programs", f"./internal/{package}")
