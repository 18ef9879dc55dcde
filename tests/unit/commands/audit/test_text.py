"""An audit as text."""

import pytest

from firstlight.commands.audit import text as audit_text
from firstlight.drawing import table
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.place import Place
from tests.unit.commands.audit import audits


def test_the_worst_comes_first_and_a_reason_stands_once() -> None:
    found = audits.audit(
        audits.finding("a-note", Severity.NOTE, places=(Place("a.yaml", 1),)),
        audits.finding("b-error", places=(Place("z.yaml", 1),)),
        audits.finding("b-error", places=(Place("z.yaml", 9),), clusters=("infra",)),
        audits.finding("c-critical", Severity.CRITICAL, places=(Place("y.yaml", 1),)),
    )

    text = audit_text.text(found, columns=100)

    heads = [line for line in text.splitlines() if line[:1] in "✘!·" and line[:1]]
    assert heads == ["✘ critical   c-critical", "✘ error   b-error   2 findings", "· note   a-note"]
    assert text.count("The reason of b-error.") == 1
    assert "1 critical, 2 errors, 1 note   12 rules, 2 clusters, 34 files" in text


def test_a_long_fix_is_told_whole() -> None:
    fix = "Write " + " ".join(f"word{n}" for n in range(60)) + " end."

    for group in ([audits.finding(fix=fix)], [audits.finding(fix=fix), audits.finding(fix="Other.", clusters=())]):
        text = audit_text.text(audits.audit(*group), columns=80)
        assert " ".join(fix.split()) in " ".join(text.split())


def test_a_fix_that_all_share_stands_once_and_others_beside_their_places() -> None:
    same = audits.audit(audits.finding(), audits.finding(places=(Place("b.yaml", 2),)))
    other = audits.audit(audits.finding(), audits.finding(places=(Place("b.yaml", 2),), fix="Write another."))

    assert audit_text.text(same, columns=100).count("Write one range.") == 1
    text = audit_text.text(other, columns=100)
    assert "      fix: Write one range." in text
    assert "      fix: Write another." in text


def test_what_can_be_fixed_is_marked_and_counted() -> None:
    text = audit_text.text(audits.audit(audits.fixable(audits.finding()), audits.finding("other")), columns=100)

    assert "  --fix      Write one range." in text
    assert "  fix        Write one range." in text
    assert "makes 1 of these right" in text
    assert "--fix" not in audit_text.text(audits.audit(audits.finding()), columns=100)


def test_evidence_is_aligned_and_cut_after_five() -> None:
    found = audits.audit(audits.finding(evidence=(*audits.evidence(7), Evidence("and nowhere"))))

    lines = audit_text.text(found, columns=100).splitlines()

    shown = [line for line in lines if line.startswith("      - ")]
    assert len(shown) == 5
    assert len({line.index("kubernetes/") for line in shown}) == 1
    assert "        and 3 more" in lines
    assert "and nowhere" in audit_text.text(found, columns=100, everything=True)


def test_a_place_that_does_not_fit_beside_its_evidence_stands_below() -> None:
    found = audits.audit(audits.finding(evidence=(Evidence("word " * 12 + "end", Place("short.yaml", 1)),)))

    assert "end   short.yaml:1" in audit_text.text(found, columns=100)
    assert "end\n          short.yaml:1" in audit_text.text(found, columns=75)


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_lines_fit_and_places_stay_whole(columns: int) -> None:
    long = "kubernetes/a-directory/another-directory/and-one-more/a-file-with-a-long-name.yaml"
    found = audits.audit(
        audits.finding(message="word " * 60, evidence=(Evidence("word " * 40, Place(long, 12, 3)),)),
        audits.finding("quick", places=(Place(long, 4),), clusters=("apps", "infra", "third")),
        matrix=audits.matrix(),
        skipped=("rule x broke down: " + "why " * 40,),
    )

    lines = audit_text.text(found, columns=columns).splitlines()

    assert [line for line in lines if table.width(line) > columns and long not in line] == []
    assert any(f"{long}:12:3" in line for line in lines)


def test_little_to_say_is_a_line_each_where_it_fits() -> None:
    found = audits.audit(
        audits.finding("unused", message="nobody uses it", places=(Place("a.yaml", 1),)),
        audits.finding("unused", message="nor this", places=(Place("directory/b.yaml", 22),), clusters=("infra",)),
    )

    assert (
        "  a.yaml:1              apps    nobody uses it\n  directory/b.yaml:22   infra   nor this"
        in audit_text.text(found, columns=80)
    )
    assert "  a.yaml:1   apps\n      nobody uses it" in audit_text.text(found, columns=40)


def test_what_was_not_looked_at_and_how_to_look() -> None:
    text = audit_text.text(audits.audit(), columns=100)
    assert text.startswith("nothing found   12 rules")
    assert "--render" in text
    assert "--live" in text
    assert "--explain" not in text

    text = audit_text.text(audits.audit(asked=("live", "render")), columns=100)
    assert "not seen" not in text

    text = audit_text.text(audits.audit(skipped=("cluster infra: no answer",), asked=("render",)), columns=100)
    assert "  not seen   cluster infra: no answer" in text
    assert "--live" not in text


def test_what_to_do_next() -> None:
    found = audits.audit(audits.finding("mesh"), audits.finding("apart"), remedies=("mesh", "storage"))

    text = audit_text.text(found, columns=100)

    assert "firstlight audit --explain apart " in text
    assert "firstlight audit --remedy mesh " in text
    assert "also storage" in text


def test_excused_findings_are_shown_on_demand() -> None:
    found = audits.audit(excused=(audits.excused(),))

    assert "1 excused" in audit_text.text(found, columns=100)
    assert "the rack moves" not in audit_text.text(found, columns=100)
    text = audit_text.text(found, columns=100, everything=True)
    assert "ignored in the file until 2027-03-31, talos/all.yaml:11: the rack moves in spring" in text


def test_strangers_do_not_steer_the_terminal() -> None:
    found = audits.audit(
        audits.finding(
            message=audits.EVIL,
            fix=audits.EVIL,
            places=(Place("a\x1b[2J\n.yaml", 1),),
            subject=audits.EVIL,
            clusters=("\x9b31m",),
            evidence=(Evidence(audits.EVIL, Place("b\x07", 1)),),
        ),
        excused=(audits.excused(reason=audits.EVIL),),
        skipped=(audits.EVIL,),
        matrix=audits.matrix(),
    )

    text = audit_text.text(found, columns=100, everything=True)

    assert not [each for each in text if ord(each) < 32 and each != "\n"]
    assert "\x9b" not in text
    assert "\x1b" not in "".join(audit_text.news(audits.audit(), found, columns=100))
    assert "\x1b" not in "".join(audit_text.news(found, audits.audit(), columns=100))


def test_colours_are_for_terminals() -> None:
    found = audits.audit(audits.finding())

    assert "\x1b[31m✘ error\x1b[0m" in audit_text.text(found, columns=100, colour=True)
    assert "\x1b" not in audit_text.text(found, columns=100)


def test_all_clusters_in_two_words() -> None:
    found = audits.audit(audits.finding(clusters=("a", "b", "c"), message="m " * 90), clusters=("a", "b", "c"))

    assert "talos/all.yaml:12:5   all 3 clusters" in audit_text.text(found, columns=100)


def test_news_tells_what_is_new_and_what_is_gone() -> None:
    kept = audits.finding("kept", places=(Place("a.yaml", 4),))
    moved = audits.finding("kept", places=(Place("a.yaml", 9),))
    before, after = audits.audit(kept, audits.finding("solved")), audits.audit(moved, audits.finding("fresh"))

    lines = audit_text.news(before, after, columns=100)

    assert lines[0] == "new    ✘ error   fresh"
    assert lines[-1].startswith("gone   solved   talos/all.yaml: pods are in")
    assert not [line for line in lines if "kept" in line]
    assert audit_text.news(after, after, columns=100) == []
