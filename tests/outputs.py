"""Every JSON answer that a command prints in a test is held to its published schema: what is not declared fails.

Published schemas are open, since new fields are no breaking change; here they are closed.
"""

import functools
import json
from collections.abc import Iterator
from typing import Any

import click
import jsonschema_rs
import pytest

from firstlight.cli import output, output_form
from firstlight.commands.schema import output_schemas
from firstlight.document import diagnostic_cards

SCHEMAS = "schema"
"""The one command whose answer is a schema itself."""


def commands() -> Iterator[str]:
    """All commands that have ``--output json``, by their words."""
    from firstlight.cli import main

    yield from _within(main.cli, ())


def _within(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    if any("json" in getattr(each.type, "choices", ()) and "--output" in each.opts for each in command.params):
        yield " ".join(words)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _within(inner, (*words, name))


def closed(schema: Any) -> Any:
    """The same schema, by which an object has no other fields than those that are named."""
    match schema:
        case dict():
            made = {key: closed(each) for key, each in schema.items()}
            is_object = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
            return {**made, "additionalProperties": False} if is_object else made
        case list():
            return [closed(each) for each in schema]
        case _:
            return schema


@functools.cache
def validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(closed(output_schemas.schema(name)))


def check(name: str, text: str) -> None:
    """Hold an answer to the schema of its command.

    Raises:
        AssertionError: It says something that the schema does not, or not what it must.
    """
    answer = json.loads(text)
    if validator(name).is_valid(answer):
        # Rules of a team have codes of their own.
        unknown = set() if name == "audit" else set(_codes(answer)) - set(diagnostic_cards.cards())
        assert not unknown, f"firstlight {name} prints diagnostics whose codes have no card: {sorted(unknown)}"
        return
    # Of several shapes the one is meant whose fields it has.
    schema = closed(output_schemas.schema(name))
    problems = []
    for shape in schema.get("anyOf", [schema]):
        own = jsonschema_rs.validator_for({**shape, "$defs": schema["$defs"]})
        problems.append(
            [f"{'/'.join(map(str, each.instance_path))}: {each.message}"[:300] for each in own.iter_errors(answer)]
        )
    nearest = "\n".join(min(problems, key=len)[:10])
    raise AssertionError(f"firstlight {name} --output json is not as its output_form.py declares it:\n{nearest}")


def _codes(answer: Any) -> Iterator[str]:
    """The codes of all diagnostics in an answer."""
    match answer:
        case dict():
            if output_form.DiagnosticData.__annotations__.keys() <= answer.keys():
                yield answer["code"]
            yield from (code for each in answer.values() for code in _codes(each))
        case list():
            yield from (code for each in answer for code in _codes(each))


def asked() -> str:
    """The command that answers now; empty where a test has called a function without one."""
    words: list[str] = []
    context = click.get_current_context(silent=True)
    while context is not None:
        words.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(words[1:]) if words[:1] == ["firstlight"] else ""


@pytest.fixture(scope="session", autouse=True)
def held_to_schemas() -> Iterator[None]:
    """All of a session's answers."""
    plain = output.json_text

    def json_text(value: Any, *, indent: int = 2) -> str:
        text = plain(value, indent=indent)
        name = output_form.ERROR if isinstance(value, dict) and value.keys() == {"error"} else asked()
        if name and name != SCHEMAS:
            check(name, text)
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "json_text", json_text)
        yield
