"""Every section of the source documents, and what does it: tests/coverage/*.yaml in, a page out.

``python -m tests.document_coverage`` writes docs/coverage.md. A section is known by its document's number and by the
ordinal of its heading; its title here is our own.
"""

import dataclasses
import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "coverage"
PAGE = ROOT / "docs" / "coverage.md"
DONE, PARTLY, NOT, NOTHING = STATES = ("done", "partly", "not", "nothing")
"""From best to worst, but for the last: a section that asks for nothing, such as a list of links."""
NAMED = {
    "commands": "command",
    "audit": "audit rule",
    "decide": "decide rule",
    "factors": "factor of risk",
    "procedures": "procedure",
    "gates": "gate",
    "doctor": "symptom",
    "diagnostics": "diagnostic",
    "pages": "page",
}
"""What can do a section, and what one of it is called."""
_WHAT = (
    "Five documents (000 to 004) describe how teams bootstrap Talos clusters by hand. For each of their sections, this "
    "page names the part of firstlight that does it and the tests that show it. A section is named by its document and "
    "the ordinal of its heading. A section is partly done where something is missing, or where its very point could "
    "only be tried on a stand-in. That pods and machines of the lab are simulated is not repeated for each. Nothing is "
    "done for a section that asks for nothing, such as a table of contents. A heading that only holds others is as far "
    "as the least of them, and is counted apart."
)
_HOW = (
    "The page is generated from `tests/coverage/*.yaml` (`make coverage`). A test fails where a command, rule, gate, "
    "page or test that it names does not exist."
)
_FIELDS = {"heading", "title", "state", "missing", "in", "tests", *NAMED}
_HEADING = re.compile(r"#{1,6} \S")
_FENCE = re.compile(r"\s*```")


@dataclasses.dataclass(frozen=True)
class Section:
    """One heading of one document."""

    document: str
    heading: int
    title: str
    state: str
    missing: str
    """What is not done of it, where it is not done."""
    parts: tuple[int, ...]
    """Headings below it that hold all that it asks for."""
    by: Mapping[str, tuple[str, ...]]
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.document} {self.heading}"


@dataclasses.dataclass(frozen=True)
class Document:
    """One document with its sections."""

    number: str
    title: str
    sections: tuple[Section, ...]


@functools.cache
def documents() -> tuple[Document, ...]:
    return tuple(map(_document, sorted(TABLES.glob("*.yaml"))))


def sections() -> Iterator[Section]:
    for document in documents():
        yield from document.sections


def _document(path: Path) -> Document:
    table = yaml.safe_load(path.read_text())
    given = {each["heading"]: each for each in table["sections"]}
    return Document(
        number=path.stem,
        title=table["title"],
        sections=tuple(_section(path.stem, each, given) for each in table["sections"]),
    )


def _section(document: str, row: Mapping[str, Any], given: Mapping[int, Mapping[str, Any]]) -> Section:
    unknown = row.keys() - _FIELDS
    if unknown:
        raise ValueError(f"{document} {row['heading']}: unknown {', '.join(sorted(unknown))}")
    return Section(
        document=document,
        heading=row["heading"],
        title=row["title"],
        state=_state(row, given),
        missing=row.get("missing", ""),
        parts=tuple(row.get("in", ())),
        by={kind: tuple(row[kind]) for kind in NAMED if kind in row},
        tests=tuple(row.get("tests", ())),
    )


def _state(row: Mapping[str, Any], given: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the state of a section; one that is made of others is as far as the least of them."""
    if "in" not in row:
        return str(row["state"])
    states = [_state(given[each], given) for each in row["in"]]
    return max((each for each in states if each != NOTHING), key=STATES.index, default=NOTHING)


def headings(text: str) -> int:
    """Return how many headings a Markdown text has; a comment in a block of code is not one."""
    count, is_code = 0, False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and _HEADING.match(line):
            count += 1
    return count


def page() -> str:
    """Return docs/coverage.md."""
    lines = [
        "# Coverage of the source documents",
        "",
        *_wrapped(_WHAT),
        "",
        *_wrapped(_HOW),
        "",
        f"| document | {' | '.join(STATES)} | holds others |",
        f"|---|{'---|' * len(STATES)}---|",
    ]
    lines += [f"| [{each.number}](#{_anchor(each)}) {each.title} | {_counts(each.sections)} |" for each in documents()]
    lines += [f"| all | {_counts(sections())} |", "", "## What is missing", ""]
    for each in sections():
        if each.missing:
            lines += _wrapped(f"- **{each.name}** {each.title} ({each.state}): {each.missing}", below="  ")
    for document in documents():
        lines += ["", f"## {_heading(document)}"]
        for each in document.sections:
            lines += ["", f"### {each.heading}. {each.title}: {each.state}", "", *_account(each)]
    return "\n".join(lines) + "\n"


def _counts(of: Iterable[Section]) -> str:
    states = ["" if each.parts else each.state for each in of]
    return " | ".join(str(states.count(state)) for state in (*STATES, ""))


def _heading(document: Document) -> str:
    return f"{document.number}: {document.title}"


def _anchor(document: Document) -> str:
    plain = _heading(document).lower().replace(" ", "-")
    return "".join(each for each in plain if each.isalnum() or each == "-")


def _account(section: Section) -> Iterator[str]:
    if section.parts:
        yield f"- in: {', '.join(map(str, section.parts))}"
    for kind, names in section.by.items():
        shown = [_link(each) if kind == "pages" else f"`{each}`" for each in names]
        yield from _wrapped(f"- {NAMED[kind]}: {', '.join(shown)}", below="  ")
    if shown_by := tests(section):
        yield "- shown by:"
        yield from (f"  - {_test_link(each)}" for each in shown_by)
    if section.missing:
        yield from _wrapped(f"- missing: {section.missing}", below="  ")
    if section.state == NOTHING and not section.parts:
        yield "- asks for nothing"


def tests(section: Section) -> tuple[str, ...]:
    """Return the tests that show a section; a rule of the audit brings its own scenarios."""
    return (*section.tests, *(f"tests/scenarios/audit/{rule}.yaml" for rule in section.by.get("audit", ())))


def _link(target: str) -> str:
    return f"[{target.removeprefix('docs/')}]({target.removeprefix('docs/')})"


def _test_link(test: str) -> str:
    path, _, function = test.partition("::")
    return f"[{function or path.removeprefix('tests/')}](../{path})"


def _wrapped(text: str, *, below: str = "") -> list[str]:
    return textwrap.wrap(text, width=100, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page())
