"""Schemas of the files that people write, listed and printed together with those of the commands' JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.audit import rule_form, rule_tests
from firstlight.commands.decide import rule_files
from firstlight.commands.schema import output_schemas
from firstlight.repo.declaration import declaration_form

_OUTPUT = "output"


def show(file: str, command: Sequence[str], *, is_list: bool, files: Sequence[str]) -> None:
    """Print a schema, or the names of all.

    Args:
        file: Which file, or ``output``.
        command: The words of the command whose output is meant.
        is_list: Whether only names are asked for.
        files: All files that have a schema.

    Raises:
        errors.UsageError: No schema has this name.
    """
    if command and file != _OUTPUT:
        raise errors.UsageError(f"unexpected argument {command[0]!r}", hint=f"Write: firstlight schema {file}")
    outputs = [f"{_OUTPUT} {each}" for each in output_schemas.names()]
    if is_list:
        print("\n".join([*files, *outputs]))
    elif file != _OUTPUT:
        output.write_json(_schema(file))
    elif command:
        output.write_json(output_schemas.schema(" ".join(command)))
    else:
        print("\n".join(each.removeprefix(f"{_OUTPUT} ") for each in outputs))


def _schema(file: str) -> dict[str, Any]:
    match file:
        case "rules":
            return rule_files.rule_schema()
        case "tests":
            return rule_files.case_schema()
        case "audit":
            return _audit_schema(rule_form.AuditFile)
        case "audit-tests":
            return _audit_schema(rule_tests.AuditTestFile)
    return declaration_form.schema()


def _audit_schema(form: type) -> dict[str, Any]:
    return {"$schema": output_schemas.DIALECT, **msgspec.json.schema(form)}
