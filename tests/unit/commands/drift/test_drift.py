"""A whole answer from those of all objects."""

from firstlight.commands.drift import drift
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift
from firstlight.observe.drift import DriftResult
from firstlight.ownership.drift_judgement import Judgement


def test_only_what_was_compared_is_said_to_be() -> None:
    given = [
        DriftResult(judgement=Judgement()),
        DriftResult(judgement=Judgement(None, 1), dry_runs=2),
        DriftResult(judgement=Judgement(), unread="Secret a could not be read: forbidden"),
        DriftResult(judgement=Judgement(), is_compared=False),
    ]
    results = {ObjectId("", "ConfigMap", "shop", str(number)): each for number, each in enumerate(given)}
    found = drift._with(Drift(cluster="infra", revision="", drifted=(), compared=0), results, ())
    assert (found.compared, found.dry_runs, found.ignored, len(found.unread)) == (2, 2, 1, 1)
