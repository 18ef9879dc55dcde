"""Ways through trees."""

from firstlight.model.component import Side
from firstlight.policy.deciding import trees
from firstlight.policy.deciding.tree_form import Question
from tests.unit.policy.deciding import books

ARCHITECTURE, FRAMEWORK = books.book().trees


def test_answers_lead_to_an_end() -> None:
    found = trees.walk(ARCHITECTURE, {"restart": False, "kubernetes-resource": False, "node-os": True})

    assert [(each.question, each.answer) for each in found.steps] == [
        ("restart", False),
        ("kubernetes-resource", False),
        ("node-os", True),
    ]
    assert found.side is Side.BOOTSTRAP
    assert not found.is_overruled


def test_what_is_open_gets_its_usual_answer_else_no() -> None:
    assert [each.answer for each in trees.walk(FRAMEWORK, {}).steps] == [True, False]
    assert trees.walk(FRAMEWORK, {"operational": False}).side is Side.BOOTSTRAP


def test_questions_are_asked_one_after_the_other() -> None:
    answers: dict[str, bool] = {}
    asked = []
    while isinstance(found := trees.question(FRAMEWORK, answers), Question):
        asked.append(found.id)
        answers[found.id] = True

    assert asked == ["operational", "foundation", "os-access"]
    assert found is Side.BOOTSTRAP
    assert trees.walk(FRAMEWORK, answers).side is found
