"""Ways through trees."""

from firstlight.commands.decide import sides
from firstlight.commands.decide.rule_form import TreeQuestion
from firstlight.model.component import Side
from tests.unit.commands.decide import books

ARCHITECTURE, FRAMEWORK = books.book().trees


def test_answers_lead_to_an_end() -> None:
    found = sides.walk_tree(ARCHITECTURE, {"restart": False, "kubernetes-resource": False, "node-os": True})

    assert [(each.question, each.answer) for each in found.steps] == [
        ("restart", False),
        ("kubernetes-resource", False),
        ("node-os", True),
    ]
    assert found.side is Side.BOOTSTRAP
    assert not found.is_overruled


def test_what_is_open_gets_its_usual_answer_else_no() -> None:
    assert [each.answer for each in sides.walk_tree(FRAMEWORK, {}).steps] == [True, False]
    assert sides.walk_tree(FRAMEWORK, {"operational": False}).side is Side.BOOTSTRAP


def test_questions_are_asked_one_after_the_other() -> None:
    answers: dict[str, bool] = {}
    asked = []
    while isinstance(found := sides.next_question(FRAMEWORK, answers), TreeQuestion):
        asked.append(found.id)
        answers[found.id] = True

    assert asked == ["operational", "foundation", "os-access"]
    assert found is Side.BOOTSTRAP
    assert sides.walk_tree(FRAMEWORK, answers).side is found
