"""What the readers of files say themselves: what is wrong in them, and what probably means something else."""

import re
from collections.abc import Iterable, Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import diagnostic_cards
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.platform import Platform
from firstlight.repo.platform_view import PlatformView

_ELSEWHERE = {
    "argocd-wave-on-generated",
    "argocd-wave-replaced",
    "argocd-waves-without-parent",
    "depends-on-circle",
    "ignored-files-read",
    "key-given-twice",
    "kustomize-circle",
    "link-circular",
    "missing-need",
    "name-of-two-owners",
    "object-of-two-owners",
    "talos-secrets-in-clear",
    "waves-without-health",
}
"""What other rules speak of, and what is no fault of a file."""
_OURS = {
    "argocd-applications-too-deep",
    "argocd-too-many-applications",
    "cluster-machines-guessed",
    "cluster-name-wrong",
    "cluster-unclear",
    "file-not-regular",
    "file-too-large",
    "flux-cluster-too-large",
    "flux-substitution-too-large",
    "helmfile-too-large",
    "just-too-many-files",
    "kustomize-too-large",
    "name-not-printable",
    "path-too-deep",
    "talhelper-too-many-addresses",
    "taskfile-too-many-includes",
    "yaml-aliases-too-large",
    "yaml-too-large",
}
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
    seen = [each for each in platform.diagnostics if each.severity in _GRADES and each.code in _OURS]
    for first, *others in _together(seen):
        more = f", and {len(others)} more like it" if others else ""
        yield f"{first.place}: {first.message}{more}"


def _findings(rule: AuditRule, scene: PlatformView, severity: Severity) -> Iterator[Finding]:
    remote = {each.place.path for each in scene.platform.diagnostics if each.code == "kustomize-resource-remote"}
    kept = [
        each
        for each in scene.platform.diagnostics
        if each.severity is severity
        and each.code not in _ELSEWHERE
        and each.code not in _OURS
        # A patch may be for what a remote base brings.
        and not (each.code == "kustomize-patch-target-missing" and each.place.path in remote)
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
        fix=first.fix or diagnostic_cards.cards()[first.code].fix,
    )
