"""What ``firstlight audit`` does once it is clear what is wanted: look, fix, excuse, or go on looking."""

import asyncio
import contextlib
import dataclasses
import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import output as cli_output
from firstlight.cli import renderers, screen
from firstlight.clients import program_path
from firstlight.commands.audit import audit as audit_room
from firstlight.commands.audit import (
    audit_cache,
    audit_request,
    data,
    interview,
    live_objects,
    markdown,
    page,
    rule_cards,
    rule_remedy,
    rule_tests,
    rulebook,
    sarif,
    watch,
)
from firstlight.commands.audit import baseline as audit_baseline
from firstlight.commands.audit import text as audit_text
from firstlight.commands.audit.audit import AuditMeans, AuditResult
from firstlight.commands.audit.audit_request import AuditOptions, AuditRequest
from firstlight.commands.audit.live_objects import ClusterOpeners
from firstlight.commands.audit.rule_form import AuditCard
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.commands.decide import rule_text
from firstlight.drawing import safe, table
from firstlight.journal import incident_records, state_files
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Audit
from firstlight.model.incident import Incident
from firstlight.model.platform import Platform
from firstlight.render.component_renderer import Progress, Renderer
from firstlight.repo import file_patch, work_tree
from firstlight.repo.file_patch import FilePatch
from firstlight.repo.work_tree import WorkTree

FAILED, FOUND = 1, 2


def run(*, card: str | None, is_test: bool, root: Path | None, **given: Any) -> int:
    """Do what was typed; the exit code.

    Raises:
        errors.FirstlightError: It cannot be done, or be meant.
    """
    wishes = audit_request.typed(**given)
    tree = WorkTree(work_tree.top(Path()) if root is None else root)
    if card is None and not is_test:
        return asyncio.run(do(tree.root, wishes))
    if card is not None and is_test:
        raise errors.UsageError("--explain and --test cannot be asked together", hint="Ask one after the other.")
    if wishes.form not in ("text", "json"):
        raise errors.UsageError(f"a rule is not shown as {wishes.form}", hint="Write --output text or json.")
    return _print_tests(tree, wishes.form) if is_test else _print_rules(tree, card or "", wishes.form)


def _print_rules(tree: WorkTree, name: str, form: str) -> int:
    """A rule, or all of them, as people read them."""
    book, columns = rulebook.book(tree), table.terminal_columns()
    if name:
        card = rule_cards.card(book, name)
        cli_output.answer(form, rule_cards.card_text(card, columns=columns), rule_cards.card_data(card))
    else:
        everything = rule_cards.cards(book)
        shown = {"rules": [rule_cards.card_data(each) for each in everything]}
        cli_output.answer(form, rule_cards.card_list(everything, columns=columns), shown)
    return 0


def _print_tests(tree: WorkTree, form: str) -> int:
    """The team's tests of its rules."""
    found = rule_tests.tested(tree)
    if not found and form != "json":
        print(f"there are no tests: write them to {rulebook.DIRECTORY}/NAME.test.yaml")
        return 0
    cli_output.answer(form, rule_text.tests(found, columns=table.terminal_columns()), rule_text.tests_data(found))
    return FAILED if any(each.wrong for each in found) else 0


async def do(top: Path, wishes: AuditOptions) -> int:
    """Do what was asked for; the exit code.

    Raises:
        errors.FirstlightError: It cannot be done.
    """
    if wishes.until is not None and wishes.until < request_of(wishes, top).today:
        raise errors.UsageError(f"{wishes.until} has passed", hint="Write --until with a day to come.")
    tree = WorkTree(top)
    if wishes.watch:
        return await watch_and_show(tree, request_of(wishes, top), means_of(wishes), wishes)
    if wishes.remedy:
        rule_remedy.check_remedy(wishes.remedy)
    place = audit_cache.locate(os.environ, tree.root) if wishes.is_kept else None
    key = await _key(tree, wishes, place) if place else None
    if place is not None and key is not None and (known := audit_cache.find(place, key)) is not None:
        show(known.audit, wishes, lambda: _cards_of(tree))
        return exit_code(known.audit, wishes, is_whole=not known.is_broken)
    judged = await _judged(tree, wishes)
    if place is not None and key is not None and key == await _key(WorkTree(top), wishes, place):
        audit_cache.keep(place, key, judged)  # of files that nobody has changed meanwhile
    if wishes.write_baseline:
        return _excused(tree, judged, wishes)
    if wishes.fix or wishes.patch:
        return await _fixed(tree, judged, wishes)
    if wishes.remedy:
        return show_remedy(tree, judged, wishes)
    show(judged.audit, wishes, lambda: cards(judged.book))
    return exit_code(judged.audit, wishes, is_whole=judged.is_whole)


async def _key(tree: WorkTree, wishes: AuditOptions, place: Path) -> str | None:
    return await audit_cache.key(tree, request_of(wishes, tree.root), wishes.baseline, place=place, git=_git())


def request_of(wishes: AuditOptions, root: Path) -> AuditRequest:
    """What to look for, in the repo at a root."""
    rules = wishes.rules or ((wishes.remedy,) if wishes.remedy else ())
    today = datetime.datetime.now().astimezone().date()
    return AuditRequest(
        today=today, rules=rules, clusters=wishes.clusters, with_matrix=wishes.with_matrix, incidents=_incidents(root)
    )


def _incidents(root: Path) -> tuple[Incident, ...]:
    """The incident records of this computer; none where they may be somebody else's work."""
    try:
        return incident_records.listed(state_files.directory_of(root))
    except errors.FirstlightError:
        return ()


def means_of(wishes: AuditOptions) -> AuditMeans:
    """How to look."""

    async def open_renderer(platform: Platform, progress: Progress) -> Renderer:
        return await renderers.open_renderer(platform, offline=wishes.offline, progress=progress)

    def ways(platform: Platform) -> ClusterOpeners:
        return live_objects.ways(
            platform, wishes.clusters, kubeconfig=wishes.kubeconfig, context=wishes.context
        )  # fmt: skip

    return AuditMeans(
        git=_git(),
        baseline=wishes.baseline,
        open_renderer=open_renderer if wishes.render else None,
        ways=ways if wishes.live else None,
    )


def _git() -> Path | None:
    found = program_path.find("git")
    return Path(found) if found else None


async def _judged(tree: WorkTree, wishes: AuditOptions, *, say: Callable[[str], None] | None = None) -> AuditResult:
    with screen.doing(is_shown=screen.is_live(sys.stderr)) as tell:
        return await audit_room.audit(tree, request_of(wishes, tree.root), means_of(wishes), say=say or tell)


def exit_code(audit: Audit, wishes: AuditOptions, *, is_whole: bool = True) -> int:
    """What it means to a shell."""
    limit = Severity(wishes.fail_on).rank
    if any(each.severity.rank >= limit for each in audit.findings):
        return FOUND
    return 0 if is_whole else FAILED


def cards(book: AuditRulebook) -> tuple[AuditCard, ...]:
    """All rules as people read them."""
    return rule_cards.cards(book)


def _cards_of(tree: WorkTree) -> tuple[AuditCard, ...]:
    return cards(rulebook.book(tree))


def _excused(tree: WorkTree, judged: AuditResult, wishes: AuditOptions) -> int:
    """Write what was found to the baseline."""
    assert wishes.until is not None
    path, added = audit_baseline.add(
        tree, judged.audit, book=judged.book, file=wishes.baseline, reason=wishes.reason, until=wishes.until
    )
    noun = "finding is" if added == 1 else "findings are"
    print(f"{added} {noun} excused until {wishes.until} in {path}" if added else "there is nothing to excuse")
    return 0


async def _fixed(tree: WorkTree, judged: AuditResult, wishes: AuditOptions) -> int:
    """Make the safe edits, or show them."""
    made = file_patch.patch(tree, judged.audit.findings)
    if wishes.patch:
        sys.stdout.write(cli_output.printable_diff(made.diff))
        sys.stdout.flush()
        if not made.diff:
            print("nothing of what is found can be made right without a question", file=sys.stderr)
        _say_refused(made)
        return exit_code(judged.audit, wishes, is_whole=judged.is_whole)
    if made.after:
        dirty = await file_patch.uncommitted(tree.root, made.after, git=_git())
        if dirty and not wishes.allow_dirty:
            more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
            raise errors.Refused(
                f"no commit has {', '.join(dirty[:3])}{more} as it is, so that nobody could take an edit back",
                hint="Commit first, look at --patch, or add --allow-dirty.",
            )
        try:
            file_patch.write(tree, made)
        except OSError as error:
            raise errors.Refused(f"nothing was written: {error.strerror or error}") from error
    after = await _judged(WorkTree(tree.root), wishes) if made.after else judged
    # Beside an answer for programs, the diff is for people.
    stream = sys.stdout if wishes.form == "text" and wishes.out is None else sys.stderr
    stream.write(made.diff + ("\n" if made.after else ""))
    stream.flush()
    _say_refused(made)
    fixed, files = len(made.fixed), len(made.after)
    print(
        f"{fixed} finding{'' if fixed == 1 else 's'} fixed in {files} file{'' if files == 1 else 's'}; what is left:",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    show(after.audit, wishes, lambda: cards(after.book))
    return exit_code(after.audit, wishes, is_whole=after.is_whole)


def _say_refused(made: FilePatch) -> None:
    for finding, why in made.refused:
        print(f"not fixed: {finding.code} at {safe.name(str(finding.place))}: {safe.name(why)}", file=sys.stderr)


# ``firstlight audit --remedy``: what findings of a rule lead to, step by step, with the patch.


def show_remedy(tree: WorkTree, judged: AuditResult, wishes: AuditOptions) -> int:
    """Print the remedy; the exit code."""
    findings = [each for each in judged.audit.findings if each.code == wishes.remedy]
    if not findings:
        return _nothing(judged, wishes)
    made = rule_remedy.remedy_of(wishes.remedy, judged.scene, findings, interview.typed_answers(wishes.answers))
    assert made is not None
    whole = dataclasses.replace(findings[0], edits=made.edits)
    patch = file_patch.patch(tree, [whole])
    if patch.refused:
        raise errors.Refused(f"the patch cannot be made: {patch.refused[0][1]}")
    if wishes.form == "json":
        cli_output.write_json(rule_remedy.remedy_data(made, patch))
    else:
        print("\n".join(rule_remedy.remedy_lines(made, patch)))
    if made.refused:
        return errors.Refused.exit_code
    return exit_code(judged.audit, wishes, is_whole=judged.is_whole)


def _nothing(judged: AuditResult, wishes: AuditOptions) -> int:
    if wishes.form == "json":
        empty = Remedy(rule=wishes.remedy, title="")
        cli_output.write_json(rule_remedy.remedy_data(empty, FilePatch(before={}, after={}, fixed=())))
    else:
        print(f"{wishes.remedy} finds nothing here")
        for each in judged.audit.skipped:
            print(f"not seen: {safe.name(each)}", file=sys.stderr)
    return exit_code(judged.audit, wishes, is_whole=judged.is_whole)


# ``firstlight audit --watch``: what is new and what is gone, while somebody edits.


async def watch_and_show(tree: WorkTree, sought: AuditRequest, means: AuditMeans, wishes: AuditOptions) -> int:
    """Until Ctrl-C, which is no failure; the exit code is that of the last look."""
    last: Audit | None = None
    try:
        with screen.doing(is_shown=screen.is_live(sys.stderr)) as say:
            looks = watch.watch(tree, sought, means, say=say)
            first = await anext(looks)
        async with contextlib.aclosing(looks):
            last = _show(first, last, wishes)
            print("\nwatching; Ctrl-C ends it", file=sys.stderr, flush=True)
            async for each in looks:
                last = _show(each, last, wishes)
    except (asyncio.CancelledError, KeyboardInterrupt):
        print("\nno longer watching", file=sys.stderr)
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return exit_code(last, wishes) if last is not None else FAILED


def _show(found: object, last: Audit | None, wishes: AuditOptions) -> Audit | None:
    """Print what came of one look; what was found last."""
    if isinstance(found, errors.FirstlightError):
        print(f"error: {safe.text(found.message)}", file=sys.stderr, flush=True)
        return last
    assert isinstance(found, AuditResult)
    columns = table.terminal_columns()
    if wishes.form == "json":
        cli_output.write_json_line(data.data(found.audit))
    elif last is None:
        print(audit_text.text(found.audit, columns=columns, everything=wishes.everything), flush=True)
    else:
        lines = audit_text.news(last, found.audit, columns=columns)
        print(
            "\n".join([*lines, audit_text.counts(found.audit)] if lines else [audit_text.counts(found.audit)]),
            flush=True,
        )
    return found.audit


# The answer in the form that was asked for, on the screen or in a file.


def show(audit: Audit, wishes: AuditOptions, cards: Callable[[], tuple[AuditCard, ...]]) -> None:
    """Print it, or write it to a file.

    Args:
        audit: The answer.
        wishes: In which form, and where to.
        cards: All rules, for forms that carry them.
    """
    text = shown(audit, wishes, cards)
    if wishes.out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    cli_output.write_file(wishes.out, text)

    print(f"{audit_text.counts(audit)}\nwritten to {wishes.out}", file=sys.stderr)


def shown(audit: Audit, wishes: AuditOptions, cards: Callable[[], tuple[AuditCard, ...]]) -> str:
    """The answer in the form that was asked for."""
    match wishes.form:
        case "json":
            return cli_output.json_text(data.data(audit))
        case "sarif":
            return safe.json(sarif.sarif(audit, cards(), everything=wishes.everything), indent=2) + "\n"
        case "markdown":
            return _ended(markdown.markdown(audit))
        case "html":
            return _ended(page.page(audit, cards()))
        case _:
            columns = table.terminal_columns() if wishes.out is None else 100
            colour = wishes.out is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
            return _ended(audit_text.text(audit, columns=columns, everything=wishes.everything, colour=colour))


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
