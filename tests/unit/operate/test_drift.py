"""A whole answer from those of all objects."""

from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift
from firstlight.observe.drift import Result
from firstlight.operate import drift
from firstlight.ownership.drifting import Judgement


def test_only_what_was_compared_is_said_to_be() -> None:
    given = [
        Result(judgement=Judgement()),
        Result(judgement=Judgement(None, 1), dry_runs=2),
        Result(judgement=Judgement(), unread="Secret a could not be read: forbidden"),
        Result(judgement=Judgement(), is_compared=False),
    ]
    results = {ObjectId("", "ConfigMap", "shop", str(number)): each for number, each in enumerate(given)}
    found = drift._with(Drift(cluster="infra", revision="", drifted=(), compared=0), results, ())
    assert (found.compared, found.dry_runs, found.ignored, len(found.unread)) == (2, 2, 1, 1)
