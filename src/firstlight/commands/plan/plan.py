"""Plan every cluster of a repo, and print the plans."""

from pathlib import Path

from firstlight.cli import output, renderers, which_repo
from firstlight.commands.plan import data, text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.plan import build


def show(root: Path | None, cluster: str, *, wanted: bool | None, offline: bool, everything: bool, form: str) -> int:
    """Print the plans of a repo's clusters, or of one; return the exit code."""
    platform = which_repo.only(which_repo.platform(root), cluster)
    renditions = renderers.rendered(platform, wanted=wanted, offline=offline)
    plans = [build.build(platform, each, renditions=renditions) for each in platform.clusters]
    if form == "json":
        output.write_json({"plans": [data.data(each) for each in plans]})
    else:
        columns = table.terminal_columns()
        print("\n\n\n".join(text.text(each, columns=columns, everything=everything) for each in plans))
    return ExitCode.BLOCKED if any(each.is_blocked for each in plans) else 0
