"""Overrides as text and data: until when, who rests, what comes next."""

import dataclasses

from firstlight.commands.override import data
from firstlight.drawing import override_text
from firstlight.execute.overrides import override_records
from firstlight.model.component import ObjectId
from firstlight.model.override import (
    AppliedChange,
    Emergency,
    EmergencyPath,
    EmergencyRoute,
    FieldChange,
    Override,
    OverrideStanding,
    OverrideStatus,
    SuspendedOwner,
)

WEB = ObjectId("apps", "Deployment", "shop", "web")
HELD = SuspendedOwner(
    kind="Kustomization", namespace="flux-system", name="shop", uid="1", why="owns Deployment shop/web"
)
OPEN = Override(
    id="20261116t200000z-ab12", cluster="infra", emergency=Emergency.OUTAGE, reason="the shop | is down\x1b[2J",
    who="ann@desk", begun=0.0, until=7200.0, standing=OverrideStanding.OPEN, scope=("component shop",), objects=(WEB,),
    held=(HELD,), changes=(AppliedChange(at=60.0, who="ann@desk", object=WEB, fields=("spec.replicas",)),),
)  # fmt: skip


def test_an_open_one_says_until_when_and_what_comes_next() -> None:
    text = override_text.status([OverrideStatus(override=OPEN, awake=(str(HELD),))], cluster="infra", now=3600.0)
    assert "open, expires in 1 h 0 min" in text
    assert "Kustomization flux-system/shop (it does not rest any more)" in text
    assert "Deployment shop/web: spec.replicas" in text
    assert "firstlight override align" in text
    assert "\x1b" not in text


def test_an_expired_one_is_red_and_anybodys() -> None:
    text = override_text.status([OverrideStatus(override=OPEN)], cluster="infra", now=7300.0, is_coloured=True)
    assert f"{override_text.RED}EXPIRED since 1 min: anybody may end or abort it{override_text.RESET}" in text
    assert data.status([OverrideStatus(override=OPEN)], cluster="infra", now=7300.0)["overrides"][0]["expired"] is True


def test_what_comes_next_depends_on_git() -> None:
    assert "end: Git has it" in override_text.next_step(OverrideStatus(override=OPEN, is_compared=True), 0.0)
    differing = OverrideStatus(override=OPEN, is_compared=True, differences=("x",))
    assert "align" in override_text.next_step(differing, 0.0)
    cut = OverrideStatus(override=dataclasses.replace(OPEN, standing=OverrideStanding.ENDING))
    assert "cut off" in override_text.next_step(cut, 0.0)
    assert override_text.next_step(OverrideStatus(override=OPEN, is_copy=True), 0.0).startswith(
        "the API does not answer"
    )


def test_the_way_is_told_with_what_was_seen() -> None:
    answers = (("is the cluster accessible", True, "the API answers"), ("does the engine work", True, "it does"))
    lines = override_text.route(EmergencyRoute(path=EmergencyPath.EXPEDITED, answers=answers))
    assert lines[0] == "  is the cluster accessible? yes: the API answers"
    assert "firstlight change start --expedited" in lines[-1]


def test_the_incident_record_leaves_open_what_people_must_say() -> None:
    over = dataclasses.replace(
        OPEN, standing=OverrideStanding.ENDED, ended=9000.0, ended_by="bob@desk", revision="c0ffee",
        fields=(FieldChange(object=WEB, field="spec.replicas", before="1", after="3"),), notes=("somebody | wrote",),
    )  # fmt: skip
    text = override_records.incident_markdown(over)
    assert "| Deployment shop/web | spec.replicas | 1 | 3 |" in text
    assert "the shop \\| is down" in text
    assert "| Commit that has it | c0ffee |" in text
    assert "\x1b" not in text
    assert "stood longer than it was to" in text
    assert "somebody \\| wrote" in text
    assert "## Cause\n\n_To fill in" in text
    assert "- [ ] _To fill in" in text
