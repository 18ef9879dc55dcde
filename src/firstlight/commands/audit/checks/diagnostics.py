"""What the readers of files say themselves: what is wrong in them, and what probably means something else."""

import re
from collections.abc import Iterable, Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.platform import Platform
from firstlight.repo.platform_view import PlatformView

_ELSEWHERE = (
    "is given twice",
    "applies what",
    "Flux applies them in turn",
    "makes two Applications named",
    "replaces this sync wave",
    "a sync wave of Applications does not wait",
    "sync waves order nothing here",
    "a sync wave on the Applications of an ApplicationSet orders nothing",
    "leads in a circle",
    "which nothing deploys in",
    "unencrypted Talos secrets in Git",
    "ignored files are read too",
)
"""What other rules speak of, and what is no fault of a file."""
_NEEDS_ALL = re.compile(r"^no object is called .* for the patch$")
"""A patch may be for what a remote base brings."""
_OURS = re.compile(r"which cluster|a cluster cannot be called|left out\b|more than \d")
"""What only we cannot tell or do not read to the end: no tool refuses it."""
_LONGEST = 500
"""Characters of a message that are looked at: it may name whatever stands in a file."""
_NAME = re.compile(r"\S*[/._]\S*|\d+")
_GRADES = (Severity.ERROR, Severity.WARNING)


def wrong(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What cannot be read, or says something that it must not say."""
    yield from _findings(rule, scene, Severity.ERROR)


def doubtful(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What can be read, and probably means something else than its author thinks."""
    yield from _findings(rule, scene, Severity.WARNING)


def unread(platform: Platform) -> Iterator[str]:
    """What only we have not read, as an audit says it: nobody may take silence about it for praise."""
    seen = [each for each in platform.diagnostics if each.severity in _GRADES and _OURS.search(each.message)]
    for first, *others in _together(seen):
        more = f", and {len(others)} more like it" if others else ""
        yield f"{first.place}: {first.message}{more}"


def _findings(rule: AuditRule, scene: PlatformView, severity: Severity) -> Iterator[Finding]:
    remote = {each.place.path for each in scene.platform.diagnostics if "is elsewhere, and not fetched" in each.message}
    kept = [
        each
        for each in scene.platform.diagnostics
        if each.severity is severity
        and not any(other in each.message for other in _ELSEWHERE)
        and not _OURS.search(each.message)
        and not (_NEEDS_ALL.match(each.message) and each.place.path in remote)
    ]
    for same in _together(kept):
        yield _finding(rule, same)


def _together(diagnostics: Iterable[Diagnostic]) -> Iterator[list[Diagnostic]]:
    """Diagnostics of one file that say the same of many things are one."""
    found: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in diagnostics:
        found.setdefault((each.place.path, _NAME.sub("…", each.message[:_LONGEST])), []).append(each)
    yield from found.values()


def _finding(rule: AuditRule, same: list[Diagnostic]) -> Finding:
    first = same[0]
    more = f", and {len(same) - 1} more like it" if len(same) > 1 else ""
    return rule.finding(
        f"{first.message}{more}",
        at=first.place,
        evidence=tuple(Evidence(each.message, each.place) for each in same) if len(same) > 1 else (),
        fix=first.fix,
    )
