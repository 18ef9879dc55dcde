"""An audit in the form that was asked for, on the screen or in a file."""

import os
import sys
from collections.abc import Callable

from firstlight.cli import output as cli_output
from firstlight.commands.audit import data, markdown, page, sarif
from firstlight.commands.audit import text as audit_text
from firstlight.commands.audit.audit_request import AuditOptions
from firstlight.commands.audit.rule_form import AuditCard
from firstlight.drawing import safe, table
from firstlight.model.finding import Audit


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
