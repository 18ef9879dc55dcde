"""How several things that a check found become one answer."""

from firstlight.commands.decide.checks import note
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Skipped, Waiting

CHECK = ChangeCheck(id="x", moment=Moment.PRE, title="x")


def test_nothing_found_means_that_it_does_not_apply() -> None:
    found = note.together(CHECK, [])

    assert (found.state, found.says) == (CheckState.SKIPPED, "nothing of this is in the change")


def test_the_worst_speaks_and_the_rest_stands_below() -> None:
    found = note.together(
        CHECK,
        [
            note.passed("fine"),
            note.skipped("unseen"),
            note.failed("broken", todo="mend it", place=Place("a.yaml", 3)),
            note.person("strange", todo="look"),
        ],
    )

    assert found.state == CheckState.FAILED
    assert found.says == "broken; mend it"
    assert found.place == Place("a.yaml", 3)
    assert found.details == (
        "to be looked at: strange; look",
        "fine",
        "not looked at: unseen",
    )


def test_of_several_failures_the_first_speaks() -> None:
    found = note.together(CHECK, [note.failed("one"), note.failed("two")])

    assert found.says == "one; and 1 more"
    assert found.details == ("one", "two")


def test_what_was_skipped_says_nothing_against_what_was_seen() -> None:
    found = note.together(CHECK, [note.skipped("unseen"), note.passed("fine"), note.passed("well")])

    assert (found.state, found.says, found.details) == (
        CheckState.PASSED,
        "fine; well",
        ("not looked at: unseen",),
    )


def test_what_a_gate_says() -> None:
    assert note.of_verdict("web", Passed("")) == note.passed("web is well")
    assert note.of_verdict("web", Passed("2 of 2")) == note.passed("web: 2 of 2")
    assert note.of_verdict("web", Skipped("no client")) == note.skipped("web: no client")
    assert note.of_verdict("web", Failed("it crashes"), todo="see logs") == note.failed(
        "web: it crashes", todo="see logs"
    )
    assert note.of_verdict("web", Waiting("1 of 2"), again="wait", todo="see pods") == note.failed(
        "web is not there yet: 1 of 2", todo="wait. see pods"
    )
    assert note.of_verdict("web", Waiting("1 of 2")).todo == ""
