"""The way through a decision tree."""

from collections.abc import Mapping

from firstlight.model.component import Side
from firstlight.model.decision import TreePath, TreeStep
from firstlight.policy.deciding.tree_form import Question, Tree


def walk(tree: Tree, answers: Mapping[str, bool]) -> TreePath:
    """The way that answers lead; what they leave open gets its usual answer, else no."""
    questions = {each.id: each for each in tree.questions}
    steps: list[TreeStep] = []
    at = tree.questions[0].id
    while at in questions:
        asked = questions.pop(at)  # no way leads to it twice
        answer = answers.get(asked.id, bool(asked.usually))
        steps.append(TreeStep(question=asked.id, text=asked.text, answer=answer))
        at = asked.if_yes if answer else asked.if_no
    return TreePath(tree=tree.id, steps=tuple(steps), side=Side(at))


def question(tree: Tree, answers: Mapping[str, bool]) -> Question | Side:
    """The first question that has no answer yet, or where the tree ends."""
    questions = {each.id: each for each in tree.questions}
    at = tree.questions[0].id
    while at in questions:
        asked = questions.pop(at)
        if asked.id not in answers:
            return asked
        at = asked.if_yes if answers[asked.id] else asked.if_no
    return Side(at)
