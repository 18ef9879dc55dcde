"""Whether an approval is there: who counts, who does not, and which commit must say so."""

import datetime

import pytest

from firstlight.commands.decide import approval, owners_file
from firstlight.model.decision import Approval
from firstlight.model.git import Commit, GitPerson

OWNERS = owners_file.load(
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


def commit(
    *lines: str, author: str = "Bo <bo@example.org>", committer: str = "", id: str = "1a2b3c4d", parents: int = 1
) -> Commit:
    who, by = (_person(each) for each in (author, committer or author))
    return Commit(
        id=id, parents=("0",) * parents, author=who, authored=WHEN, committer=by, committed=WHEN, subject="x",
        body="\n".join(lines),
    )  # fmt: skip


def _person(text: str) -> GitPerson:
    name, _, email = text.removesuffix(">").rpartition(" <")
    return GitPerson(name, email)


def judge(needed: Approval, *commits: Commit) -> tuple[bool, str]:
    found = approval.judged_approval(needed, commits, OWNERS)
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
    three = owners_file.ChangeOwners(people=OWNERS.people, team=owners_file.Team(approvals=3))
    one = commit(f"Approved-by: {ADA}", f"Approved-by: {CY}")

    found = approval.judged_approval(Approval.TEAM, [one], three)

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


def test_nor_what_they_committed() -> None:
    is_given, says = judge(Approval.LEAD, commit(f"Approved-by: {ADA}", committer=ADA))

    assert not is_given
    assert "Ada <ada@example.org> has committed a part of it, and cannot approve that" in says


def test_nor_what_they_committed_before_the_newest() -> None:
    newest, older = commit(f"Approved-by: {ADA}"), commit(committer=ADA, id="0f0f0f0f")

    assert not judge(Approval.LEAD, newest, older)[0]


def test_nor_what_they_merged() -> None:
    merge = commit(f"Approved-by: {ADA}", author=CY, committer=ADA, parents=2)

    is_given, says = judge(Approval.LEAD, merge, commit(id="0f0f0f0f"))

    assert not is_given
    assert "has merged a part of it" in says


@pytest.mark.parametrize(
    "line",
    [
        f"Co-authored-by: {ADA}", f"co-AUTHORED-by : {ADA}", f"Co-developed-by: {ADA}", f"Co-Authored-By: {ADA} ",
        "Co-authored-by: Ada", "Co-authored-by: A. Lovelace <ADA@example.org>", f"Merged-by: {ADA}",
    ],
)  # fmt: skip
def test_nor_what_they_had_a_hand_in_wherever_that_stands(line: str) -> None:
    assert not judge(Approval.LEAD, commit(line, "", "and that was all", "", f"Approved-by: {ADA}"))[0]


@pytest.mark.parametrize(
    "author",
    [
        "\u0410da <eve@example.org>",  # Cyrillic
        "\u0391da <eve@example.org>",  # Greek
        "A\u200bda <eve@example.org>",  # nothing, but a character
        "Ad\u00e1 <eve@example.org>",
        "\uff21\uff44\uff41 <eve@example.org>",  # as wide as Chinese letters
        "\U0001d400\U0001d41d\U0001d41a <eve@example.org>",  # bold, for mathematicians
        "A\u202eda\u202c <eve@example.org>",
        "Ada\u3164 <eve@example.org>",
        " A-d-a  <eve@example.org>",
        "Eve <ada+git@example.org>",
        "Eve <\u0430da@example.org>",
        "Eve <ADA@EXAMPLE.ORG>",
        "Eve <\uff41da@example.org>",
        "Eve <ada@ex\u0430mple.org>",
    ],
)
def test_nor_what_somebody_wrote_who_looks_like_them(author: str) -> None:
    is_given, says = judge(Approval.LEAD, commit(f"Approved-by: {ADA}", author=author))

    assert not is_given
    assert "Ada <ada@example.org> has written a part of it" in says


def test_whoever_looks_like_an_owner_is_none() -> None:
    for who in ("Ada <ada+git@example.org>", "Ada <\u0430da@example.org>", "Ada <ada@example.org.example.com>"):
        assert not judge(Approval.LEAD, commit(f"Approved-by: {who}"))[0], who


def test_another_address_in_the_list_is_the_same_person() -> None:
    listed = owners_file.load(
        b"people: [{name: Ada, email: ada@example.org, roles: [lead]}, {name: Ada, email: countess@example.com}]"
    )
    one = commit(f"Approved-by: {ADA}", author="A. L. <countess@example.com>")

    assert not approval.judged_approval(Approval.LEAD, [one], listed).is_given


def test_people_who_look_alike_count_once() -> None:
    listed = owners_file.load(
        "people: [{name: Ada, email: ada@example.org, roles: [lead]}, {name: \u0410da, email: e@example.org}]".encode()
    )
    both = commit(f"Approved-by: {ADA}", "Approved-by: \u0410da <e@example.org>")

    assert not approval.judged_approval(Approval.TEAM, [both], listed).is_given


def test_one_person_with_two_addresses_is_one() -> None:
    twice = owners_file.load(
        b"people: [{name: Ada, email: ada@example.org, roles: [lead]}, {name: ' ada', email: ada@home.example.org}]"
    )
    both = commit(f"Approved-by: {ADA}", "Approved-by: Ada <ada@home.example.org>")

    found = approval.judged_approval(Approval.TEAM, [both], twice)

    assert not found.is_given
    assert found.says.startswith("1 more of 2 people must approve it")


def test_what_came_after_an_approval_is_not_approved() -> None:
    newest, approved = commit(id="99999999"), commit(f"Approved-by: {ADA}", id="0f0f0f0f")

    is_given, says = judge(Approval.LEAD, newest, approved)

    assert not is_given
    assert "Ada has approved 0f0f0f0, and 1 commit came after it" in says


def test_who_is_counted_and_who_is_not_known() -> None:
    found = approval.judged_approval(
        Approval.PEER, [commit("Reviewed-by: Eve <eve@example.org>", f"Reviewed-by: {CY}")], OWNERS
    )

    assert found.is_given
    assert found.by == ("Cy <cy@example.org>, Reviewed-by of 1a2b3c4",)
    assert "Eve <eve@example.org> is not in firstlight-rules/owners.yaml" in found.says
    assert approval.WORDS_ONLY in found.says


def test_without_a_list_nobody_can_approve() -> None:
    found = approval.judged_approval(Approval.PEER, [commit(f"Reviewed-by: {CY}")], None, base="main")

    assert not found.is_given
    assert "there is no firstlight-rules/owners.yaml in the base of main" in found.says
    assert approval.judged_approval(Approval.SELF, [commit()], None).is_given


def test_what_is_not_committed_is_not_approved() -> None:
    assert not approval.judged_approval(Approval.PEER, [], OWNERS).is_given
