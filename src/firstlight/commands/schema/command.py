"""``firstlight schema``: the JSON Schemas of the files that people write for firstlight."""

from typing import Any

import click
import msgspec

from firstlight.cli import output
from firstlight.commands.audit import rule_form, rule_tests
from firstlight.commands.decide import rule_files
from firstlight.repo.declaration import declaration_form

_PLATFORM, _RULES, _TESTS, _AUDIT, _AUDIT_TESTS = "platform", "rules", "tests", "audit", "audit-tests"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.argument("file", type=click.Choice([_PLATFORM, _RULES, _TESTS, _AUDIT, _AUDIT_TESTS]), default=_PLATFORM)
def schema(file: str) -> None:
    """The JSON Schema of firstlight.yaml, of a team's rules (decide, audit) or of their tests, for editors and CI.

    An editor finds it by the first line of the file: # yaml-language-server: $schema=.firstlight/schema.json
    """
    output.write_json(_schema(file))


def _schema(file: str) -> dict[str, Any]:
    if file == _PLATFORM:
        return declaration_form.schema()
    if file in (_AUDIT, _AUDIT_TESTS):
        return _audit_schema(file)

    return rule_files.rule_schema() if file == _RULES else rule_files.case_schema()


def _audit_schema(file: str) -> dict[str, Any]:
    found = msgspec.json.schema(rule_form.AuditFile if file == _AUDIT else rule_tests.AuditTestFile)
    return {"$schema": _DIALECT, **found}
