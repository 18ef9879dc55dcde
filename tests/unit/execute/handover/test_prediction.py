"""What of predictions is refused, and what a person must agree to."""

import pytest

from firstlight import errors
from firstlight.execute.handover import prediction as handover_prediction
from firstlight.model.component import ObjectId
from firstlight.model.handover import Prediction
from firstlight.model.owner import ObjectOwner, Party


def prediction(
    name: str = "web", *, lost: tuple[str, ...] = (), refused: str = "", rolls: bool = False
) -> Prediction:  # fmt: skip
    return Prediction(
        id=ObjectId("apps", "Deployment", "web", name), component="shop", owner=ObjectOwner(Party.FLUX), lost=lost,
        refused=refused, rolls=rolls,
    )  # fmt: skip


def test_nothing_is_refused_that_only_changes() -> None:
    handover_prediction.check_predictions([prediction(rolls=True)], cluster="home", is_loss_allowed=False)


def test_lost_fields_are_refused_until_somebody_lets_them_go() -> None:
    found = [prediction(lost=("data.a", "data.b")), prediction("fine")]

    with pytest.raises(errors.Refused) as refused:
        handover_prediction.check_predictions(found, cluster="home", is_loss_allowed=False)

    assert "  Deployment web/web: data.a\n  Deployment web/web: data.b" in refused.value.message
    assert refused.value.hint.endswith("firstlight handover home --allow-loss")
    handover_prediction.check_predictions(found, cluster="home", is_loss_allowed=True)


def test_what_the_server_refuses_stays_refused_whatever_is_allowed() -> None:
    found = [prediction(refused="spec.selector: field is immutable", lost=("data.a",))]

    with pytest.raises(errors.Refused) as refused:
        handover_prediction.check_predictions(found, cluster="home", is_loss_allowed=True)

    assert "Deployment web/web: spec.selector: field is immutable" in refused.value.message
    assert "data.a" not in refused.value.message
    assert "firstlight boundary home" in refused.value.hint
    assert "shop" in refused.value.hint


def test_both_are_told_at_once() -> None:
    with pytest.raises(errors.Refused) as refused:
        handover_prediction.check_predictions(
            [prediction(refused="no"), prediction("b", lost=("data.a",))], cluster="home", is_loss_allowed=False
        )

    assert "Deployment web/web: no" in refused.value.message
    assert "Deployment web/b: data.a" in refused.value.message


def test_long_lists_are_cut() -> None:
    with pytest.raises(errors.Refused, match="and 8 more"):
        handover_prediction.check_predictions(
            [prediction(lost=tuple(f"data.{number}" for number in range(20)))], cluster="home", is_loss_allowed=False
        )


def test_a_danger_names_workloads_and_is_the_same_in_any_order() -> None:
    found = [prediction("b", rolls=True), prediction("a", rolls=True), prediction("c")]

    assert handover_prediction.danger(found) == handover_prediction.danger(reversed(found))
    assert "Deployment web/a, Deployment web/b" in handover_prediction.danger(found)
    assert handover_prediction.danger([prediction()]) == ""
