"""``firstlight decide``: where a change belongs, how dangerous it is, who must agree, and how it is done."""

from pathlib import Path
from typing import Any

import click

from firstlight.cli import options


@click.command()
@click.argument("words", nargs=-1, metavar="[SENTENCE | FILES…]")
@click.option("--diff", "revisions", default=None, metavar="A...B",
              help="From where B left A to B; A..B compares the two, A alone with the work tree.")  # fmt: skip
@click.option("--staged", is_flag=True, help="What git commit would commit.")
@click.option("--patch", default=None, metavar="FILE", help="A patch to the last commit; - for standard input.")
@click.option("--files", "as_files", is_flag=True,
              help="The files that are named; one that has not changed counts as if all of it did.")  # fmt: skip
@click.option("--ask", is_flag=True, help="The decision tree, question by question.")
@click.option("--check", "moment", type=click.Choice(["pre", "post"]), default=None,
              help="Run the checklist of before or after the change.")  # fmt: skip
@click.option("--approvals", is_flag=True, help="Whether the approval is there: exit code 3 if it is not.")
@click.option("--rules", multiple=True, type=click.Path(path_type=Path, exists=True), metavar="PATH",
              help="More rules: a file, or a directory of them; may be repeated.")  # fmt: skip
@click.option("--explain", "rule", is_flag=False, flag_value="", default=None, metavar="[RULE]",
              help="A rule as people read it; without a name all of them.")  # fmt: skip
@click.option("--test", "is_test", is_flag=True, help="Run the team's tests of its rules.")
@click.option("--render/--no-render", "wanted", default=None, show_default="if helm and kustomize are there",
              help="Render what is touched before and after: what really changes in the cluster.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@click.option("--everything", is_flag=True, help="Every field, and all that is affected, by name.")
@click.option("--cluster", default="", metavar="NAME", help="Also look at this cluster: whether it works.")
@options.cluster_options
@options.repo_option
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "markdown"]), default="text",
              show_default=True, help="How to print the answer; markdown for a pull request.")  # fmt: skip
@click.option("--markdown", "comment", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Also write the answer as Markdown to FILE, whatever --output prints.")  # fmt: skip
def decide(**typed: Any) -> int:
    """Bootstrap or GitOps? The side, risk, approval, procedure, way back and checks of a change.

    \b
      firstlight decide                        staged changes, else the work tree
      firstlight decide --diff main...HEAD     a branch, as a review sees it
      firstlight decide add node labels        by words alone

    It looks at content: comments and order are no change. Nothing of the repo is executed, and nothing is written but
    what --check pre measures. Exit code 1 means that a test of rules failed or a file is wrong, 2 that a check failed,
    3 that the approval is missing, 64 that nobody knows what was asked.
    """  # noqa: D301 - the mark keeps lines as they are
    from firstlight.commands.decide import actions

    return actions.run(**typed)
