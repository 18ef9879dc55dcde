"""What stands in a repo keeps no expression busy."""

import time

import pytest

from firstlight.policy.auditing import secret_words
from firstlight.policy.auditing.checks import hand_steps, hooks, waiting

LONG = 100_000


@pytest.mark.parametrize(
    "value",
    [" " * LONG, "a" * LONG, f"your_{'_' * 60}!", f"your_{'a_' * 60}!", f"{'a-' * 90}!", "replace me " * 18 + "!"],
)
def test_values_that_may_be_placeholders(value: str) -> None:
    begun = time.process_time()
    assert not secret_words.is_placeholder(value)
    assert time.process_time() - begun < 1


def test_commands_with_many_options() -> None:
    begun = time.process_time()
    assert hooks._once(f"helm {'--a ' * 200}!") is None
    assert time.process_time() - begun < 1
    assert hooks._once("helm --namespace web --set a=-1 --wait install web") is not None


def test_a_duration_that_nobody_means() -> None:
    begun = time.process_time()
    assert waiting._seconds("0" * LONG) == 0
    assert time.process_time() - begun < 1


def test_steps_with_many_options() -> None:
    begun = time.process_time()
    assert hand_steps._CHANGES.search(f"kubectl {'--a ' * 200}!") is None
    assert time.process_time() - begun < 1
    assert hand_steps._CHANGES.search("kubectl --namespace web --context=a scale deployment web") is not None
