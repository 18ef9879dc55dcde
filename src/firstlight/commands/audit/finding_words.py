"""The words of an audit, which text, Markdown and the page share: findings by rule, clusters, counts."""

import dataclasses
from collections.abc import Iterable, Sequence

from firstlight.drawing.decision_words import number, plain
from firstlight.model.diagnostic import Severity
from firstlight.model.fact import Basis
from firstlight.model.finding import FINDING_SEVERITIES, Audit, Excused, Finding, Matrix, PatternStanding

MARKS = {
    Severity.CRITICAL: "✘",
    Severity.ERROR: "✘",
    Severity.WARNING: "!",
    Severity.NOTE: "·",
}
STANDINGS = {
    PatternStanding.FOLLOWS: "✔",
    PatternStanding.BREAKS: "✘",
    PatternStanding.UNKNOWN: "?",
    PatternStanding.NOT_APPLICABLE: "n/a",
}
UNSAID = "·"
"""A reference of which nobody has written down what it does."""
LEGEND = "✔ follows   ✘ does not   n/a cannot apply   ? the repo does not tell   · not known"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleFindings:
    """What one rule has found, as bad as each other."""

    rule: str
    severity: Severity
    why: str
    findings: tuple[Finding, ...]

    @property
    def fix(self) -> str:
        """What is to be done about all of them alike; empty where it differs."""
        said = {(plain(each.fix), bool(each.edits)) for each in self.findings}
        return said.pop()[0] if len(said) == 1 else ""

    @property
    def is_fixable(self) -> bool:
        """Whether there are safe edits for all of them."""
        return all(each.edits for each in self.findings)


def groups(audit: Audit) -> list[RuleFindings]:
    """The findings by rule, the worst first."""
    found: dict[tuple[Severity, str], list[Finding]] = {}
    for each in audit.findings:
        found.setdefault((each.severity, each.code), []).append(each)
    ordered = sorted(found, key=lambda key: (-key[0].rank, key[1]))
    return [
        RuleFindings(rule=rule, severity=severity, why=reason(audit, rule), findings=tuple(found[severity, rule]))
        for severity, rule in ordered
    ]


def reason(audit: Audit, rule: str) -> str:
    """Why a rule matters, on one line."""
    return plain(audit.reasons.get(rule, ""))


def clusters(finding: Finding, audit: Audit) -> str:
    """The clusters that a finding is about; empty where it is about the repo."""
    if len(audit.clusters) > 2 and set(finding.clusters) >= set(audit.clusters):
        return f"all {len(audit.clusters)} clusters"
    return plain(", ".join(finding.clusters))


def counts(found: Iterable[Finding]) -> str:
    """``2 errors, 3 warnings``; ``nothing found``."""
    several = tuple(found)
    parts = []
    for severity in reversed(FINDING_SEVERITIES):
        amount = sum(each.severity is severity for each in several)
        word = "critical" if severity is Severity.CRITICAL else f"{severity}{'' if amount == 1 else 's'}"
        parts += [f"{amount} {word}"] if amount else []
    return ", ".join(parts) or "nothing found"


def looked(audit: Audit) -> str:
    """``123 rules, 2 clusters, 368 files``: how much was looked at."""
    found = [(audit.rules, "rule"), (len(audit.clusters), "cluster"), (audit.files, "file")]
    return ", ".join(number(amount, noun) for amount, noun in found)


def fixable(audit: Audit) -> int:
    """How many findings have safe edits."""
    return sum(bool(each.edits) for each in audit.findings)


def excuse(one: Excused) -> str:
    """Who excuses a finding, why and until when."""
    until = f" until {plain(one.until)}" if one.until else ""
    where = f", {plain(str(one.place))}" if one.place is not None else ""
    return f"{one.by}{until}{where}: {plain(one.reason)}"


def unseen(audit: Audit) -> list[str]:
    """What was not looked at, and how to look."""
    ways = {
        "render": "what charts and kustomizations really make: --render",
        "live": "the clusters themselves: --live",
    }
    named = any(each.startswith("cluster ") for each in audit.skipped)
    usual = [said for way, said in ways.items() if way not in audit.asked and not (way == "live" and named)]
    return [*(plain(each) for each in audit.skipped), *usual]


_NAMED = 3
"""Rules of one reason that are named before the rest is counted."""


def unjudged(audit: Audit, *, everything: bool = False) -> list[str]:
    """What could not be judged: a line for each reason, that of most rules first.

    Args:
        audit: The answer.
        everything: Every rule by its name.
    """
    by_reason: dict[str, list[str]] = {}
    for each in audit.unjudged:
        rules = by_reason.setdefault(each.why, [])
        rules += [each.rule] if each.rule not in rules else []
    lines = []
    for why, rules in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        shown = rules if everything or len(rules) <= _NAMED else rules[:_NAMED]
        more = f" and {len(rules) - len(shown)} more" if len(rules) > len(shown) else ""
        lines.append(f"{number(len(rules), 'rule')} ({plain(', '.join(shown))}{more}), because {plain(why)}")
    return lines


def basis(found: Finding) -> str:
    """What a finding rests on; empty where everything was read."""
    return "" if found.basis == Basis() else plain(str(found.basis))


def broken_cells(matrix: Matrix) -> list[tuple[str, Sequence[str], Sequence[str], str]]:
    """Of each pattern that is not followed: its title, by whom, the rules that say so, and what the first one says."""
    found: list[tuple[str, Sequence[str], Sequence[str], str]] = []
    for row in matrix.rows:
        merged: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for name, cell in zip(matrix.columns, row.cells, strict=True):
            if cell.standing is PatternStanding.BREAKS:
                merged.setdefault((cell.rules, cell.why), []).append(name)
        found += [(row.title, names, rules, why) for (rules, why), names in merged.items()]
    return found
