"""What was typed after ``firstlight audit``, and whether it can be meant."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.model.incident import Incident

_SUFFIXES = {".json": "json", ".sarif": "sarif", ".md": "markdown", ".html": "html", ".htm": "html"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What was typed."""

    clusters: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    live: bool = False
    kubeconfig: Path | None = None
    context: str = ""
    render: bool = False
    offline: bool = False
    fail_on: str = "error"
    fix: bool = False
    patch: bool = False
    allow_dirty: bool = False
    baseline: Path | None = None
    write_baseline: bool = False
    reason: str = ""
    until: datetime.date | None = None
    remedy: str = ""
    answers: tuple[str, ...] = ()
    with_matrix: bool = False
    watch: bool = False
    everything: bool = False
    no_cache: bool = False
    form: str = "text"
    out: Path | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the answer only depends on files, so that it can be known again."""
        others = (self.live, self.render, self.fix, self.patch, self.write_baseline, self.watch, self.no_cache)
        return not any(others) and not self.remedy


def typed(
    *, form: str | None, out: Path | None, until: datetime.datetime | None, **given: Any
) -> AuditOptions:  # fmt: skip
    """What was typed.

    Raises:
        errors.UsageError: It cannot be meant.
    """
    chosen = form or (_SUFFIXES.get(out.suffix, "text") if out is not None else "text")
    wishes = AuditOptions(form=chosen, out=out, until=until.date() if until is not None else None, **given)
    _check_ways(wishes)
    _check_baseline(wishes)
    if wishes.watch and (wishes.form not in ("text", "json") or wishes.out is not None):
        raise errors.UsageError("--watch prints as it goes", hint="Leave out --out, and write --output text or json.")
    if wishes.remedy and (wishes.form not in ("text", "json") or wishes.out is not None):
        raise errors.UsageError("--remedy prints steps", hint="Leave out --out, and write --output text or json.")
    if wishes.patch and (wishes.form != "text"):
        raise errors.UsageError("--patch prints a patch", hint="Leave out --output, or ask for --fix.")
    return wishes


def _check_ways(wishes: AuditOptions) -> None:
    ways = {
        "--fix": wishes.fix, "--patch": wishes.patch, "--write-baseline": wishes.write_baseline,
        "--watch": wishes.watch, "--remedy": bool(wishes.remedy),
    }  # fmt: skip
    chosen = [name for name, is_given in ways.items() if is_given]
    if len(chosen) > 1:
        raise errors.UsageError(f"{' and '.join(chosen)} cannot be asked together", hint="Ask one after the other.")
    if wishes.watch and (wishes.live or wishes.render):
        raise errors.UsageError("--watch looks at files alone", hint="Leave out --live and --render.")
    if (wishes.kubeconfig is not None or wishes.context) and not wishes.live:
        raise errors.UsageError("--kubeconfig and --context are for --live", hint="Add --live.")
    if wishes.offline and not wishes.render:
        raise errors.UsageError("--offline is for --render", hint="Without it nothing is fetched.")
    if wishes.answers and not wishes.remedy:
        raise errors.UsageError("--answer is for --remedy", hint="Name the rule: --remedy RULE --answer KEY=VALUE.")
    if wishes.allow_dirty and not wishes.fix:
        raise errors.UsageError("--allow-dirty is for --fix", hint="Without it nothing is written.")


def _check_baseline(wishes: AuditOptions) -> None:
    if (wishes.reason or wishes.until is not None) and not wishes.write_baseline:
        raise errors.UsageError("--reason and --until are for --write-baseline")
    if not wishes.write_baseline:
        return
    if not wishes.reason.strip():
        raise errors.UsageError("--write-baseline needs a reason", hint='Write --reason "why this can wait".')
    if wishes.until is None:
        raise errors.UsageError("--write-baseline needs an end", hint="Write --until 2027-01-31, the last day.")


# What an audit is asked for.


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """What an audit is to look for."""

    today: datetime.date
    rules: tuple[str, ...] = ()
    """Ids; all of them by default."""
    clusters: tuple[str, ...] = ()
    """Names; all of them by default."""
    with_matrix: bool = False
    incidents: tuple[Incident, ...] = ()
    """The incident records that this computer has of the repo's clusters."""
