"""How several things that a check found become one answer."""

from firstlight.commands.decide.checks import answer
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Skipped, Waiting

CHECK = ChangeCheck(id="x", moment=Moment.PRE, title="x")


def test_nothing_found_means_that_it_does_not_apply() -> None:
    found = answer.together(CHECK, [])

    assert (found.state, found.says) == (CheckState.SKIPPED, "nothing of this is in the change")


def test_the_worst_speaks_and_the_rest_stands_below() -> None:
    found = answer.together(
        CHECK,
        [
            answer.passed("fine"),
            answer.skipped("unseen"),
            answer.failed("a-broken", "broken", fix="mend it", at=Place("a.yaml", 3)),
            answer.person("b-strange", "strange", fix="look"),
        ],
    )

    assert found.state == CheckState.FAILED
    assert found.says == "broken; mend it"
    assert [each.code for each in found.diagnostics] == ["a-broken", "b-strange"]
    assert found.place == Place("a.yaml", 3)
    assert found.details == (
        "to be looked at: strange; look",
        "fine",
        "not looked at: unseen",
    )


def test_of_several_failures_the_first_speaks() -> None:
    found = answer.together(CHECK, [answer.failed("a", "one"), answer.failed("b", "two")])

    assert found.says == "one; and 1 more"
    assert found.details == ("one", "two")


def test_what_was_skipped_says_nothing_against_what_was_seen() -> None:
    found = answer.together(CHECK, [answer.skipped("unseen"), answer.passed("fine"), answer.passed("well")])

    assert (found.state, found.says, found.details) == (
        CheckState.PASSED,
        "fine; well",
        ("not looked at: unseen",),
    )


def test_what_a_gate_says() -> None:
    assert answer.of_verdict("web", Passed("")) == answer.passed("web is well")
    assert answer.of_verdict("web", Passed("2 of 2")) == answer.passed("web: 2 of 2")
    assert answer.of_verdict("web", Skipped("no client")) == answer.skipped("web: no client")
    assert answer.of_verdict("web", Failed("it crashes"), fix="see logs") == answer.failed(
        "gate-failed", "web: it crashes", fix="see logs"
    )
    assert answer.of_verdict("web", Waiting("1 of 2"), again="wait", fix="see pods") == answer.failed(
        "gate-waiting", "web is not there yet: 1 of 2", fix="wait. see pods"
    )
    assert answer.of_verdict("web", Waiting("1 of 2")).fix == ""
