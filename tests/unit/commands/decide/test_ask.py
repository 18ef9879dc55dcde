"""Where answers lead in the trees."""

import dataclasses

from firstlight.commands.decide import ask
from firstlight.drawing import table
from firstlight.model.component import Side
from tests.unit.commands.decide.test_text import FOUNDATION

OTHER = dataclasses.replace(FOUNDATION, tree="architecture", steps=FOUNDATION.steps[:1], side=Side.GITOPS)


def test_one_answer_with_the_way_to_it() -> None:
    lines = ask.trees_text([FOUNDATION], ["Network: it affects the network"], columns=80).splitlines()

    assert lines[:3] == [
        "bootstrap",
        "  why        operations: Is the cluster operational? yes › Does it affect the",
        "               foundation? yes › Does it need direct access to the OS? yes ›",
    ]
    assert "  fits if    Network: it affects the network" in lines
    assert max(map(table.width, lines)) <= 80


def test_where_trees_differ_the_one_wins_that_asks_for_more_care() -> None:
    text = ask.trees_text([OTHER, FOUNDATION], columns=80)

    assert text.startswith("bootstrap\n")
    assert "The trees differ." in text
    assert (ask.trees_data([OTHER, FOUNDATION])["side"], ask.trees_data([OTHER])["side"]) == ("bootstrap", "gitops")
    assert ask.trees_data([OTHER, FOUNDATION])["agree"] is False
