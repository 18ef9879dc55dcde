"""What a repo describes, whole or one component of it, printed as text, as a tree or as JSON."""

import difflib
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, which_repo
from firstlight.commands.inventory import data, text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform


def show(cluster: str, *, as_tree: bool, component: str, everything: bool, root: Path | None, form: str) -> int:
    """Print what a repo describes, and return the exit code."""
    platform = which_repo.only(which_repo.platform(root, as_it_is=True), cluster)
    if component:
        _show_component(platform, component, form)
        return 0
    if form == "json":
        output.write_json(data.data(platform))
    elif as_tree:
        print("\n".join(text.tree(platform)))
    else:
        print(text.text(platform, columns=table.terminal_columns(), everything=everything))
    return ExitCode.FINDINGS if any(each.severity == Severity.ERROR for each in platform.diagnostics) else 0


def _show_component(platform: Platform, name: str, form: str) -> None:
    found = [each for each in platform.components if each.name == name]
    if not found:
        near = difflib.get_close_matches(name, sorted({each.name for each in platform.components}), n=3)
        raise errors.UsageError(f"there is no component {name}", hint=f"There is {', '.join(near)}." if near else "")
    if form == "json":
        dependents = platform.dependents()
        output.write_json({"components": [data.component(each, dependents) for each in found]})
        return
    print("\n\n".join("\n".join(text.card(platform, each)) for each in found))
