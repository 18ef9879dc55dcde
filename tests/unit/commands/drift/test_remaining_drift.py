"""What to do about drift that a correction has left."""

import dataclasses

import pytest

from firstlight.commands.drift import remaining_drift
from firstlight.commands.drift.remaining_drift import CorrectionAnswer
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift, Drifted, DriftKind, FieldDifference
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership.drift_judgement import WantedObject

RELEASE = ObjectOwner(Party.FLUX, "HelmRelease shop/web")
APPLICATION = ObjectOwner(Party.ARGOCD, "Application web")
SETTINGS = ObjectId("", "ConfigMap", "shop", "settings")
VALUE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}


def told(
    answer: CorrectionAnswer | None, *, owner: ObjectOwner = RELEASE, beside: bool = False, as_owner: bool = False
) -> list[str]:
    field = FieldDifference(path="data.more", live='"x"', manager="kubectl-patch", is_beside=beside)
    changed = Drifted(id=SETTINGS, component="web", difference=DriftKind.CHANGED, says="", fields=(field,))
    extra = dataclasses.replace(changed, difference=DriftKind.EXTRA, id=dataclasses.replace(SETTINGS, name="other"))
    drift = Drift(cluster="infra", revision="", drifted=(changed, extra), compared=1)
    wanted = WantedObject(object=Object(VALUE), component="web", manager="helm-controller", owner=owner)
    answers = {} if answer is None else {owner: answer}
    return list(remaining_drift.advice(drift, {SETTINGS: wanted}, answers, as_owner=as_owner))


@pytest.mark.parametrize(
    ("answer", "as_owner", "beside", "start"),
    [
        (
            CorrectionAnswer.DONE,
            False,
            True,
            "firstlight drift infra --correct --as-owner removes, after it has asked, what HelmR",
        ),
        (
            CorrectionAnswer.DONE,
            True,
            True,
            "kubectl edit configmap settings -n shop, and take data.more away: HelmRelease shop/",
        ),
        (CorrectionAnswer.DONE, False, False, "kubectl describe helmrelease web -n shop may tell why"),
        (CorrectionAnswer.DONE, True, False, "kubectl describe helmrelease web -n shop may tell why"),
        (
            CorrectionAnswer.NONE,
            False,
            False,
            "firstlight drift infra --correct --as-owner applies Git's form in the place of He",
        ),
        (CorrectionAnswer.NONE, True, False, "see why helm-controller does not answer"),
        (CorrectionAnswer.SUSPENDED, False, False, "resume HelmRelease shop/web"),
        (CorrectionAnswer.GONE, False, False, "firstlight owners infra"),
        (None, True, False, "firstlight drift infra --correct asks the engine"),
    ],
)
def test_it_is_never_what_was_tried(answer: CorrectionAnswer | None, as_owner: bool, beside: bool, start: str) -> None:
    (line,) = told(answer, as_owner=as_owner, beside=beside)
    assert line.startswith(start)


def test_what_no_engine_puts_back_is_told() -> None:
    wanted = {SETTINGS: WantedObject(object=Object(VALUE), component="web", manager="helm-controller", owner=RELEASE)}

    def told_of(field: FieldDifference, *, is_paused: bool = False) -> tuple[str, ...]:
        one = Drifted(
            id=SETTINGS, component="web", difference=DriftKind.CHANGED, says="", fields=(field,), is_paused=is_paused
        )
        drift = Drift(cluster="infra", revision="", drifted=(one,), compared=1)
        return remaining_drift.advice(drift, wanted, {RELEASE: CorrectionAnswer.DONE}, as_owner=True)

    (scaled,) = told_of(FieldDifference(path="spec.replicas", live="3"))
    assert scaled.startswith("write replicas into Git, or declare /spec/replicas as ignored")
    (paused,) = told_of(FieldDifference(path="data.a", manager="kubectl"), is_paused=True)
    assert paused == "take away what keeps the engine from ConfigMap shop/settings, as is said above, then again"


@pytest.mark.parametrize(
    ("as_owner", "start"),
    [
        (False, "firstlight drift infra --correct --as-owner makes the engine the owner of what it has in Git"),
        (True, "firstlight owners infra tells who holds ConfigMap shop/settings"),
    ],
)
def test_what_is_as_in_git_and_held_by_others_is_taken_by_its_own_command(as_owner: bool, start: str) -> None:
    field = FieldDifference(path="data.more", wanted='"x"', live='"x"', manager="kubectl")
    held = Drifted(id=SETTINGS, component="web", difference=DriftKind.WRONG_OWNER, says="", fields=(field,))
    drift = Drift(cluster="infra", revision="", drifted=(held,), compared=1)
    wanted = {SETTINGS: WantedObject(object=Object(VALUE), component="web", manager="helm-controller", owner=RELEASE)}

    (line,) = remaining_drift.advice(drift, wanted, {RELEASE: CorrectionAnswer.DONE}, as_owner=as_owner)

    assert line.startswith(start)


def test_an_application_is_synced_by_its_own_command() -> None:
    assert told(CorrectionAnswer.DONE, owner=APPLICATION) == [
        "argocd app sync web: Application web has looked, and has not put it back"
    ]
