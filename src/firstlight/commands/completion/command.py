"""``firstlight completion``: the script that a shell loads."""

import click
from click import shell_completion

from firstlight.cli import main


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash   firstlight completion bash > ~/.local/share/bash-completion/completions/firstlight
    zsh    firstlight completion zsh > "${fpath[1]}/_firstlight"
    fish   firstlight completion fish > ~/.config/fish/completions/firstlight.fish
    """  # noqa: D301 -- click wants a real backspace
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main.cli, {}, "firstlight", "_FIRSTLIGHT_COMPLETE").source())
