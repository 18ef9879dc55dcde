"""An audit as SARIF, held against the standard's own rules for what is written."""

from typing import Any

import jsonschema_rs
import pytest

from firstlight.commands.audit import sarif
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Excuse
from firstlight.model.place import Place
from tests.unit.commands.audit import audits

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def strict(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


LOCATION = strict(
    ["physicalLocation"],
    id={"type": "integer", "minimum": 0},
    message=TEXT,
    physicalLocation=strict(
        ["artifactLocation"],
        artifactLocation=strict(
            ["uri"], uri={"type": "string", "format": "uri-reference"}, uriBaseId={"type": "string"}
        ),
        region=strict(
            ["startLine"],
            startLine={"type": "integer", "minimum": 1},
            startColumn={"type": "integer", "minimum": 1},
        ),
    ),
)
SCHEMA = strict(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"enum": ["2.1.0"]},
    runs={
        "type": "array",
        "items": strict(
            ["tool"],
            tool=strict(
                ["driver"],
                driver=strict(
                    ["name"],
                    name={"type": "string"},
                    version={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": strict(
                            ["id"],
                            id={"type": "string"},
                            shortDescription=TEXT,
                            fullDescription=TEXT,
                            help=TEXT,
                            defaultConfiguration=strict([], level=LEVEL),
                            properties={"type": "object"},
                        ),
                    },
                ),
            ),
            automationDetails=strict([], id={"type": "string"}),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            invocations={
                "type": "array",
                "items": strict(
                    ["executionSuccessful"],
                    executionSuccessful={"type": "boolean"},
                    toolExecutionNotifications={
                        "type": "array",
                        "items": strict(["message"], message=TEXT, level=LEVEL),
                    },
                ),
            },
            results={
                "type": "array",
                "items": strict(
                    ["message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": 0},
                    level=LEVEL,
                    message=TEXT,
                    locations={"type": "array", "items": LOCATION},
                    relatedLocations={"type": "array", "uniqueItems": True, "items": LOCATION},
                    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
                    properties={"type": "object"},
                    suppressions={
                        "type": "array",
                        "items": strict(
                            ["kind"],
                            kind={"enum": ["inSource", "external"]},
                            status={"enum": ["accepted", "underReview", "rejected"]},
                            justification={"type": "string"},
                            location=LOCATION,
                        ),
                    },
                ),
            },
        ),
    },
)
VALID = jsonschema_rs.validator_for(SCHEMA, validate_formats=True)


def results(*findings: Any, **given: Any) -> list[dict[str, Any]]:
    cards = [audits.card("other"), audits.card()]
    log = sarif.sarif(audits.audit(*findings, **given), cards, everything=True)
    assert [str(each) for each in VALID.iter_errors(log)] == []
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


def test_a_finding() -> None:
    (one,) = results(audits.finding(evidence=(Evidence("here, too", Place("b c.yaml", 3)), Evidence("everywhere"))))

    assert (one["ruleId"], one["ruleIndex"], one["level"]) == ("range-differs", 1, "error")
    assert one["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "talos/all.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12, "startColumn": 5},
    }
    assert one["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b%20c.yaml"
    assert one["message"]["text"].endswith("10.246.0.0/16. Write one range. (everywhere)")


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (Severity.NOTE, "note"),
        (Severity.WARNING, "warning"),
        (Severity.ERROR, "error"),
        (Severity.CRITICAL, "error"),
    ],
)
def test_levels(severity: Severity, level: str) -> None:
    (one,) = results(audits.finding(severity=severity))

    assert (one["level"], one["properties"]["severity"]) == (level, str(severity))


def test_a_finding_keeps_its_fingerprint_where_lines_move() -> None:
    first, second = results(
        audits.finding(), audits.finding(places=(Place("talos/all.yaml", 99),), message="other words")
    )
    (third,) = results(audits.finding(key="services"))

    assert first["partialFingerprints"] == second["partialFingerprints"] != third["partialFingerprints"]
    assert "primaryLocationLineHash" not in first["partialFingerprints"]


@pytest.mark.parametrize(
    ("place", "uri"),
    [
        (Place("infra"), "infra"),
        (Place("a\udcff%20#?:.yaml"), "a%FF%2520%23%3F%3A.yaml"),
        (Place("ü/b.yaml", 3), "%C3%BC/b.yaml"),
    ],
)
def test_places_without_lines_and_odd_names(place: Place, uri: str) -> None:
    (one,) = results(audits.finding(places=(place,)))

    physical = one["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == uri
    assert ("region" in physical) is bool(place.line)


def test_excused_findings_are_suppressed() -> None:
    first, second = results(excused=(audits.excused(), audits.excused(by=Excuse.BASELINE, place=None)))

    assert first["suppressions"][0]["kind"] == "inSource"
    assert "the rack moves in spring" in first["suppressions"][0]["justification"]
    assert first["suppressions"][0]["location"]["physicalLocation"]["region"] == {"startLine": 11}
    assert second["suppressions"][0]["kind"] == "external"
    assert "location" not in second["suppressions"][0]
    assert "ruleIndex" not in first


def test_excused_findings_are_no_alerts_unless_everything_is_wanted() -> None:
    assert sarif.sarif(audits.audit(excused=(audits.excused(),)), [])["runs"][0]["results"] == []


def test_what_was_not_looked_at_is_told() -> None:
    log = sarif.sarif(audits.audit(skipped=("cluster infra: no answer",)), [])

    assert VALID.is_valid(log)
    (told,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "not looked at: cluster infra: no answer"


def test_rules_have_help_and_those_about_security_a_score() -> None:
    cards = [audits.card("a"), audits.card("b", group="security", severity="critical")]

    first, second = sarif.sarif(audits.audit(), cards)["runs"][0]["tool"]["driver"]["rules"]

    assert "What to do: Write one range." in first["help"]["text"]
    assert "helpUri" not in first
    assert first["properties"] == {"tags": ["multi-cluster"], "problem.severity": "error"}
    assert second["properties"]["security-severity"] == "9.5"


def test_what_strangers_write_is_no_link() -> None:
    (one,) = results(audits.finding(message=audits.EVIL, evidence=(Evidence(audits.EVIL, Place("b", 1)),)))

    assert "](" not in one["message"]["text"]
    assert "](" not in one["relatedLocations"][0]["message"]["text"]
