"""An audit as a page."""

import base64
import hashlib
import html.parser
import re

from firstlight.commands.audit import page as audit_page
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.place import Place
from tests.unit.commands.audit import audits

VOID = {"meta", "input", "br"}


class Reader(html.parser.HTMLParser):
    """What a browser would see: tags in their order, their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in {*self.open[-1:], "body"}:
            self.texts[tag] = self.texts.get(tag, "") + data


def full() -> str:
    return audit_page.page(
        audits.audit(
            audits.fixable(audits.finding(evidence=audits.evidence(7))),
            audits.finding("small", Severity.NOTE, clusters=()),
            matrix=audits.matrix(),
            excused=(audits.excused(),),
            skipped=("cluster infra: no answer",),
        ),
        [audits.card()],
    )


def test_it_stands_alone_and_is_well_formed() -> None:
    page = full()
    read = Reader(page)

    assert read.open == []
    assert not re.search(r"https?://|\bsrc=|@import|url\(", page)
    assert {tag for tag, attributes in read.tags if any(name.startswith("on") for name in attributes)} == set()
    assert not [tag for tag, attributes in read.tags if "style" in attributes]


def test_the_browser_runs_our_script_and_no_other() -> None:
    read = Reader(full())
    policy = next(
        attributes["content"] or ""
        for _, attributes in read.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )

    for tag, word in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(read.texts[tag].encode()).digest()).decode()
        assert f"{word} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_findings_can_be_told_apart_by_the_filter() -> None:
    read = Reader(full())

    found = [attributes for tag, attributes in read.tags if tag == "article" and "data-rule" in attributes]

    assert [(each["data-severity"], each["data-rule"], each["data-clusters"]) for each in found] == [
        ("error", "range-differs", "0"),
        ("note", "small", ""),
    ]
    values = [each["value"] for tag, each in read.tags if tag == "input" and each.get("name") == "severity"]
    assert values == ["error", "note"]


def test_the_matrix_is_coloured_and_leads_to_findings() -> None:
    page = full()

    assert '<td class="cell no" title="range-differs, range-narrow: pods are in two ranges">' in page
    assert '<a href="#findings" data-rules="range-differs range-narrow" data-cluster="0">✘</a>' in page
    assert '<td class="cell yes first-reference">✔</td>' in page
    assert '<td class="cell na" title="there is no mesh">n/a</td>' in page
    assert '<td class="cell unknown first-reference" title="no machine config">·</td>' in page


def test_evidence_fix_and_what_is_excused() -> None:
    page = full()

    assert "it is said here, 7" in page
    assert "<summary>and 2 more</summary>" in page
    assert "<h3>Ranges differ</h3>" in page
    assert "Write one range." in page
    assert "the rack moves in spring" in page
    assert "cluster infra: no answer" in page


def test_strangers_write_no_html() -> None:
    evil = audits.EVIL + " </script><img onerror=x> ' \""
    page = audit_page.page(
        audits.audit(
            audits.finding(
                evil, message=evil, fix=evil, places=(Place(evil, 1),), clusters=(evil,),
                evidence=(Evidence(evil, Place(evil)),),
            ),
            repo=evil, clusters=(evil, "b"), reasons={evil: evil}, excused=(audits.excused(reason=evil),),
            skipped=(evil,), matrix=audits.matrix(),
        ),
        [audits.card(evil, title=evil)],
    )  # fmt: skip
    read = Reader(page)

    assert read.open == []
    assert sum(tag == "script" for tag, _ in read.tags) == 1
    assert not [tag for tag, _ in read.tags if tag == "img"]
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert "\x1b" not in page


def test_nothing_found() -> None:
    read = Reader(audit_page.page(audits.audit()))

    assert read.open == []
    assert not [tag for tag, _ in read.tags if tag == "article"]
