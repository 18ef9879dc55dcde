"""``firstlight schema``: the JSON Schema of firstlight.yaml."""

import click

from firstlight.cli import output


@click.command()
def schema() -> None:
    """The JSON Schema of firstlight.yaml, for editors and CI.

    An editor finds it by the first line of the file: # yaml-language-server: $schema=.firstlight/schema.json
    """
    from firstlight.repo.declaration import form

    output.write_json(form.schema())
