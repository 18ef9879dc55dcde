"""``firstlight explain``: what a name means here, for people who are new to it."""

import sys
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output, which_repo
from firstlight.cli.options import repo_option
from firstlight.commands.decide import team_rules
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.explain import chain, text
from firstlight.commands.explain import explain as explain_room
from firstlight.commands.explain.explanation import ExplainInput
from firstlight.drawing import safe, table
from firstlight.model.platform import Platform
from firstlight.repo import work_tree
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import WorkTree


@click.command()
@click.argument("name", nargs=-1, metavar="[COMPONENT|PHASE|SIDE|RULE|WORD]")
@click.option("--cluster", default="", metavar="NAME", help="Only what is so in this cluster.")
@repo_option
@output.option
def explain(name: tuple[str, ...], cluster: str, root: Path | None, form: str) -> None:
    """What something is and why it is here: a component, a phase, a side, a rule, or a word.

    Without a name: the chain of this repo, from the machines to the apps. Words and rules are explained without a repo,
    too. Nothing is executed or fetched.
    """
    platform = _platform(root, cluster)
    if not name:
        scene = ExplainInput(platform)
        _require_clusters(scene)
        drawn = [chain.chain(scene, each) for each in scene.clusters]
        if form == "json":
            output.write_json(text.chain_data(drawn))
            return
        print(text.chain_text(drawn, columns=table.terminal_columns()))
        print("\nnext   firstlight explain NAME              any of these, whole")
        print("       firstlight graph --out FILE.svg     everything, as a picture")
        return
    wanted, scene = " ".join(name), ExplainInput(platform, _book(platform))
    found = explain_room.explain(wanted, scene)
    if not found:
        raise _unknown(wanted, scene)
    output.answer(form, text.text(found, columns=table.terminal_columns()), text.data(found))


def _platform(root: Path | None, cluster: str) -> Platform | None:
    """The repo that was named, or that somebody stands in; a home directory is not read for a word."""
    if root is None:
        top = work_tree.top(Path())
        if not ((top / ".git").exists() or (top / declaration_form.FILE).exists()):
            if cluster:
                raise errors.UsageError("there is no repo here", hint="Name it with --repo.")
            return None
    return which_repo.only(which_repo.platform(root, as_it_is=True), cluster)


def _book(platform: Platform | None) -> RuleBook:
    """The rules: ours, and a team's; where those are wrong that is said, and words are explained all the same."""
    if platform is None:
        return team_rules.book(None)
    try:
        return team_rules.book(WorkTree(platform.root))
    except errors.ConfigError as error:
        print(f"{team_rules.DIRECTORY} is wrong and was not used: {safe.text(error.message)}", file=sys.stderr)
        return team_rules.book(None)


def _require_clusters(scene: ExplainInput) -> None:
    if scene.clusters:
        return
    where = "there is no repo here" if scene.platform is None else "this repo has no clusters"
    raise errors.UsageError(
        f"{where}, so there is no chain to show",
        hint="Name a GitOps repo with --repo, or a word: firstlight explain CNI",
    )


def _unknown(name: str, scene: ExplainInput) -> errors.UsageError:
    near = explain_room.near(name, scene)
    some = "There are words such as CNI, quorum or handover; phases, sides and rules; and what stands in the repo"
    hint = f"Did you mean {', '.join(near)}?" if near else f"{some}: firstlight explain"
    return errors.UsageError(f"nobody knows what {name} is", hint=hint)
