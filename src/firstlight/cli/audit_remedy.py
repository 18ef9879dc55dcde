"""``firstlight audit --remedy``: what findings of a rule lead to, step by step, with the patch."""

import dataclasses
import sys
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import audit_doing, audit_printing
from firstlight.cli.audit_wishes import Wishes
from firstlight.report import safe

if TYPE_CHECKING:
    from firstlight.model.remedy import Remedy
    from firstlight.operate.auditing.auditing import Judged
    from firstlight.operate.auditing.fixing import Patch
    from firstlight.repo.work_tree import WorkTree


def check(rule: str) -> None:
    """See that there is a remedy for a rule, before anything is looked at.

    Raises:
        errors.UsageError: There is none.
    """
    from firstlight.policy.auditing import remedying

    known = remedying.known()
    if rule not in known:
        names = ", ".join(sorted(known))
        raise errors.UsageError(
            f"there is no remedy for {rule}",
            hint=f"There is one for {names}." if names else f"What to do: firstlight audit --explain {rule}",
        )


def show(tree: "WorkTree", judged: "Judged", wishes: Wishes) -> int:
    """Print the remedy; the exit code."""
    from firstlight.operate.auditing import fixing
    from firstlight.policy.auditing import remedying

    findings = [each for each in judged.audit.findings if each.rule == wishes.remedy]
    if not findings:
        return _nothing(judged, wishes)
    made = remedying.known()[wishes.remedy](judged.scene, findings)
    whole = dataclasses.replace(findings[0], edits=made.edits)
    patch = fixing.patch(tree, [whole])
    if patch.refused:
        raise errors.Refused(f"the patch cannot be made: {patch.refused[0][1]}")
    if wishes.form == "json":
        sys.stdout.write(audit_printing.json(_data(made, patch)))
    else:
        print("\n".join(_lines(made, patch)))
    if made.refused:
        return errors.Refused.exit_code
    return audit_doing.exit_code(judged.audit, wishes, is_whole=judged.is_whole)


def _nothing(judged: "Judged", wishes: Wishes) -> int:
    from firstlight.model.remedy import Remedy
    from firstlight.operate.auditing.fixing import Patch

    if wishes.form == "json":
        empty = Remedy(rule=wishes.remedy, title="")
        sys.stdout.write(audit_printing.json(_data(empty, Patch(before={}, after={}, fixed=()))))
    else:
        print(f"{wishes.remedy} finds nothing here")
        for each in judged.audit.skipped:
            print(f"not seen: {safe.name(each)}", file=sys.stderr)
    return audit_doing.exit_code(judged.audit, wishes, is_whole=judged.is_whole)


def _lines(made: "Remedy", patch: "Patch") -> list[str]:
    from firstlight.report import decision, table
    from firstlight.report import decision_words as texts

    columns = table.terminal_columns()
    lines = [texts.plain(made.title)]
    lines += texts.block("refused", made.refused, columns)
    lines += texts.block("asks", made.open_questions, columns)
    lines += decision.procedure("do", made.steps, columns=columns)
    return [*lines, *(["", audit_printing.diff(patch.diff).rstrip("\n")] if patch.diff else [])]


def _data(made: "Remedy", patch: "Patch") -> dict[str, object]:
    return {
        "rule": made.rule,
        "title": made.title,
        "refused": list(made.refused),
        "questions": list(made.open_questions),
        "steps": [
            {"text": each.text, "command": each.command, "side": str(each.side) if each.side else None}
            for each in made.steps
        ],
        "patch": patch.diff,
    }
