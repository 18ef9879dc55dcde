"""What the commit of a change says: its title, why, what was decided, and by what it is known again."""

import re
import textwrap

from firstlight.model.change_record import ChangeRecord
from firstlight.report import safe

TRAILER = "Firstlight-Change"
BACK = "Firstlight-Reverts"
_SUBJECT = 72
_WIDTH = 72
_SPACE = re.compile(r"\s+")


def message(record: ChangeRecord, *, part: str = "") -> str:
    """The whole message of the commit of a change, or of a part of it.

    Args:
        record: With what was decided.
        part: The cluster that the part is for; empty for all of it.
    """
    about = f"For the cluster {part}, after those before it." if part else ""
    decided = f"Decided as {record.side or 'no side'}, risk {record.risk}, approval {_needed(record)}"
    rules = f", {_listed(record.rules)}" if record.rules else ""
    emergency = f"Emergency ({record.emergency}): without waiting for a review." if record.emergency else ""
    body = [record.why, about, emergency, f"{decided}{rules}."]
    return _written(_subject(record.title, part), body, f"{TRAILER}: {record.id}")


def merge(record: ChangeRecord, branch: str) -> str:
    """The message of a merge into the followed branch."""
    return _written(_subject(f"Merge {branch}: {record.title}", ""), [record.why], f"{TRAILER}: {record.id}")


def revert(record: ChangeRecord, *, why: str, part: str = "") -> str:
    """The message of the commit that takes a change back, or a part of it."""
    said = f"This takes back the change {record.id}{f' for the cluster {part}' if part else ''}."
    return _written(_subject(f"Revert: {record.title}", part), [why, said], f"{BACK}: {record.id}")


def _subject(title: str, part: str) -> str:
    made = _SPACE.sub(" ", safe.text(title)).strip() + (f" ({part})" if part else "")
    # A line that begins so would be taken for a comment, and vanish.
    made = made.lstrip("#").strip() or "A change"
    return made if len(made) <= _SUBJECT else f"{made[: _SUBJECT - 1].rstrip()}…"


def _written(subject: str, body: list[str], trailer: str) -> str:
    paragraphs = ["\n".join(_wrapped(line) for line in safe.text(each).strip().splitlines()) for each in body if each]
    return "\n\n".join([subject, *(each for each in paragraphs if each), trailer]) + "\n"


def _wrapped(line: str) -> str:
    # No line may look like a trailer or a comment: who approved is for those who approve to write.
    plain = re.sub(r"^([A-Za-z][A-Za-z-]*)(?=:\s)", r"\1 ", line.strip().lstrip("#").strip())
    return "\n".join(textwrap.wrap(plain, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _needed(record: ChangeRecord) -> str:
    return record.approval.partition(":")[0] or "unknown"


def _listed(rules: tuple[str, ...]) -> str:
    shown = ", ".join(rules[:3])
    return f"rule {shown}" if len(rules) == 1 else f"rules {shown}{' …' if len(rules) > 3 else ''}"
