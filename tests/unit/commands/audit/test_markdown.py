"""An audit as a comment on a pull request."""

from firstlight.commands.audit import markdown
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.place import Place
from tests.unit.commands.audit import audits


def test_counts_table_and_details() -> None:
    text = markdown.markdown(
        audits.audit(
            audits.fixable(audits.finding(evidence=audits.evidence(7))),
            audits.finding("small", Severity.NOTE, message="a small thing"),
        )
    )

    assert text.startswith(f"{markdown.MARK}\n### 1 error, 1 note\n")
    assert "| **error** | <code>talos/all.yaml&#58;12&#58;5</code><br>apps | pods are in" in text
    assert "<details><summary>1 error</summary>" in text
    assert "**<code>range-differs</code>** The reason of range-differs." in text
    assert "*&#45;-fix*" in text or "*--fix* Write one range." in text
    assert "  - and 2 more" in text
    table = text[: text.index("<details>")]
    assert "a small thing" not in table
    assert "a small thing" in text
    assert text.count("<details>") == text.count("</details>")


def test_the_matrix_is_a_table() -> None:
    text = markdown.markdown(audits.audit(matrix=audits.matrix()))

    assert "| | apps | infra | reference |\n|---|:-:|:-:|:-:|\n| Pod and service ranges agree | ❌ | ✅ | ✅ |" in text
    assert "| ClusterMesh by GitOps | n/a | ? | · |" in text
    assert "- **Pod and service ranges agree** apps: pods are in two ranges (<code>range-differs</code>" in text


def test_nothing_found() -> None:
    text = markdown.markdown(audits.audit())

    assert "### nothing found" in text
    assert "|---|" not in text


def test_a_comment_has_an_end_and_the_matrix_stays() -> None:
    many = [
        audits.finding(f"rule-{n}", message="<" * 900, places=(Place(f"{n}.yaml", 1),), evidence=audits.evidence(5))
        for n in range(200)
    ]

    text = markdown.markdown(audits.audit(*many, matrix=audits.matrix()))

    assert len(text) <= 65_000
    assert "More is not shown here" in text
    assert "Patterns against clusters" in text
    assert "<details><summary>200 errors</summary>" in text
    assert text.count("<details>") == text.count("</details>")


def test_strangers_write_no_markup() -> None:
    evil = audits.EVIL + " | cell\n# head"
    text = markdown.markdown(
        audits.audit(
            audits.finding(
                message=evil,
                fix=evil,
                places=(Place(evil, 1),),
                clusters=(evil,),
                evidence=(Evidence(evil, Place(evil)),),
            ),
            repo=evil,
            excused=(audits.excused(reason=evil),),
            skipped=(evil,),
        )
    )

    for bad in ("<script", "](http", " @somebody", "\x1b", "`", "\n# head", "| cell"):
        assert bad not in text
