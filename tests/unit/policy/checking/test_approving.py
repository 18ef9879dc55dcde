"""Whether an approval is there: who counts, who does not, and which commit must say so."""

import datetime

import pytest

from firstlight.model.decision import Approval
from firstlight.model.git import Commit, Person
from firstlight.policy.checking import approving, owners

OWNERS = owners.load(
    b"""\
people:
  - {name: Ada, email: ada@example.org, roles: [lead]}
  - {name: Bo, email: bo@example.org, roles: [peer]}
  - {name: Cy, email: cy@example.org, roles: [peer]}
  - {name: Di, email: di@example.org, roles: [lead, peer]}
"""
)
WHEN = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
ADA, BO, CY = "Ada <ada@example.org>", "Bo <bo@example.org>", "Cy <cy@example.org>"


def commit(*lines: str, author: str = "Bo <bo@example.org>", id: str = "1a2b3c4d", parents: int = 1) -> Commit:
    name, _, email = author.removesuffix(">").partition(" <")
    who = Person(name, email)
    return Commit(
        id=id, parents=("0",) * parents, author=who, authored=WHEN, committer=who, committed=WHEN, subject="x",
        body="\n".join(lines),
    )  # fmt: skip


def judge(needed: Approval, *commits: Commit) -> tuple[bool, str]:
    found = approving.judged(needed, commits, OWNERS)
    return found.is_given, found.says


@pytest.mark.parametrize(
    ("needed", "lines", "is_given"),
    [
        (Approval.SELF, [], True),
        (Approval.PEER, [], False),
        (Approval.PEER, [f"Reviewed-by: {CY}"], True),
        (Approval.PEER, [f"reviewed-BY: {ADA}"], True),
        (Approval.PEER, ["Reviewed-by: Cy <CY@example.org>"], True),
        (Approval.PEER, [f"Acked-by: {CY}"], False),
        (Approval.PEER, [f"Reviewed-by: {BO}"], False),
        (Approval.PEER, ["Reviewed-by: Cy"], False),
        (Approval.PEER, ["Reviewed-by: Eve <eve@example.org>"], False),
        (Approval.PEER, [f"Reviewed-by: {CY}", "", "and that was all"], False),
        (Approval.LEAD, [f"Approved-by: {CY}"], False),
        (Approval.LEAD, [f"Approved-by: {ADA}"], True),
        (Approval.TEAM, [f"Approved-by: {ADA}"], False),
        (Approval.TEAM, [f"Approved-by: {ADA}", f"Reviewed-by: {ADA}"], False),
        (Approval.TEAM, [f"Approved-by: {ADA}", f"Reviewed-by: {CY}"], True),
        (Approval.TEAM, [f"Approved-by: {ADA}", "Approved-by: Di <di@example.org>"], True),
        (Approval.TEAM, [f"Approved-by: {CY}", f"Approved-by: {BO}"], False),
    ],
)
def test_what_suffices(needed: Approval, lines: list[str], is_given: bool) -> None:
    assert judge(needed, commit(*lines))[0] is is_given


def test_a_team_needs_a_lead() -> None:
    both = commit(f"Approved-by: {CY}", f"Approved-by: {BO}", author="Eve <eve@example.org>")

    is_given, says = judge(Approval.TEAM, both)

    assert not is_given
    assert says.startswith("a lead (Ada, Di) must approve it")


def test_a_team_may_be_larger() -> None:
    three = owners.Owners(people=OWNERS.people, team=owners.Team(approvals=3))
    one = commit(f"Approved-by: {ADA}", f"Approved-by: {CY}")

    found = approving.judged(Approval.TEAM, [one], three)

    assert not found.is_given
    assert found.says.startswith("1 more of 3 people must approve it")


def test_nobody_approves_what_they_wrote() -> None:
    _, says = judge(Approval.PEER, commit(f"Reviewed-by: {BO}"))

    assert "Bo <bo@example.org> has written a part of it" in says


def test_nor_what_they_wrote_from_another_address() -> None:
    is_given, _ = judge(Approval.PEER, commit(f"Reviewed-by: {BO}", author="Bo <bo@home.example.org>"))

    assert not is_given


def test_nor_what_they_wrote_under_another_name() -> None:
    is_given, _ = judge(Approval.PEER, commit(f"Reviewed-by: {BO}", author="Robert <BO@example.org>"))

    assert not is_given


def test_nor_what_they_wrote_with_somebody() -> None:
    is_given, _ = judge(Approval.LEAD, commit(f"Approved-by: {ADA}", f"Co-authored-by: {ADA}"))

    assert not is_given


def test_nor_another_commit_of_the_same_change() -> None:
    newest, older = commit(f"Approved-by: {ADA}"), commit(author=ADA, id="0f0f0f0f")

    assert not judge(Approval.LEAD, newest, older)[0]


def test_nor_a_merge_of_their_own_which_can_bring_anything() -> None:
    merge, own = commit(f"Approved-by: {ADA}", author=ADA, parents=2), commit(id="0f0f0f0f")

    assert not judge(Approval.LEAD, merge, own)[0]
    assert judge(Approval.LEAD, commit(f"Approved-by: {ADA}", author=CY, parents=2), own)[0]


def test_one_person_with_two_addresses_is_one() -> None:
    twice = owners.load(
        b"people: [{name: Ada, email: ada@example.org, roles: [lead]}, {name: ' ada', email: ada@home.example.org}]"
    )
    both = commit(f"Approved-by: {ADA}", "Approved-by: Ada <ada@home.example.org>")

    found = approving.judged(Approval.TEAM, [both], twice)

    assert not found.is_given
    assert found.says.startswith("1 more of 2 people must approve it")


def test_what_came_after_an_approval_is_not_approved() -> None:
    newest, approved = commit(id="99999999"), commit(f"Approved-by: {ADA}", id="0f0f0f0f")

    is_given, says = judge(Approval.LEAD, newest, approved)

    assert not is_given
    assert "Ada has approved 0f0f0f0, and 1 commit came after it" in says


def test_who_is_counted_and_who_is_not_known() -> None:
    found = approving.judged(
        Approval.PEER, [commit("Reviewed-by: Eve <eve@example.org>", f"Reviewed-by: {CY}")], OWNERS
    )

    assert found.is_given
    assert found.by == ("Cy <cy@example.org>, Reviewed-by of 1a2b3c4",)
    assert "Eve <eve@example.org> is not in firstlight-rules/owners.yaml" in found.says
    assert approving.WORDS_ONLY in found.says


def test_without_a_list_nobody_can_approve() -> None:
    found = approving.judged(Approval.PEER, [commit(f"Reviewed-by: {CY}")], None, base="main")

    assert not found.is_given
    assert "there is no firstlight-rules/owners.yaml in the base of main" in found.says
    assert approving.judged(Approval.SELF, [commit()], None).is_given


def test_what_is_not_committed_is_not_approved() -> None:
    assert not approving.judged(Approval.PEER, [], OWNERS).is_given
