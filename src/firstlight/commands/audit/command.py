"""``firstlight audit``: what in a repo, and in its clusters, will hurt; with evidence, and the way out."""

from pathlib import Path
from typing import Any

import click

from firstlight.cli.options import cluster_options, repo_option


@click.command()
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Only this rule; may be repeated.")
@click.option("--live", is_flag=True, help="Also ask the clusters; nothing is written there.")
@cluster_options
@click.option("--render", is_flag=True, help="Also look at what charts and kustomizations really make.")
@click.option("--offline", is_flag=True, help="With --render: fetch nothing, charts come from the cache.")
@click.option("--fail-on", type=click.Choice(["note", "warning", "error", "critical"]), default="error",
              show_default=True, help="From which severity on the exit code is 2.")  # fmt: skip
@click.option("--fix", is_flag=True, help="Make the edits that are safe, and show what changed and what is left.")
@click.option("--patch", is_flag=True, help="Print these edits for git apply, and write nothing.")
@click.option("--allow-dirty", is_flag=True, help="With --fix: also files that no commit has as they are.")
@click.option("--baseline", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              show_default="firstlight-rules/audit/baseline.yaml", help="What is excused for a while.")  # fmt: skip
@click.option("--write-baseline", is_flag=True, help="Excuse everything that is found, with --reason and --until.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is excused.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), default=None, metavar="YYYY-MM-DD", help="The last day.")
@click.option("--explain", "card", is_flag=False, flag_value="", default=None, metavar="[RULE]",
              help="A rule as people read it; without a name all of them.")  # fmt: skip
@click.option("--remedy", default="", metavar="RULE", help="What a finding of this rule leads to, step by step.")
@click.option("--answer", "answers", multiple=True, metavar="KEY=VALUE",
              help="With --remedy: answer what it asks; may be repeated.")  # fmt: skip
@click.option("--test", "is_test", is_flag=True, help="Run the team's tests of its audit rules.")
@click.option("--matrix", "with_matrix", is_flag=True, help="Also compare the clusters, pattern by pattern.")
@click.option("--watch", is_flag=True, help="Go on looking while files are edited: what is new, what is gone.")
@click.option("--everything", is_flag=True, help="Also what is excused.")
@click.option("--no-cache", is_flag=True, help="Look at everything, also if nothing has changed since the last time.")
@repo_option
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "sarif", "markdown", "html"]), default=None,
              show_default="text, or as the name of --out says", help="How to print the answer.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Write the answer to a file.")  # fmt: skip
def audit(**typed: Any) -> int:
    """What will hurt: rules with evidence over all clusters of a repo, and how to make it right.

    \b
      firstlight audit                                  the repo
      firstlight audit --live --matrix                  its clusters, too, held against each other
      firstlight audit --fix                            what can be made right without a question
      firstlight audit --output sarif --out audit.sarif for code scanning

    In files, "# firstlight: ignore RULE until 2027-01-31: reason" excuses a line or the one below. Nothing of the repo
    is executed, and nothing is written without --fix or --write-baseline. Exit code 2 means findings at or above
    --fail-on, 1 that something could not be looked at that was asked for.
    """  # noqa: D301 - the mark keeps lines as they are
    from firstlight.commands.audit import actions

    return actions.run(**typed)
