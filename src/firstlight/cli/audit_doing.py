"""What ``firstlight audit`` does once it is clear what is wanted: look, fix, excuse, or go on looking."""

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import audit_printing, screen
from firstlight.cli.audit_wishes import Wishes
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.model.audit_card import AuditCard
    from firstlight.model.finding import Audit
    from firstlight.model.platform import Platform
    from firstlight.operate.auditing.auditing import Judged, Means, Ways
    from firstlight.operate.auditing.fixing import Patch
    from firstlight.operate.auditing.wishes import Wishes as Sought
    from firstlight.policy.auditing.loading import Book
    from firstlight.render.rendering import Progress, Renderer
    from firstlight.repo.work_tree import WorkTree

FAILED, FOUND = 1, 2


async def do(top: Path, wishes: Wishes) -> int:
    """Do what was asked for; the exit code.

    Raises:
        errors.FirstlightError: It cannot be done.
    """
    from firstlight.operate.auditing import keeping
    from firstlight.repo.work_tree import WorkTree

    if wishes.until is not None and wishes.until < sought(wishes).today:
        raise errors.UsageError(f"{wishes.until} has passed", hint="Write --until with a day to come.")
    tree = WorkTree(top)
    if wishes.watch:
        from firstlight.cli import audit_watching

        return await audit_watching.watch(tree, sought(wishes), means(wishes), wishes)
    if wishes.remedy:
        from firstlight.cli import audit_remedy

        audit_remedy.check(wishes.remedy)
    place = keeping.locate(os.environ, tree.root) if wishes.is_kept else None
    key = await _key(tree, wishes, place) if place else None
    if place is not None and key is not None and (known := keeping.find(place, key)) is not None:
        audit_printing.show(known.audit, wishes, lambda: _cards_of(tree))
        return exit_code(known.audit, wishes, is_whole=not known.is_broken)
    judged = await _judged(tree, wishes)
    if place is not None and key is not None and key == await _key(WorkTree(top), wishes, place):
        keeping.keep(place, key, judged)  # of files that nobody has changed meanwhile
    if wishes.write_baseline:
        return _excused(tree, judged, wishes)
    if wishes.fix or wishes.patch:
        return await _fixed(tree, judged, wishes)
    if wishes.remedy:
        return audit_remedy.show(tree, judged, wishes)
    audit_printing.show(judged.audit, wishes, lambda: cards(judged.book))
    return exit_code(judged.audit, wishes, is_whole=judged.is_whole)


async def _key(tree: "WorkTree", wishes: Wishes, place: Path) -> str | None:
    from firstlight.operate.auditing import keeping

    return await keeping.key(tree, sought(wishes), wishes.baseline, place=place, git=_git())


def sought(wishes: Wishes) -> "Sought":
    """What to look for."""
    from firstlight.operate.auditing.wishes import Wishes as Sought

    rules = wishes.rules or ((wishes.remedy,) if wishes.remedy else ())
    today = datetime.datetime.now().astimezone().date()
    return Sought(today=today, rules=rules, clusters=wishes.clusters, with_matrix=wishes.with_matrix)


def means(wishes: Wishes) -> "Means":
    """How to look."""
    from firstlight.cli import audit_reaching, renderers
    from firstlight.operate.auditing.auditing import Means

    async def open_renderer(platform: "Platform", progress: "Progress") -> "Renderer":
        return await renderers.open_renderer(platform, offline=wishes.offline, progress=progress)

    def ways(platform: "Platform") -> "Ways":
        return audit_reaching.ways(
            platform, wishes.clusters, kubeconfig=wishes.kubeconfig, context=wishes.context
        )  # fmt: skip

    return Means(
        git=_git(),
        baseline=wishes.baseline,
        open_renderer=open_renderer if wishes.render else None,
        ways=ways if wishes.live else None,
    )


def _git() -> Path | None:
    found = program_path.find("git")
    return Path(found) if found else None


async def _judged(tree: "WorkTree", wishes: Wishes, *, say: Callable[[str], None] | None = None) -> "Judged":
    from firstlight.operate.auditing import auditing

    with screen.doing(is_shown=screen.is_live(sys.stderr)) as tell:
        return await auditing.audit(tree, sought(wishes), means(wishes), say=say or tell)


def exit_code(audit: "Audit", wishes: Wishes, *, is_whole: bool = True) -> int:
    """What it means to a shell."""
    from firstlight.model.finding import Severity

    limit = Severity(wishes.fail_on).rank
    if any(each.severity.rank >= limit for each in audit.findings):
        return FOUND
    return 0 if is_whole else FAILED


def cards(book: "Book") -> "tuple[AuditCard, ...]":
    """All rules as people read them."""
    from firstlight.operate.auditing import cards as making

    return making.cards(book)


def _cards_of(tree: "WorkTree") -> "tuple[AuditCard, ...]":
    from firstlight.operate.auditing import team_rules

    return cards(team_rules.book(tree))


def _excused(tree: "WorkTree", judged: "Judged", wishes: Wishes) -> int:
    """Write what was found to the baseline."""
    from firstlight.operate.auditing import baseline_file

    assert wishes.until is not None
    path, added = baseline_file.add(
        tree, judged, wishes.baseline, reason=wishes.reason, until=wishes.until
    )  # fmt: skip
    noun = "finding is" if added == 1 else "findings are"
    print(f"{added} {noun} excused until {wishes.until} in {path}" if added else "there is nothing to excuse")
    return 0


async def _fixed(tree: "WorkTree", judged: "Judged", wishes: Wishes) -> int:
    """Make the safe edits, or show them."""
    from firstlight.operate.auditing import fixing
    from firstlight.repo.work_tree import WorkTree

    made = fixing.patch(tree, judged.audit.findings)
    if wishes.patch:
        sys.stdout.write(audit_printing.diff(made.diff))
        sys.stdout.flush()
        if not made.diff:
            print("nothing of what is found can be made right without a question", file=sys.stderr)
        _say_refused(made)
        return exit_code(judged.audit, wishes, is_whole=judged.is_whole)
    if made.after:
        dirty = await fixing.uncommitted(tree.root, made.after, git=_git())
        if dirty and not wishes.allow_dirty:
            more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
            raise errors.Refused(
                f"no commit has {', '.join(dirty[:3])}{more} as it is, so that nobody could take an edit back",
                hint="Commit first, look at --patch, or add --allow-dirty.",
            )
        try:
            fixing.write(tree, made)
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
    audit_printing.show(after.audit, wishes, lambda: cards(after.book))
    return exit_code(after.audit, wishes, is_whole=after.is_whole)


def _say_refused(made: "Patch") -> None:
    from firstlight.report import safe

    for finding, why in made.refused:
        print(f"not fixed: {finding.rule} at {safe.name(str(finding.place))}: {safe.name(why)}", file=sys.stderr)
