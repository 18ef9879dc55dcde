"""What maintaining a machine would mean, as text and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.draining import Fate, Foreseen, PodFate, Weight
from firstlight.model.verdict import Passed
from firstlight.report import safe, table

_WORDS = {Weight.TELL: "", Weight.ASK: "asked: ", Weight.REFUSE: "refused: "}


def text(found: Foreseen, *, columns: int = 0) -> str:
    """The page: who goes, who stays, what must be agreed to, and what stands in the way."""
    lines = [f"{safe.name(found.machine)}   {_summary(found)}"]
    for label, fate in (("refused", Fate.REFUSE), ("evicted", Fate.EVICT), ("stay", Fate.LEAVE)):
        lines += table.labelled(label, _pods([each for each in found.pods if each.fate is fate], columns))
    said = [f"{_WORDS[each.weight]}{each.text}" for each in found.concerns]
    lines += table.labelled("storage", _wrapped(said, columns))
    if found.etcd is not None:
        word = "" if isinstance(found.etcd, Passed) else "refused: "
        lines += table.labelled("etcd", _wrapped([f"{word}{found.etcd.reason}"], columns))
    if found.begun:
        lines += table.labelled("begun", [f"{safe.name(found.begun)} has not ended: the same command goes on"])
    elif found.is_cordoned:
        lines += table.labelled("cordoned", ["by somebody else: it stays so"])
    return "\n".join(lines)


def is_refused(found: Foreseen, *, is_storage_accepted: bool) -> bool:
    """Whether it would not be done as it was asked for."""
    is_held = found.etcd is not None and not isinstance(found.etcd, Passed)
    is_last = any(each.weight is Weight.REFUSE for each in found.concerns) and not is_storage_accepted
    return is_held or is_last or any(each.fate is Fate.REFUSE for each in found.pods)


def data(found: Foreseen) -> dict[str, Any]:
    """The same for programs."""
    return {
        "machine": found.machine,
        "node": found.node,
        "cordoned": found.is_cordoned,
        "begun": found.begun,
        "pods": [
            {"namespace": each.namespace, "name": each.name, "fate": str(each.fate), "why": each.why}
            for each in found.pods
        ],
        "storage": [{"weight": str(each.weight), "text": each.text} for each in found.concerns],
        "etcd": None
        if found.etcd is None
        else {"verdict": type(found.etcd).__name__.lower(), "reason": found.etcd.reason},
    }


def _summary(found: Foreseen) -> str:
    going = sum(each.fate is not Fate.LEAVE for each in found.pods)
    return f"{going} pod{'' if going == 1 else 's'} would go, {len(found.pods) - going} stay"


def _pods(pods: Sequence[PodFate], columns: int) -> list[str]:
    return _wrapped([f"{each}{f'   {each.why}' if each.why else ''}" for each in pods], columns)


def _wrapped(lines: Sequence[str], columns: int) -> list[str]:
    found = []
    for each in lines:
        shown = safe.name(each)
        found += table.wrap(shown, columns - table.LABEL - 2) if columns else [shown]
    return found
