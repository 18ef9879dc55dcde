"""An audit as SARIF 2.1.0, which code scanning of forges and editors read.

Locations are relative to the repo. Excused findings are suppressed results with the reason, and only there on demand:
GitHub takes suppressed results for open alerts (github/codeql-action 1230). What makes a finding the same after lines
have moved is a fingerprint of our own: ``primaryLocationLineHash`` is what GitHub makes from the file, and complains
about if it is somebody else's.
"""

import hashlib
import urllib.parse
from collections.abc import Sequence
from typing import Any

import firstlight
from firstlight.commands.audit import finding_words
from firstlight.commands.audit.rule_form import AuditCard
from firstlight.drawing import decision_words
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Audit, Excuse, Excused, Finding
from firstlight.model.place import Place

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    Severity.NOTE: "note",
    Severity.WARNING: "warning",
    Severity.ERROR: "error",
    Severity.CRITICAL: "error",
}
_PROBLEMS = {"note": "recommendation", "warning": "warning", "error": "error", "critical": "error"}
_SCORES = {"note": "2.0", "warning": "5.0", "error": "8.0", "critical": "9.5"}
"""By which GitHub sorts what is about security: from 4.0 on medium, from 7.0 high, from 9.0 critical."""
_SECURITY = "security"
_ROOT = "%SRCROOT%"
_KEY = "firstlightKey/v1"


def sarif(audit: Audit, cards: Sequence[AuditCard], *, everything: bool = False) -> dict[str, Any]:
    """The log.

    Args:
        audit: The answer.
        cards: All rules.
        everything: Excused findings, too.
    """
    index = {each.id: number for number, each in enumerate(cards)}
    results = [_result(each, index) for each in audit.findings]
    excused = audit.excused if everything else ()
    results += [{**_result(each.finding, index), "suppressions": [_suppression(each)]} for each in excused]
    run: dict[str, Any] = {
        "tool": {"driver": _driver(cards)},
        "automationDetails": {"id": "firstlight-audit/"},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [_invocation(audit)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(cards: Sequence[AuditCard]) -> dict[str, Any]:
    version = firstlight.__version__
    return {"name": "firstlight", "version": version, "rules": [_rule(each) for each in cards]}


def _rule(card: AuditCard) -> dict[str, Any]:
    title, why, fix = decision_words.plain(card.title), decision_words.plain(card.why), decision_words.plain(card.fix)
    properties: dict[str, Any] = {
        "tags": [decision_words.plain(card.group)],
        "problem.severity": _PROBLEMS.get(card.severity, "warning"),
    }
    if card.group == _SECURITY:
        properties["security-severity"] = _SCORES.get(card.severity, "5.0")
    said = [
        why,
        f"What to do: {fix}" if fix else "",
        f"Whole: firstlight audit --explain {decision_words.plain(card.id)}",
    ]
    return {
        "id": decision_words.plain(card.id),
        "shortDescription": {"text": title or decision_words.plain(card.id)},
        "fullDescription": {"text": why or title or decision_words.plain(card.id)},
        "help": {"text": "\n\n".join(each for each in said if each)},
        "defaultConfiguration": {"level": _LEVELS[Severity(card.severity)]},
        "properties": properties,
    }


def _result(found: Finding, index: dict[str, int]) -> dict[str, Any]:
    said, fix = _said(found.message), _said(found.fix)
    result: dict[str, Any] = {
        "ruleId": decision_words.plain(found.code),
        "level": _LEVELS[found.severity],
        "message": {"text": f"{said}. {fix}" if fix else said},
        "locations": [_location(each) for each in found.places],
        "partialFingerprints": {_KEY: fingerprint(found)},
        "properties": {
            "severity": str(found.severity),
            "clusters": [decision_words.plain(each) for each in found.clusters],
            "component": decision_words.plain(found.subject),
            "fixable": bool(found.edits),
            "standing": str(found.basis.standing),
            "confidence": str(found.basis.confidence),
            "basis": decision_words.plain(found.basis.why),
        },
    }
    if found.code in index:
        result["ruleIndex"] = index[found.code]
    related = [_related(each, number) for number, each in enumerate(found.evidence)]
    # Evidence without a place has nowhere to be shown but beside the message.
    loose = [_said(each.text) for each in found.evidence if each.place is None]
    if loose:
        result["message"]["text"] += f" ({'; '.join(loose)})"
    if any(related):
        result["relatedLocations"] = [each for each in related if each]
    return result


def _said(value: str) -> str:
    """A stranger's words; what would be a link in a message of SARIF is none."""
    return decision_words.plain(value).replace("](", "] (")


def fingerprint(found: Finding) -> str:
    """What is the same as long as it is the same finding."""
    parts = (found.code, found.place.path, found.key or found.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _related(one: Evidence, number: int) -> dict[str, Any]:
    if one.place is None:
        return {}
    return {"id": number, **_location(one.place), "message": {"text": _said(one.text)}}


def _location(place: Place) -> dict[str, Any]:
    uri = urllib.parse.quote(place.path.encode("utf-8", "surrogateescape"), safe="/")
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _ROOT}}
    if place.line > 0:
        column = {"startColumn": place.column} if place.column > 0 else {}
        physical["region"] = {"startLine": place.line, **column}
    return {"physicalLocation": physical}


def _suppression(one: Excused) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "inSource" if one.by is Excuse.INLINE else "external",
        "status": "accepted",
        "justification": finding_words.excuse(one),
    }
    if one.place is not None:
        found["location"] = _location(one.place)
    return found


def _invocation(audit: Audit) -> dict[str, Any]:
    """That it went well; what was not looked at is said beside it."""
    told = [
        {"level": "note", "message": {"text": f"not looked at: {decision_words.plain(each)}"}} for each in audit.skipped
    ]
    told += [
        {"level": "note", "message": {"text": f"could not be judged: {each}"}}
        for each in finding_words.unjudged(audit, everything=True)
    ]
    return {"executionSuccessful": True, **({"toolExecutionNotifications": told} if told else {})}
