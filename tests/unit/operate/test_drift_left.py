"""What to do about drift that a correction has left."""

import dataclasses

import pytest

from firstlight.model.component import ObjectId
from firstlight.model.drift import Difference, Drift, Drifted, FieldDifference
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.operate import drift_left
from firstlight.operate.drift_left import Answer
from firstlight.ownership import drift_words
from firstlight.ownership.drifting import Wanted

RELEASE = ObjectOwner(Party.FLUX, "HelmRelease shop/web")
APPLICATION = ObjectOwner(Party.ARGOCD, "Application web")
SETTINGS = ObjectId("", "ConfigMap", "shop", "settings")
VALUE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}


def told(
    answer: Answer | None, *, owner: ObjectOwner = RELEASE, beside: bool = False, as_owner: bool = False
) -> list[str]:
    field = FieldDifference(path="data.more", live='"x"', manager="kubectl-patch", is_beside=beside)
    changed = Drifted(id=SETTINGS, component="web", difference=Difference.CHANGED, says="", fields=(field,))
    extra = dataclasses.replace(changed, difference=Difference.EXTRA, id=dataclasses.replace(SETTINGS, name="other"))
    drift = Drift(cluster="infra", revision="", drifted=(changed, extra), compared=1)
    wanted = Wanted(object=Object(VALUE), component="web", manager="helm-controller", owner=owner)
    answers = {} if answer is None else {owner: answer}
    return list(drift_left.advice(drift, {SETTINGS: wanted}, answers, as_owner=as_owner))


@pytest.mark.parametrize(
    ("answer", "as_owner", "beside", "start"),
    [
        (
            Answer.DONE,
            False,
            True,
            "firstlight drift infra --correct --as-owner removes, after it has asked, what HelmR",
        ),
        (
            Answer.DONE,
            True,
            True,
            "kubectl edit configmap settings -n shop, and take data.more away: HelmRelease shop/",
        ),
        (Answer.DONE, False, False, "kubectl describe helmrelease web -n shop may tell why"),
        (Answer.DONE, True, False, "kubectl describe helmrelease web -n shop may tell why"),
        (
            Answer.NONE,
            False,
            False,
            "firstlight drift infra --correct --as-owner applies Git's form in the place of He",
        ),
        (Answer.NONE, True, False, "see why helm-controller does not answer"),
        (Answer.SUSPENDED, False, False, "resume HelmRelease shop/web"),
        (Answer.GONE, False, False, "firstlight owners infra"),
        (None, True, False, "firstlight drift infra --correct asks the engine"),
    ],
)
def test_it_is_never_what_was_tried(answer: Answer | None, as_owner: bool, beside: bool, start: str) -> None:
    (line,) = told(answer, as_owner=as_owner, beside=beside)
    assert line.startswith(start)


def test_what_no_engine_puts_back_is_told() -> None:
    wanted = {SETTINGS: Wanted(object=Object(VALUE), component="web", manager="helm-controller", owner=RELEASE)}

    def told_of(field: FieldDifference, says: str = "") -> tuple[str, ...]:
        one = Drifted(id=SETTINGS, component="web", difference=Difference.CHANGED, says=says, fields=(field,))
        drift = Drift(cluster="infra", revision="", drifted=(one,), compared=1)
        return drift_left.advice(drift, wanted, {RELEASE: Answer.DONE}, as_owner=True)

    (scaled,) = told_of(FieldDifference(path="spec.replicas", live="3"))
    assert scaled.startswith("write replicas into Git, or declare /spec/replicas as ignored")
    (paused,) = told_of(FieldDifference(path="data.a", manager="kubectl"), f"1 field; x/y {drift_words.AWAY}")
    assert paused == "take away what keeps the engine from ConfigMap shop/settings, as is said above, then again"


def test_an_application_is_synced_by_its_own_command() -> None:
    assert told(Answer.DONE, owner=APPLICATION) == [
        "argocd app sync web: Application web has looked, and has not put it back"
    ]
