"""A diagnosis as text: the one cause on top with its evidence, what follows from it folded, other causes below."""

from collections import Counter
from collections.abc import Iterable, Sequence

from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom, SymptomLayer
from firstlight.drawing import clock, safe, table

_FOUNDATION = SymptomLayer.NETWORK
"""The highest layer whose trouble needs a way back from outside of the cluster."""
EVIDENCE = 3
"""Pieces of evidence that the first cause is shown with; of others it is one."""
_NAMED = 3
"""Of what follows from a cause, that is named."""
_LABEL = 10
_INDENT = "    "


def text(
    found: Diagnosis, *, now: float, columns: int = 0, everything: bool = False, asked: str = "", elsewhere: int = 0,
    earlier: int = 0, is_blind: bool = False,
) -> str:  # fmt: skip
    """The whole page.

    Args:
        found: The diagnosis.
        now: When it was made.
        columns: How wide the terminal is; 0 for lines of any length.
        everything: Whether all that follows from each cause is listed, with its evidence.
        asked: The component or object that it is of; empty for the whole cluster.
        elsewhere: How many causes there are that have nothing to do with what was asked.
        earlier: How many causes began before what was asked for.
        is_blind: Whether nothing could be looked at.
    """
    page = _Page(columns=columns or 10_000, now=now, everything=everything, is_path=bool(asked))
    parts = [[_title(found, asked, is_blind=is_blind)]]
    for number, each in enumerate(found.causes):
        parts.append(page.cause(each, is_first=number == 0))
    parts.append(page.foot(found, elsewhere=elsewhere, earlier=earlier))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _title(found: Diagnosis, asked: str, *, is_blind: bool) -> str:
    about = safe.name(f"{found.cluster} {asked}".rstrip())
    if is_blind:
        return f"{about}   nothing could be looked at"
    if not found.causes:
        what = f"nothing is wrong with {safe.name(asked)}" if asked else "nothing is wrong"
        return f"{safe.name(found.cluster)}   ✔ {what}" + (" in what could be looked at" if found.unseen else "")
    effects = sum(len(each.effects) for each in found.causes)
    causes = _count(len(found.causes), "cause")
    return f"{about}   {causes}" + (f", {_count(effects, 'consequence')}" if effects else "")


class _Page:
    """Lines of one width."""

    def __init__(self, *, columns: int, now: float, everything: bool, is_path: bool) -> None:
        self._columns = columns
        self._now = now
        self._everything = everything
        self._is_path = is_path

    def cause(self, cause: RootCause, *, is_first: bool) -> list[str]:
        """One cause, and what follows from it."""
        lines = self._head(cause.symptom)
        shown = None if self._everything else EVIDENCE if is_first else 1
        lines += self._evidence(cause.symptom, shown)
        lines += self._labelled("mend", [cause.symptom.fix] if cause.symptom.fix else [])
        lines += self._next(cause.symptom, None if is_first or self._everything else 1)
        return lines + self._effects(cause)

    def foot(self, found: Diagnosis, *, elsewhere: int, earlier: int) -> list[str]:
        """What was looked at, and what was not."""
        took = f" in {found.seconds:.1f} s" if found.seconds else ""
        lines = self._labelled("looked at", [f"{', '.join(found.looked)}{took}"], indent="  ") if found.looked else []
        lines += self._labelled("not seen", found.unseen, indent="  ")
        if any(each.symptom.layer <= _FOUNDATION for each in found.causes):
            said = f"firstlight recover {found.cluster} tells what still answers, and the ways back with their risks"
            lines += self._labelled("recover", [said], indent="  ")
        if elsewhere:
            said = f"{_count(elsewhere, 'cause')} of other trouble: firstlight doctor {found.cluster}"
            lines += self._labelled("besides", [said], indent="  ")
        if earlier:
            said = f"{_count(earlier, 'cause')} that began before: leave out --since"
            lines += self._labelled("besides", [said], indent="  ")
        return lines

    def _head(self, symptom: Symptom) -> list[str]:
        subject, message = _flat(symptom.subject), _flat(symptom.message)
        first, *rest = table.wrap(message if subject in message else f"{subject}: {message}", self._columns - 4)
        since = [clock.span(self._now - symptom.since)] if symptom.since else []
        return [f"  ✘ {first}", *(f"    {each}" for each in rest), *_beside("since", since)]

    def _evidence(self, symptom: Symptom, most: int | None) -> list[str]:
        shown = symptom.evidence[:most]
        rows = [f"{_flat(each.where)}: {_flat(each.text)}" for each in shown]
        if left := len(symptom.evidence) - len(shown):
            rows.append(f"and {left} more: --all")
        return self._labelled("seen", rows)

    def _next(self, symptom: Symptom, most: int | None) -> list[str]:
        rows: list[str] = []
        cells = self._columns - len(_INDENT) - _LABEL
        for each in symptom.next[:most]:
            rows += table.wrapped_command(safe.name(each.command), cells)
            if each.why:
                rows += [f"  {line}" for line in table.wrap(_flat(each.why), cells - 2)]
        return _beside("next", rows)

    def _effects(self, cause: RootCause) -> list[str]:
        if not cause.effects:
            return []
        if self._everything or self._is_path:
            rows = [f"{_flat(each.subject)}: {_flat(each.message)}" for each in cause.effects]
            return self._labelled("so that" if self._is_path else "explains", rows)
        return self._labelled("explains", [f"{_count(len(cause.effects), 'other')}: {_folded(cause.effects)}"])

    def _labelled(self, label: str, rows: Iterable[str], *, indent: str = _INDENT) -> list[str]:
        width = self._columns - len(_INDENT) - _LABEL
        lines: list[str] = []
        for each in rows:
            first, *rest = table.wrap(_flat(each), width)
            lines += [first, *(f"  {line}" for part in rest for line in table.wrap(part, width - 2))]
        return _beside(label, lines, indent=indent)


def _beside(label: str, lines: Sequence[str], *, indent: str = _INDENT) -> list[str]:
    if not lines:
        return []
    first, *rest = lines
    left = len(_INDENT) + _LABEL  # all texts begin in the same column
    return [f"{f'{indent}{label}':<{left}}{first}", *(f"{'':<{left}}{each}" for each in rest)]


def _folded(effects: Sequence[Symptom]) -> str:
    """Consequences by kind where there are many, by name where there are few."""
    if len(effects) <= _NAMED:
        return ", ".join(_flat(each.subject) for each in effects)
    kinds = Counter(_flat(each.subject).rpartition(" ")[0] for each in effects)
    counted = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{counted} (--all lists them)"


def _flat(value: str) -> str:
    return " ".join(safe.text(value).split())


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
