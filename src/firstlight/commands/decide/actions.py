"""What ``firstlight decide`` does once it is known what was asked; apart from its options, whose help is instant."""

import asyncio
import dataclasses
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, renderers, screen
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecideOptions:
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


def run(
    *, words: tuple[str, ...], revisions: str | None, staged: bool, patch: str | None, as_files: bool, ask: bool,
    moment: str | None, approvals: bool, rules: tuple[Path, ...], rule: str | None, is_test: bool,
    wanted: bool | None, offline: bool, everything: bool, cluster: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str, comment: Path | None,
) -> int:  # fmt: skip
    """Do what was typed; the exit code.

    Raises:
        errors.FirstlightError: It cannot be done, or be meant.
    """
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
    top = top_of(root)
    if is_test:
        return print_tests(top, rules, form)
    if rule is not None:
        return print_rules(top, rules, rule, form)
    if ask:
        return decide_ask.ask(top, rules, form)
    if words and not as_files:
        return print_suggestions(top, rules, " ".join(words), form)
    asked = change_asked(top, revisions=revisions, staged=staged, patch=patch, files=words if as_files else None)
    wishes = DecideOptions(
        rules=rules, wanted=wanted, offline=offline, everything=everything, form=form, moment=moment,
        approvals=approvals, cluster=cluster, way=(kubeconfig, context), comment=comment,
    )  # fmt: skip

    return asyncio.run(print_decision(top, asked, wishes))


def _one_of(given: list[str]) -> None:
    if len(given) > 1:
        raise errors.UsageError(f"{' and '.join(given)} cannot be asked together", hint="Ask one after the other.")


def _without_change(way: str, given: list[str]) -> None:
    """What only a change can be asked for must not seem to be answered by a sentence or a rule."""
    if given:
        hint = "Give one: --diff main...HEAD, --staged, --patch FILE or --files FILES."
        raise errors.UsageError(f"{way} looks at no change, so that {' and '.join(given)} has no meaning", hint=hint)


def top_of(root: Path | None) -> Path:
    """The repo that is meant."""
    return work_tree.top(Path()) if root is None else root


def change_asked(
    top: Path, *, revisions: str | None, staged: bool, patch: str | None, files: tuple[str, ...] | None
) -> ChangeSource:
    """The change that is meant.

    Raises:
        errors.UsageError: It cannot be told from what was typed.
    """
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


async def print_decision(top: Path, asked: ChangeSource, wishes: DecideOptions) -> int:
    """Decide, print it, and the exit code."""
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


async def _examined(decision: Decision, scene: CheckInput, wishes: DecideOptions) -> Decision:
    """The decision with the checks made and the approvals looked up that were asked for."""
    if wishes.moment is not None:
        moment = Moment(wishes.moment)
        made = await checklist.run(decision, moment, scene)
        others = tuple(each for each in decision.checks if each.moment != moment)
        decision = dataclasses.replace(decision, checks=(*made, *others) if moment is Moment.PRE else (*others, *made))
    if wishes.approvals:
        decision = dataclasses.replace(decision, approved=await approval.approved(decision, scene))
    return decision


def _code(decision: Decision, wishes: DecideOptions) -> int:
    if decision.approved is not None and not decision.approved.is_given:
        return UNAPPROVED
    failed = any(each.state == "failed" for each in decision.checks if each.moment == wishes.moment)
    return UNCHECKED if failed else 0


def _print(decision: Decision, wishes: DecideOptions) -> None:
    if wishes.comment is not None:
        output.write_file(wishes.comment, f"{markdown.text(decision)}\n")
    if wishes.form == "json":
        output.write_json(data.data(decision))
    elif wishes.form == "markdown":
        print(markdown.text(decision))
    else:
        print(text.text(decision, columns=table.terminal_columns(), everything=wishes.everything))


def print_suggestions(top: Path, rules: tuple[Path, ...], sentence: str, form: str) -> int:
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


def print_rules(top: Path, rules: tuple[Path, ...], name: str, form: str) -> int:
    """A rule as people read it."""
    book = team_rules.book(WorkTree(top), rules)
    if not name:
        every = rule_card.all_cards(book)
        output.answer(form, rule_text.overview(every, columns=table.terminal_columns()), rule_text.overview_data(every))
        return 0
    card = rule_card.card(book, name)
    output.answer(form, rule_text.text(card, columns=table.terminal_columns()), rule_text.data(card))
    return 0


def print_tests(top: Path, rules: tuple[Path, ...], form: str) -> int:
    """The team's tests of its rules."""
    found = team_rules.tested(WorkTree(top), rules)
    if not found and form != "json":
        print(f"there are no tests: write them to {team_rules.DIRECTORY}/NAME.test.yaml")
        return 0
    output.answer(form, rule_text.tests(found, columns=table.terminal_columns()), rule_text.tests_data(found))
    return FAILED if any(each.wrong for each in found) else 0


def _opener(wishes: DecideOptions) -> Callable[[Platform, str], Awaitable[Renderer]]:
    async def open_renderer(platform: Platform, known_as: str) -> Renderer:
        return await renderers.open_renderer(platform, offline=wishes.offline, quiet=True, known_as=known_as)

    return open_renderer
