"""A decision as a comment on a pull request, also of somebody who means harm."""

import dataclasses
import re

import pytest

from firstlight.commands.decide import markdown
from firstlight.model.component import Side
from firstlight.model.decision import Approval, Approved, Decision, DecisionItem, ProcedureStep, Risk
from firstlight.model.place import Place
from tests.unit.commands.decide.test_text import HYBRID, PEERS, SECRETS, TOLD, many, secret

HARM = [
    "a | b | c",
    "<script>alert(1)</script>",
    "</details><img src=x onerror=y>",
    "`code` *bold* _it_ ~~gone~~",
    "[click](https://evil.example.org)",
    "![](https://evil.example.org/p.png)",
    "@everybody look at #1",
    "see https://evil.example.org and www.evil.example.org",
    "```\n# Approved\n```",
    "&lt;b&gt;",
    "\n\n# Approved by everybody\n\n- [x] done",
    "<!-- firstlight decide -->",
    ":tada:",
    "\u202eabc",
]
OURS = re.compile(r"</?(?:code|details|summary|br)>|^<!-- firstlight decide -->\n### |&#\d+;")
MARKUP = re.compile(r"[<&@#]|\]\(|!\[|https?:/|www\.")


@pytest.mark.parametrize("harm", HARM)
def test_nothing_of_a_stranger_is_taken_for_markup(harm: str) -> None:
    text, plain = (markdown.text(said(each)) for each in (harm, "x"))

    assert not MARKUP.search(OURS.sub("", text))
    assert [text.count(each) for each in "\n|`"] == [plain.count(each) for each in "\n|`"]


def said(harm: str) -> Decision:
    """A decision in which somebody says something wherever something can be said."""
    item = secret(dataclasses.replace(TOLD, steps=(harm,), before=harm, after=f"{harm} too"))
    item = dataclasses.replace(
        item,
        change=dataclasses.replace(item.change, title=harm, place=Place(harm)),
        rulings=tuple(dataclasses.replace(each, rule=harm, why=harm) for each in item.rulings),
    )
    return Decision(
        side=Side.GITOPS, risk=Risk.LOW, items=(item,), title=harm, doubts=(harm,),
        procedure=(ProcedureStep(side=None, text=harm),),
        approved=Approved(needed=Approval.SELF, is_given=True, says=harm, by=(harm,)),
    )  # fmt: skip


@pytest.mark.parametrize("harm", [*HARM, "echo ``` && echo ````"])
def test_a_command_cannot_leave_its_fence(harm: str) -> None:
    found = dataclasses.replace(HYBRID, procedure=(ProcedureStep(side=None, text="x", command=harm),), rollback=())

    lines = [each.strip() for each in markdown.text(found).splitlines()]

    start = next(number for number, line in enumerate(lines) if line.endswith("sh") and line.startswith("```"))
    fence = lines[start].removesuffix("sh")
    assert lines[start + 2] == fence
    assert fence not in lines[start + 1]


def test_the_comment_is_known_again_and_says_it_first() -> None:
    lines = markdown.text(HYBRID).splitlines()

    assert lines[:4] == [
        markdown.MARK,
        "### hybrid, high risk: lead approval",
        "",
        "main...HEAD: 2 files, 1 component, 14 dependents",
    ]
    assert "| <code>talos/infra/patches/network.yaml</code> | bootstrap | **high** |" in markdown.text(HYBRID)


def test_checks_are_boxes() -> None:
    text = markdown.text(HYBRID)

    assert "- [x] syntax" in text
    assert "- [ ] an alert (failed): nothing watches BGP sessions" in text


@pytest.mark.parametrize("item", SECRETS)
def test_no_value_of_a_secret_is_shown(item: DecisionItem) -> None:
    assert "hunter" not in markdown.text(Decision(side=Side.GITOPS, risk=Risk.LOW, items=(item,)))


def test_a_comment_is_never_longer_than_one_can_be() -> None:
    long = dataclasses.replace(PEERS, touched=(dataclasses.replace(PEERS.touched[0], dependents=("x" * 200,) * 900),))
    steps = tuple(ProcedureStep(side=None, text="y" * 500) for _ in range(200))
    found = dataclasses.replace(many(2000), procedure=steps, rollback=steps)
    found = dataclasses.replace(found, items=(long, *found.items))

    text = markdown.text(found)

    assert len(text) < 65_536
    assert "since a comment cannot be longer" in text


def test_no_part_of_a_comment_is_longer_than_its_share() -> None:
    odd = "\N{COLLISION SYMBOL}" * 5000
    item = dataclasses.replace(
        PEERS,
        change=dataclasses.replace(PEERS.change, title=odd, place=Place(odd)),
        rulings=tuple(dataclasses.replace(each, rule=odd, why=odd) for each in PEERS.rulings),
    )
    found = dataclasses.replace(
        HYBRID, title=odd, items=(item,) * 40, doubts=(odd,) * 40,
        approved=Approved(needed=Approval.LEAD, is_given=False, says=odd, by=(odd,) * 40),
    )  # fmt: skip

    text = markdown.text(found)

    assert len(text) < 65_536
    assert re.search(r"\| … and (39|40) more \|", text)
    assert len(markdown.text(dataclasses.replace(found, items=()))) < 65_536


def test_doubts_are_counted_from_some_number_on() -> None:
    text = markdown.text(dataclasses.replace(HYBRID, doubts=tuple(f"thing {each}" for each in range(100))))

    assert "- thing 29\n- … and 70 more: <code>firstlight decide --everything</code>\n" in text
    assert text.index("… and 70 more") < text.index("What to do")


def test_nothing_is_said_shortly() -> None:
    assert markdown.text(Decision(side=None, risk=Risk.LOW, items=(), title="staged changes")).splitlines() == [
        markdown.MARK,
        "### no change",
        "",
        "staged changes",
    ]


def test_blocks_of_html_stand_apart_so_that_what_follows_is_markdown() -> None:
    lines = markdown.text(dataclasses.replace(HYBRID, doubts=("x",))).splitlines()

    for number, line in enumerate(lines):
        if line.startswith(("<details>", "</details>")):
            assert lines[number + 1 : number + 2] in ([""], [])
            assert lines[number - 1] == ""


def test_what_belongs_to_a_step_stands_below_its_first_word() -> None:
    steps = tuple(ProcedureStep(side=None, text=f"step {n}", command=f"tool-{n}") for n in range(1, 12))
    lines = markdown.text(dataclasses.replace(HYBRID, procedure=steps, rollback=())).splitlines()

    assert lines[lines.index("9. step 9") + 2] == "   ```sh"
    assert lines[lines.index("10. step 10") + 2 :][:3] == ["    ```sh", "    tool-10", "    ```"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("it is: so, isn't it", "it is: so, isn't it"),
        ("https://x", "https&#58;//x"),
        (":tada:", "&#58;tada:"),
        ("a:b", "a&#58;b"),
    ],
)
def test_colons_that_mean_nothing_are_read_as_they_are(said: str, shown: str) -> None:
    assert markdown.words(said) == shown
