"""What stands in a repo keeps no expression busy."""

import time

import pytest

from firstlight.commands.audit.checks import bootstrap_steps, readiness
from firstlight.repo.secrecy import clear_secrets

LONG = 100_000


@pytest.mark.parametrize(
    "value",
    [" " * LONG, "a" * LONG, f"your_{'_' * 60}!", f"your_{'a_' * 60}!", f"{'a-' * 90}!", "replace me " * 18 + "!"],
)
def test_values_that_may_be_placeholders(value: str) -> None:
    begun = time.process_time()
    assert not clear_secrets.is_placeholder(value)
    assert time.process_time() - begun < 1


def test_commands_with_many_options() -> None:
    begun = time.process_time()
    assert bootstrap_steps._once(f"helm {'--a ' * 200}!") is None
    assert time.process_time() - begun < 1
    assert bootstrap_steps._once("helm --namespace web --set a=-1 --wait install web") is not None


def test_a_duration_that_nobody_means() -> None:
    begun = time.process_time()
    assert readiness._seconds("0" * LONG) == 0
    assert time.process_time() - begun < 1


def test_steps_with_many_options() -> None:
    begun = time.process_time()
    assert bootstrap_steps._CHANGES.search(f"kubectl {'--a ' * 200}!") is None
    assert time.process_time() - begun < 1
    assert bootstrap_steps._CHANGES.search("kubectl --namespace web --context=a scale deployment web") is not None
