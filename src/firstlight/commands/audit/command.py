"""``firstlight audit``: what in a repo, and in its clusters, will hurt; with evidence, and the way out."""

import asyncio
from pathlib import Path
from typing import Any

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.options import cluster_options, repo_option
from firstlight.commands.audit import actions, audit_request, rule_cards, rule_tests, team_rules
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.commands.decide import rule_text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.repo import work_tree
from firstlight.repo.work_tree import WorkTree


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
@click.option("--test", "is_test", is_flag=True, help="Run the team's tests of its audit rules.")
@click.option("--matrix", "with_matrix", is_flag=True, help="Also compare the clusters, pattern by pattern.")
@click.option("--watch", is_flag=True, help="Go on looking while files are edited: what is new, what is gone.")
@click.option("--everything", is_flag=True, help="Also what is excused.")
@click.option("--no-cache", is_flag=True, help="Look at everything, also if nothing has changed since the last time.")
@repo_option
@click.option("-o", "--output", "form", type=click.Choice(audit_request.FORMS), default=None,
              show_default="text, or as the name of --out says", help="How to print the answer.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Write the answer to a file.")  # fmt: skip
def audit(card: str | None, is_test: bool, root: Path | None, **typed: Any) -> int:
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
    wishes = audit_request.typed(**typed)
    if card is not None or is_test:
        if card is not None and is_test:
            raise errors.UsageError("--explain and --test cannot be asked together", hint="Ask one after the other.")
        if wishes.form not in ("text", "json"):
            raise errors.UsageError(f"a rule is not shown as {wishes.form}", hint="Write --output text or json.")
        return _tested(root, wishes.form) if is_test else _explained(root, card or "", wishes.form)

    return asyncio.run(actions.do(_top(root), wishes))


def _top(root: Path | None) -> Path:
    return work_tree.top(Path()) if root is None else root


def _book(root: Path | None) -> AuditRulebook:
    return team_rules.book(WorkTree(_top(root)))


def _explained(root: Path | None, name: str, form: str) -> int:
    """A rule, or all of them, as people read them."""
    book, columns = _book(root), table.terminal_columns()
    if name:
        card = rule_cards.card(book, name)
        output.answer(form, rule_cards.card_text(card, columns=columns), rule_cards.card_data(card))
    else:
        everything = rule_cards.cards(book)
        shown = {"rules": [rule_cards.card_data(each) for each in everything]}
        output.answer(form, rule_cards.card_list(everything, columns=columns), shown)
    return 0


def _tested(root: Path | None, form: str) -> int:
    """The team's tests of its rules."""
    found = rule_tests.tested(WorkTree(_top(root)))
    if not found and form != "json":
        print(f"there are no tests: write them to {team_rules.DIRECTORY}/NAME.test.yaml")
        return 0
    output.answer(form, rule_text.tests(found, columns=table.terminal_columns()), rule_text.tests_data(found))
    return ExitCode.FAILED if any(each.wrong for each in found) else 0
