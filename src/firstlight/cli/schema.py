"""``firstlight schema``: the JSON Schemas of the files that people write for firstlight."""

from typing import Any

import click

from firstlight.cli import output

_PLATFORM, _RULES, _TESTS = "platform", "rules", "tests"


@click.command()
@click.argument("file", type=click.Choice([_PLATFORM, _RULES, _TESTS]), default=_PLATFORM)
def schema(file: str) -> None:
    """The JSON Schema of firstlight.yaml, of a team's rules or of their tests, for editors and CI.

    An editor finds it by the first line of the file: # yaml-language-server: $schema=.firstlight/schema.json
    """
    output.write_json(_schema(file))


def _schema(file: str) -> dict[str, Any]:
    if file == _PLATFORM:
        from firstlight.repo.declaration import form

        return form.schema()
    from firstlight.policy.deciding import loading

    return loading.rule_schema() if file == _RULES else loading.case_schema()
