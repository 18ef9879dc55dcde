"""What is known and excused for a while: entries of a file, each with a rule, a place, a reason and an end.

excused:
  - {rule: helm-no-drift, path: kubernetes/apps/web.yaml, key: …, reason: …, until: 2027-01-31}
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.commands.audit import excuses, rulebook
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.document import yaml_writer
from firstlight.document.mistakes import FormMistakes, parsed
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import Audit, Excuse, Excused, Finding
from firstlight.model.place import Place
from firstlight.repo.work_tree import WorkTree

FILE = rulebook.BASELINE
STALE, EXPIRED, UNKNOWN = "baseline-stale", "baseline-expired", "baseline-unknown-rule"
LONG = "excuse-too-long"
"""Ids of the rules about it."""


class BaselineEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One finding that is excused."""

    rule: str
    path: str
    key: str
    """What makes it the same finding after lines have moved."""
    reason: str
    until: str
    """The last day, such as 2027-01-31."""
    asked: tuple[str, ...] = ()
    """``live``, ``render``: what had to be looked at besides files to find it."""

    @property
    def last_day(self) -> datetime.date:
        """The last day on which it counts."""
        return datetime.date.fromisoformat(self.until)


class BaselineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with excuses."""

    excused: tuple[BaselineEntry, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditBaseline:
    """Excuses, each with its place."""

    entries: tuple[tuple[BaselineEntry, Place], ...] = ()


def read(data: bytes, path: str) -> AuditBaseline:
    """A baseline from the text of its file.

    Raises:
        Mistaken: It says something that it must not say.
    """
    file, document = parsed(data, path, BaselineFile)
    diagnostics = list(_problems(file, document))
    if diagnostics:
        raise FormMistakes(diagnostics)
    return AuditBaseline(entries=tuple((each, document.place("excused", n)) for n, each in enumerate(file.excused)))


def of_tree(tree: WorkTree, file: Path | None) -> AuditBaseline:
    """What is known and excused: in the file that is named, or in the one of the repo, if it has one.

    Raises:
        errors.UsageError: The file that is named cannot be read.
        errors.ConfigError: It says something that it must not say.
    """
    if file is not None:
        try:
            return read(file.read_bytes(), str(file))
        except OSError as error:
            raise errors.UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    content = tree.bytes(FILE) if tree.is_file(FILE) else None
    return read(content, FILE) if content is not None else AuditBaseline()


def written(entries: Iterable[BaselineEntry]) -> str:
    """The text of a file with these entries, in a stable order."""
    ordered = sorted(entries, key=lambda each: (each.path, each.rule, each.key))
    head = "# What is known and excused for a while; written by firstlight audit --write-baseline, and yours to edit.\n"
    return head + yaml_writer.dump({"excused": [msgspec.to_builtins(each) for each in ordered]})


def entry(finding: Finding, *, reason: str, until: datetime.date, asked: Iterable[str] = ()) -> BaselineEntry:
    """What excuses a finding."""
    return BaselineEntry(
        rule=finding.code, path=finding.place.path, key=finding.key, reason=reason, until=until.isoformat(),
        asked=tuple(sorted(asked)),
    )  # fmt: skip


def applied(
    found: Sequence[Finding],
    baseline: AuditBaseline,
    *,
    book: AuditRulebook,
    today: datetime.date,
    asked: frozenset[str] = frozenset(),
    tried: Iterable[str] = (),
    is_whole: bool = True,
) -> tuple[list[Finding], list[Excused], list[Finding]]:
    """Findings that are left, those that entries excuse, and what is to be said of entries themselves.

    Args:
        found: What rules have found, and no comment excuses.
        baseline: The entries.
        book: Has the cards of rules about entries.
        today: The day that ends are held against.
        asked: What was looked at besides files.
        tried: Ids of the rules that were run: of others nobody knows whether they still find something.
        is_whole: Whether findings of all clusters are there; if not, the same goes for all entries.
    """
    left: list[Finding] = []
    gone: list[Excused] = []
    used: set[int] = set()
    by_key: dict[tuple[str, str, str], list[int]] = {}
    for number, (each, _) in enumerate(baseline.entries):
        by_key.setdefault((each.rule, each.path, each.key), []).append(number)
    for finding in found:
        mine = by_key.get((finding.code, finding.place.path, finding.key), ())
        used.update(mine)
        good = [baseline.entries[n] for n in mine if baseline.entries[n][0].last_day >= today]
        if good and book.rules[finding.code].group != excuses.GROUP:
            (one, place) = good[0]
            gone.append(
                Excused(finding=finding, by=Excuse.BASELINE, reason=one.reason, until=one.until, place=place)
            )  # fmt: skip
        else:
            left.append(finding)
    known = frozenset(tried)
    unused = [n for n in range(len(baseline.entries)) if n not in used]
    stale = [
        baseline.entries[n]
        for n in unused
        if is_whole and baseline.entries[n][0].rule in known and asked.issuperset(baseline.entries[n][0].asked)
    ]
    expired = [baseline.entries[n] for n in sorted(used) if baseline.entries[n][0].last_day < today]
    unknown = [pair for pair in baseline.entries if pair[0].rule not in book.rules]
    long = [pair for pair in baseline.entries if pair[0].last_day - today > excuses.LONGEST]
    said = [
        *_said(book, LONG, long, known, "what excuses {rule} in {path} ends on {until} only"),
        *_said(book, STALE, stale, known, "nothing of rule {rule} is found in {path} any more"),
        *_said(book, EXPIRED, expired, known, "what excuses {rule} in {path} ended on {until}"),
        *_said(book, UNKNOWN, unknown, known, "there is no rule {rule}"),
    ]
    return left, gone, said


def _said(
    book: AuditRulebook, rule: str, entries: Iterable[tuple[BaselineEntry, Place]], tried: frozenset[str], text: str
) -> Iterator[Finding]:
    card = book.rules.get(rule)
    if card is None or rule not in tried:
        return
    for each, place in entries:
        message = text.format(rule=each.rule, path=each.path, until=each.until)
        yield card.finding(message, at=place, key=f"{each.rule} {each.path} {each.key}")


def _problems(file: BaselineFile, document: YamlDocument) -> Iterator[Diagnostic]:
    for number, each in enumerate(file.excused):
        try:
            _ = each.last_day
        except ValueError:
            place = document.place("excused", number, "until")
            yield Diagnostic.error(
                "baseline-day-wrong", f"until: {each.until[:40]!r} is no day", at=place, fix="Write such as 2027-01-31."
            )
        if not each.reason.strip():
            place = document.place("excused", number, "reason")
            yield Diagnostic.error(
                "baseline-reason-missing", "reason is empty", at=place, fix="Write why this is excused."
            )


# Findings written to the file: what stands there stays as it is, comments and all.


def add(
    tree: WorkTree, found: Audit, *, book: AuditRulebook, file: Path | None, reason: str, until: datetime.date
) -> tuple[str, int]:
    """Excuse everything that was found; the file, and how many entries it has more than before.

    Args:
        tree: The repo.
        found: What was found.
        book: The rules.
        file: Where to; the one of the repo by default.
        reason: Why.
        until: The last day.

    Raises:
        errors.UsageError: The file cannot be read or written.
        errors.ConfigError: It says something that it must not say.
        errors.Refused: A link leads out of the repo.
    """
    place = file if file is not None else tree.root / FILE
    shown = str(file) if file is not None else FILE
    new = {
        (each.code, each.place.path, each.key): entry(each, reason=reason, until=until, asked=found.asked)
        for each in found.findings
        if book.rules[each.code].group != excuses.GROUP
    }
    if not new:
        return shown, 0
    if file is None and (place.is_symlink() or not place.parent.resolve().is_relative_to(tree.root.resolve())):
        raise errors.Refused(f"{shown} is behind a link", hint="Let it be a file of the repo, or name one: --baseline.")
    try:
        old = place.read_text() if place.exists() else ""
        text = _with(old, list(new.values()), shown)
        _write(place, text)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.UsageError(f"{shown} cannot be written: {error}") from error
    return shown, len(new)


def _with(old: str, new: Sequence[BaselineEntry], path: str) -> str:
    """The text with more entries; those that excuse the same and have ended give way."""
    if not old.strip():
        return written(new)
    known = [each for each, _ in read(old.encode(), path).entries]
    keys = {(each.rule, each.path, each.key) for each in new}
    kept = [each for each in known if (each.rule, each.path, each.key) not in keys]
    if len(kept) == len(known):
        # Nothing gives way: what stands there stays, if what is added below it means what it is to mean.
        below = "".join(f"  {line}\n" if line else "\n" for line in yaml_writer.dump(_plain(new)).splitlines())
        for text in (f"{old.rstrip()}\n{below}", f"{old.rstrip()}\n{yaml_writer.dump(_plain(new))}"):
            if _entries(text, path) == [*known, *new]:
                return text
    return written([*kept, *new])


def _plain(entries: Sequence[BaselineEntry]) -> list[object]:
    return [msgspec.to_builtins(each) for each in entries]


def _entries(text: str, path: str) -> list[BaselineEntry] | None:
    try:
        return [each for each, _ in read(text.encode(), path).entries]
    except FormMistakes:
        return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.replace(path, text.encode(), mode=None)
