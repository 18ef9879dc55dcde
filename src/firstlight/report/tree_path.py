"""Where answers lead in the decision trees, as text and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.component import Side
from firstlight.model.decision import TreePath
from firstlight.report import decision_data
from firstlight.report import decision_words as texts


def side(paths: Sequence[TreePath]) -> Side:
    """The answer of all trees together: where they differ, the one that asks for more care."""
    found = {each.side for each in paths}
    return found.pop() if len(found) == 1 else Side.BOOTSTRAP


def text(paths: Sequence[TreePath], reasons: Sequence[str] = (), *, columns: int) -> str:
    """The answer, the way to it, and what it does not know.

    Args:
        paths: The ways through the trees.
        reasons: What the documents name for this side.
        columns: How wide the terminal is.
    """
    lines = [str(side(paths))]
    lines += texts.block("why", [f"{each.tree}: {texts.way(each)}" for each in paths], columns)
    if len({each.side for each in paths}) > 1:
        said = "The trees differ. Until somebody knows better it is treated as bootstrap, which asks for more care."
        lines += texts.block("but", [said], columns)
    lines += texts.block("fits if", reasons, columns)
    said = "Trees know no tables: a node label ends as gitops here, and belongs to bootstrap. Say what it is, and the "
    lines += texts.block("next", [f"{said}rules answer: firstlight decide add node labels"], columns)
    return "\n".join(lines)


def data(paths: Sequence[TreePath]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "side": side(paths),
        "agree": len({each.side for each in paths}) == 1,
        "trees": [decision_data.tree(each) for each in paths],
    }
