"""``firstlight decide``: where a change belongs, how dangerous it is, who must agree, and how it is done."""

import asyncio
import dataclasses
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output, renderers, screen, which_cluster, which_repo
from firstlight.clients import program_path
from firstlight.commands.decide import (
    approval,
    change_source,
    cluster_look,
    data,
    markdown,
    rule_card,
    rule_text,
    team_rules,
    text,
)
from firstlight.commands.decide import ask as decide_ask
from firstlight.commands.decide import decide as decide_room
from firstlight.commands.decide.change_source import ChangeSource
from firstlight.commands.decide.checks import checklist
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.drawing import table
from firstlight.model.decision import Decision, Moment
from firstlight.model.platform import Platform
from firstlight.render.component_renderer import Renderer
from firstlight.repo import platform_reader, work_tree
from firstlight.repo.work_tree import WorkTree

FAILED, UNCHECKED, UNAPPROVED = 1, 2, 3
_LARGEST = 64 << 20
"""Bytes of a patch."""


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
@which_cluster.options
@which_repo.option
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "markdown"]), default="text",
              show_default=True, help="How to print the answer; markdown for a pull request.")  # fmt: skip
@click.option("--markdown", "comment", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Also write the answer as Markdown to FILE, whatever --output prints.")  # fmt: skip
def decide(
    words: tuple[str, ...], revisions: str | None, staged: bool, patch: str | None, as_files: bool, ask: bool,
    moment: str | None, approvals: bool, rules: tuple[Path, ...], rule: str | None, is_test: bool,
    wanted: bool | None, offline: bool, everything: bool, cluster: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str, comment: Path | None,
) -> int:  # fmt: skip
    """Bootstrap or GitOps? The side, risk, approval, procedure, way back and checks of a change.

    \b
      firstlight decide                        staged changes, else the work tree
      firstlight decide --diff main...HEAD     a branch, as a review sees it
      firstlight decide add node labels        by words alone

    It looks at content: comments and order are no change. Nothing of the repo is executed, and nothing is written but
    what --check pre measures. Exit code 1 means that a test of rules failed or a file is wrong, 2 that a check failed,
    3 that the approval is missing, 64 that nobody knows what was asked.
    """  # noqa: D301 - the mark keeps lines as they are
    ways = {
        "--diff": revisions is not None, "--staged": staged, "--patch": patch is not None, "--files": as_files,
        "--ask": ask, "--explain": rule is not None, "--test": is_test, "a sentence": bool(words) and not as_files,
    }  # fmt: skip
    chosen = [name for name, given in ways.items() if given]
    _one_of(chosen)
    of_changes = {
        "--check": moment is not None, "--approvals": approvals, "--render": wanted is True, "--cluster": bool(cluster),
        "--kubeconfig": kubeconfig is not None, "--context": bool(context), "--output markdown": form == "markdown",
        "--markdown": comment is not None,
    }  # fmt: skip
    if ask or rule is not None or is_test or (words and not as_files):
        _without_change(chosen[0], [name for name, given in of_changes.items() if given])
    top = _top(root)
    if is_test:
        return _tested(top, rules, form)
    if rule is not None:
        return _explained(top, rules, rule, form)
    if ask:
        return decide_ask.ask(top, rules, form)
    if words and not as_files:
        return _told(top, rules, " ".join(words), form)
    asked = _asked(top, revisions=revisions, staged=staged, patch=patch, files=words if as_files else None)
    wishes = _DecideOptions(
        rules=rules, wanted=wanted, offline=offline, everything=everything, form=form, moment=moment,
        approvals=approvals, cluster=cluster, way=(kubeconfig, context), comment=comment,
    )  # fmt: skip

    return asyncio.run(_decided(top, asked, wishes))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _DecideOptions:
    """What was typed."""

    rules: tuple[Path, ...]
    wanted: bool | None
    offline: bool
    everything: bool
    form: str
    moment: str | None
    approvals: bool
    cluster: str
    way: tuple[Path | None, str]
    comment: Path | None = None
    """Where the answer is written as Markdown besides."""

    @property
    def looks(self) -> bool:
        """Whether a cluster is to be looked at."""
        return bool(self.cluster or self.way != (None, ""))


def _one_of(given: list[str]) -> None:
    if len(given) > 1:
        raise errors.UsageError(f"{' and '.join(given)} cannot be asked together", hint="Ask one after the other.")


def _without_change(way: str, given: list[str]) -> None:
    """What only a change can be asked for must not seem to be answered by a sentence or a rule."""
    if given:
        hint = "Give one: --diff main...HEAD, --staged, --patch FILE or --files FILES."
        raise errors.UsageError(f"{way} looks at no change, so that {' and '.join(given)} has no meaning", hint=hint)


def _top(root: Path | None) -> Path:
    return work_tree.top(Path()) if root is None else root


def _asked(
    top: Path, *, revisions: str | None, staged: bool, patch: str | None, files: tuple[str, ...] | None
) -> ChangeSource:
    if revisions is not None:
        return change_source.between(revisions)
    if staged:
        return change_source.StagedChanges()
    if patch is not None:
        return change_source.PatchFile(content=_patch(patch), name="" if patch == "-" else patch)
    if files is None:
        return change_source.WorkTreeChanges()
    if not files:
        raise errors.UsageError("--files needs files", hint="Name them: firstlight decide --files talos/patches/*.yaml")
    return change_source.NamedFiles(paths=tuple(_below(top, each) for each in files))


def _patch(name: str) -> bytes:
    """A patch from a file or from standard input.

    Raises:
        errors.UsageError: It cannot be read.
    """
    if name == "-":
        content = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        try:
            with Path(name).open("rb") as file:
                content = file.read(_LARGEST + 1)
        except OSError as error:
            raise errors.UsageError(f"the patch {name} cannot be read: {error.strerror or error}") from error
    if len(content) > _LARGEST:
        raise errors.UsageError(f"the patch has more than {_LARGEST >> 20} MiB")
    return content


def _below(top: Path, name: str) -> str:
    """A file as it was typed, from the top of the repo: from here, or from there."""
    here = Path(os.path.abspath(name))
    base = top.resolve()
    # Only the directory is resolved: a link is meant itself.
    found = here.parent.resolve() / here.name
    if not os.path.lexists(found) and not Path(name).is_absolute():
        found = Path(os.path.normpath(base / name))
    if not found.is_relative_to(base):
        raise errors.UsageError(f"{name} is not in {base}", hint="Name files of the repo, or another --repo.")
    return found.relative_to(base).as_posix()


async def _decided(top: Path, asked: ChangeSource, wishes: _DecideOptions) -> int:
    git = program_path.find("git")
    with screen.doing(is_shown=wishes.form == "text" and screen.is_live(sys.stderr)) as say:
        async with cluster_look.open_cluster_look(wishes.cluster, wishes.way, is_wanted=wishes.looks) as look:
            decided = await decide_room.decide(
                top, asked, git=Path(git) if git else None, rules=wishes.rules, say=say, look=look.facts,
                cluster=wishes.cluster, open_renderer=_opener(wishes) if wishes.wanted is not False else None,
            )  # fmt: skip
            if wishes.wanted and decided.rendered.problem:
                raise errors.ToolError(decided.rendered.problem)
            decision = decided.decision
            if wishes.moment is not None or wishes.approvals:
                is_kept = wishes.moment is not None
                scene = await cluster_look.gathered_check_input(decided, look, offline=wishes.offline, is_kept=is_kept)
                decision = await _examined(decision, scene, wishes)
    _print(decision, wishes)
    return _code(decision, wishes)


async def _examined(decision: Decision, scene: CheckInput, wishes: _DecideOptions) -> Decision:
    """The decision with the checks made and the approvals looked up that were asked for."""
    if wishes.moment is not None:
        moment = Moment(wishes.moment)
        made = await checklist.run(decision, moment, scene)
        others = tuple(each for each in decision.checks if each.moment != moment)
        decision = dataclasses.replace(decision, checks=(*made, *others) if moment is Moment.PRE else (*others, *made))
    if wishes.approvals:
        decision = dataclasses.replace(decision, approved=await approval.approved(decision, scene))
    return decision


def _code(decision: Decision, wishes: _DecideOptions) -> int:
    if decision.approved is not None and not decision.approved.is_given:
        return UNAPPROVED
    failed = any(each.state == "failed" for each in decision.checks if each.moment == wishes.moment)
    return UNCHECKED if failed else 0


def _print(decision: Decision, wishes: _DecideOptions) -> None:
    if wishes.comment is not None:
        output.write_file(wishes.comment, f"{markdown.text(decision)}\n")
    if wishes.form == "json":
        output.write_json(data.data(decision))
    elif wishes.form == "markdown":
        print(markdown.text(decision))
    else:
        print(text.text(decision, columns=table.terminal_columns(), everything=wishes.everything))


def _told(top: Path, rules: tuple[Path, ...], sentence: str, form: str) -> int:
    """The rules that a sentence may mean."""
    tree = WorkTree(top)
    book = team_rules.book(tree, rules)
    found = rule_card.suggested_rules(sentence, book, platform_reader.read_tree(tree))
    if not found:
        raise rule_card.unknown_sentence(sentence, book)
    if form == "json":
        output.write_json(rule_text.suggestions_data(sentence, found))
    else:
        print(rule_text.suggestions(sentence, found, columns=table.terminal_columns()))
    return 0


def _explained(top: Path, rules: tuple[Path, ...], name: str, form: str) -> int:
    """A rule as people read it."""
    book = team_rules.book(WorkTree(top), rules)
    if not name:
        every = rule_card.all_cards(book)
        output.answer(form, rule_text.overview(every, columns=table.terminal_columns()), rule_text.overview_data(every))
        return 0
    card = rule_card.card(book, name)
    output.answer(form, rule_text.text(card, columns=table.terminal_columns()), rule_text.data(card))
    return 0


def _tested(top: Path, rules: tuple[Path, ...], form: str) -> int:
    """The team's tests of its rules."""
    found = team_rules.tested(WorkTree(top), rules)
    if not found and form != "json":
        print(f"there are no tests: write them to {team_rules.DIRECTORY}/NAME.test.yaml")
        return 0
    output.answer(form, rule_text.tests(found, columns=table.terminal_columns()), rule_text.tests_data(found))
    return FAILED if any(each.wrong for each in found) else 0


def _opener(wishes: _DecideOptions) -> Callable[[Platform, str], Awaitable[Renderer]]:
    async def open_renderer(platform: Platform, known_as: str) -> Renderer:
        return await renderers.open_renderer(platform, offline=wishes.offline, quiet=True, known_as=known_as)

    return open_renderer
