"""An audit in the form that was asked for, on the screen or in a file."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight import errors
from firstlight.cli.audit_wishes import Wishes
from firstlight.clients import plain_file

if TYPE_CHECKING:
    from firstlight.model.audit_card import AuditCard
    from firstlight.model.finding import Audit

Cards = "Callable[[], tuple[AuditCard, ...]]"


def show(audit: "Audit", wishes: Wishes, cards: "Callable[[], tuple[AuditCard, ...]]") -> None:
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
    write(wishes.out, text)
    from firstlight.report import audit as report

    print(f"{report.counts(audit)}\nwritten to {wishes.out}", file=sys.stderr)


def shown(audit: "Audit", wishes: Wishes, cards: "Callable[[], tuple[AuditCard, ...]]") -> str:
    """The answer in the form that was asked for."""
    match wishes.form:
        case "json":
            from firstlight.report import audit_data

            return json(audit_data.data(audit))
        case "sarif":
            from firstlight.report import audit_sarif

            return json(audit_sarif.sarif(audit, cards(), everything=wishes.everything))
        case "markdown":
            from firstlight.report import audit_markdown

            return _ended(audit_markdown.markdown(audit))
        case "html":
            from firstlight.report import audit_page

            return _ended(audit_page.page(audit, cards()))
        case _:
            from firstlight.report import audit as report
            from firstlight.report import table

            columns = table.terminal_columns() if wishes.out is None else 100
            colour = wishes.out is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
            return _ended(report.text(audit, columns=columns, everything=wishes.everything, colour=colour))


def diff(text: str) -> str:
    """A patch: as it is for programs, and harmless on a screen, where a file could say anything to the terminal."""
    from firstlight.report import safe

    return safe.text(text) if sys.stdout.isatty() else text


def json(value: Any) -> str:
    """Indented for people, stable for programs."""
    from firstlight.report import safe

    return safe.json(value, indent=2) + "\n"


def write(path: Path, text: str) -> None:
    """Put a file in its place, whole or not at all.

    Raises:
        errors.UsageError: That cannot be done.
    """
    plain_file.check(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_text(text)
        os.replace(beside, path)
    except OSError as error:
        raise errors.UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
