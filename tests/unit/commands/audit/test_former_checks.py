"""Names that checks had before are still understood."""

import pytest

from firstlight.commands.audit import former_checks, rulebook


@pytest.mark.parametrize("name", sorted(former_checks.FORMER))
def test_a_former_name_finds_the_check_of_today(name: str) -> None:
    found = rulebook._resolved(name)

    assert found is not None
    assert f"{found.__module__.rpartition('.')[2]}.{found.__name__}" == former_checks.FORMER[name]
