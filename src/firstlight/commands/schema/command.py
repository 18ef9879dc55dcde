"""``firstlight schema``: the JSON Schemas of the files that people write for firstlight, and of what it prints."""

from typing import Any

import click
import msgspec

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.audit import rule_form, rule_tests
from firstlight.commands.decide import rule_files
from firstlight.commands.schema import output_schemas
from firstlight.repo.declaration import declaration_form

_PLATFORM, _RULES, _TESTS, _AUDIT, _AUDIT_TESTS = "platform", "rules", "tests", "audit", "audit-tests"
_FILES = (_PLATFORM, _RULES, _TESTS, _AUDIT, _AUDIT_TESTS)
_OUTPUT = "output"


@click.command()
@click.argument("file", type=click.Choice([*_FILES, _OUTPUT]), default=_PLATFORM)
@click.argument("command", nargs=-1)
@click.option("--list", "is_list", is_flag=True, help="List the names of all schemas.")
def schema(file: str, command: tuple[str, ...], is_list: bool) -> None:
    """Print the JSON Schema of a file that you write, or of a command's JSON output.

    \b
      firstlight schema                      firstlight.yaml
      firstlight schema rules                a team's rules for decide; tests for their tests
      firstlight schema audit                a team's rules for audit; audit-tests for their tests
      firstlight schema output               list the commands that print JSON
      firstlight schema output node list     what "firstlight node list --output json" prints

    An editor finds the first one by a comment at the top of the file:
    # yaml-language-server: $schema=.firstlight/schema.json
    """  # noqa: D301 - the mark keeps lines as they are
    if command and file != _OUTPUT:
        raise errors.UsageError(f"unexpected argument {command[0]!r}", hint=f"Write: firstlight schema {file}")
    outputs = [f"{_OUTPUT} {each}" for each in output_schemas.names()]
    if is_list:
        print("\n".join([*_FILES, *outputs]))
    elif file != _OUTPUT:
        output.write_json(_schema(file))
    elif command:
        output.write_json(output_schemas.schema(" ".join(command)))
    else:
        print("\n".join(each.removeprefix(f"{_OUTPUT} ") for each in outputs))


def _schema(file: str) -> dict[str, Any]:
    if file == _PLATFORM:
        return declaration_form.schema()
    if file in (_AUDIT, _AUDIT_TESTS):
        return _audit_schema(file)

    return rule_files.rule_schema() if file == _RULES else rule_files.case_schema()


def _audit_schema(file: str) -> dict[str, Any]:
    found = msgspec.json.schema(rule_form.AuditFile if file == _AUDIT else rule_tests.AuditTestFile)
    return {"$schema": output_schemas.DIALECT, **found}
