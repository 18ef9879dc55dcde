"""Whether an emergency is one in which Git can still bring the change."""

import pytest

from firstlight import errors
from firstlight.commands.change import prepare
from firstlight.commands.decide.change_source import DecisionFacts


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (DecisionFacts(operational=False, says="connection refused"), "firstlight doctor infra"),
        (DecisionFacts(operational=True, engine_works=False, says="flux is not ready"), "firstlight override begin"),
    ],
)
def test_another_emergency_is_refused_with_the_way_that_is_right(seen: DecisionFacts, said: str) -> None:
    with pytest.raises(errors.Refused, match=seen.says) as caught:
        prepare.check_expedited("infra", seen, is_engine_needed=True)

    assert said in caught.value.hint


@pytest.mark.parametrize("works", [True, None])
def test_an_engine_that_works_or_is_not_known_to_fail_may_bring_it(works: bool | None) -> None:
    prepare.check_expedited("infra", DecisionFacts(operational=True, engine_works=works), is_engine_needed=True)


def test_what_bootstrap_alone_brings_needs_no_engine() -> None:
    prepare.check_expedited("infra", DecisionFacts(operational=True, engine_works=False), is_engine_needed=False)
