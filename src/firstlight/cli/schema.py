"""``firstlight schema``: the JSON Schemas of the files that people write for firstlight."""

from typing import Any

import click

from firstlight.cli import output

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
        from firstlight.repo.declaration import form

        return form.schema()
    if file in (_AUDIT, _AUDIT_TESTS):
        return _audit_schema(file)
    from firstlight.policy.deciding import loading

    return loading.rule_schema() if file == _RULES else loading.case_schema()


def _audit_schema(file: str) -> dict[str, Any]:
    import msgspec

    from firstlight.policy.auditing import form, testing

    found = msgspec.json.schema(form.AuditFile if file == _AUDIT else testing.CaseFile)
    return {"$schema": _DIALECT, **found}
