"""Explanations on a terminal, and as data."""

import pytest

from firstlight.commands.explain import text as explain_text
from firstlight.commands.explain.explanation import (
    Chain,
    ChainLink,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.drawing import table
from firstlight.model.component import Phase, Side
from firstlight.model.place import Place

WEB = Explanation(
    sort=ExplanationKind.COMPONENT,
    name="web",
    clusters=("home",),
    parts=(
        ExplanationPart(
            name="what", sentences=(Sentence(text="A page that says hello to whoever comes by and asks nothing back."),)
        ),
        ExplanationPart(
            name="where",
            sentences=(
                Sentence(text="gitops: Kustomization", place=Place("apps/web.yaml", 3)),
                Sentence(text="It is new.", place=Place("apps/web.yaml", 4, 2)),
            ),
        ),
        ExplanationPart(
            name="change",
            sentences=(Sentence(text="See what comes of it.", command="firstlight drift home --component web"),),
        ),
    ),
    see=("gitops", "Deployment"),
)
CHAIN = Chain(
    cluster="home",
    engine="Flux",
    url="https://git.example.org/me/home",
    path="clusters/home",
    links=(
        ChainLink(name="Talos", says="the operating system", phase=Phase.MACHINE, side=Side.BOOTSTRAP, level=0),
        ChainLink(name="cilium", says="nodes are NotReady without it", phase=Phase.CORE, side=Side.HYBRID, level=1),
        ChainLink(name="coredns", says="names", phase=Phase.CORE, side=Side.BOOTSTRAP, level=1),
        ChainLink(
            name="2 components",
            says="need nothing else",
            phase=Phase.GITOPS,
            side=Side.GITOPS,
            level=2,
            members=("a", "b"),
        ),
    ),
)


def test_the_page_of_a_component() -> None:
    assert explain_text.text([WEB], columns=50).splitlines() == [
        "web · component of home",
        "",
        "  what     A page that says hello to whoever comes",
        "           by and asks nothing back.",
        "",
        "  where    gitops: Kustomization, at",
        "             apps/web.yaml:3",
        "           It is new, at apps/web.yaml:4:2.",
        "",
        "  change   See what comes of it:",
        "             $ firstlight drift home --component web",
        "",
        "  see      gitops, Deployment",
    ]


def test_several_meanings_stand_below_each_other() -> None:
    word = Explanation(sort=ExplanationKind.WORD, name="web", parts=WEB.parts[:1])

    assert "\n\nweb · word\n" in explain_text.text([WEB, word], columns=80)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_lines_fit_the_terminal_but_for_commands(columns: int) -> None:
    lines = explain_text.text([WEB], columns=columns).splitlines()

    fitting = max(columns, 31)  # eleven cells for headings, and twenty for words
    assert all(table.width(each) <= min(fitting, 100) for each in lines if "$ " not in each)
    assert any("$ firstlight drift home --component web" in each for each in lines)


def test_a_command_is_never_broken() -> None:
    command = "firstlight drift home --component " + "x" * 90
    page = Explanation(
        sort=ExplanationKind.WORD,
        name="a",
        parts=(ExplanationPart(name="type", sentences=(Sentence(text="Type", command=command),)),),
    )

    assert f"$ {command}" in explain_text.text([page], columns=80)


def test_the_chain_is_drawn() -> None:
    assert explain_text.chain_text([CHAIN], columns=60).splitlines() == [
        "home   what stands on what",
        "",
        "  ■   Talos          the operating system",
        "  │",
        "  ◧   cilium         nodes are NotReady without it",
        "  ■   coredns        names",
        "  │",
        "  ┄┄┄ bootstrap ends here, Git begins: Flux follows",
        "      https://git.example.org/me/home in clusters/home",
        "  │",
        "  ○   2 components   a, b: need nothing else",
        "",
        "■ bootstrap   ◧ bootstrap, then GitOps   ○ GitOps   each stands on what is above",
    ]


def test_many_members_are_counted() -> None:
    many = ChainLink(
        name="12 components", says="x", phase=Phase.GITOPS, side=Side.GITOPS, level=0,
        members=tuple(f"c{number}" for number in range(12)),
    )  # fmt: skip

    assert "c7 and 4 more: x" in explain_text.chain_text([Chain(cluster="home", links=(many,))], columns=100)


def test_what_a_repo_says_is_shown_and_not_obeyed() -> None:
    evil = "a\x1b[31mb\nc\u202e https://me:hunter2@git.example.org/x"
    said = (Sentence(text=evil, place=Place(evil, 1)), Sentence(text="x", command=evil))
    page = Explanation(
        sort=ExplanationKind.COMPONENT, name=evil, clusters=(evil,), see=(evil,),
        parts=(ExplanationPart(name="where", sentences=said),),
    )  # fmt: skip
    link = ChainLink(name=evil, says=evil, phase=Phase.CORE, side=Side.BOOTSTRAP, level=0, members=(evil, "b"))
    chain = Chain(cluster=evil, links=(link,), engine="Flux", url=evil, path=evil)

    for text in (explain_text.text([page], columns=80), explain_text.chain_text([chain], columns=80)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "hunter2" not in text


def test_data_has_stable_names() -> None:
    (meaning,) = explain_text.data([WEB])["meanings"]
    (chain,) = explain_text.chain_data([CHAIN])["chains"]

    assert set(meaning) == {"sort", "name", "clusters", "parts", "see"}
    assert meaning["parts"][1] == {
        "name": "where",
        "sentences": [
            {
                "text": "gitops: Kustomization",
                "place": {"path": "apps/web.yaml", "line": 3, "column": 0},
                "command": "",
            },
            {"text": "It is new.", "place": {"path": "apps/web.yaml", "line": 4, "column": 2}, "command": ""},
        ],
    }
    assert chain["links"][3] == {
        "name": "2 components",
        "says": "need nothing else",
        "phase": Phase.GITOPS,
        "side": Side.GITOPS,
        "level": 2,
        "members": ("a", "b"),
    }


def test_a_path_that_no_line_holds_is_broken_at_a_slash() -> None:
    path = "kubernetes/clusters/home/infrastructure/network/cilium/release.yaml"
    page = Explanation(
        sort=ExplanationKind.WORD,
        name="w",
        parts=(ExplanationPart(name="what", sentences=(Sentence(text=f"It stands in {path} alone."),)),),
    )

    lines = [each.strip() for each in explain_text.text([page], columns=50).splitlines()]

    assert path in "".join(lines)
    assert all(each.endswith(("/", "in", "alone.")) for each in lines[2:])
